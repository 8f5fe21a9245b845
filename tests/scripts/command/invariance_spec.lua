-- ranks: 1
-- What must not matter to `kbcd train` without options: units and zero of targets and columns, the order of columns, the
-- names of classes, the number of ranks. And what it says of a task that it guesses, and of a model that is of no use.

local kbcd = require "kbcd"
local shell = require "shell"
local spec = require "spec"
local has, succeeds, test = shell.has, shell.succeeds, shell.test

local n = 120
local noise = kbcd.Matrix.randn(n, 4, { seed = 3 })
-- Columns of scales that differ much, as in a table: a target that is smooth in all of them.
local function row(i) return { noise(i, 1), 1000 * noise(i, 2), 0.01 * noise(i, 3) } end
local function target(i) return math.sin(2 * noise(i, 1)) + noise(i, 2) * noise(i, 3) + 0.05 * noise(i, 4) end

-- Writes rows first..last; change(x, y) gives the columns and the label of each.
local function write(name, change, first, last)
  local lines = {}
  for i = first or 1, last or n do
    local x, y = change(row(i), target(i))
    for j, value in ipairs(x) do x[j] = ("%.17g"):format(value) end
    lines[#lines + 1] = table.concat(x, ",") .. "," .. (type(y) == "number" and ("%.17g"):format(y) or y)
  end
  local head = "a,b,c,y\n"
  shell.write(name, head .. table.concat(lines, "\n") .. "\n")
end

-- Predictions of the last 20 rows by a model of the first 100.
local function predicted(change, flags, run)
  write("train.csv", change, 1, 100)
  write("new.csv", change, 101, n)
  os.execute(("rm -f '%s/m.h5'"):format(shell.tmp))
  local out = succeeds(("%s train --data train.csv --label y --precision f64 --model m.h5 %s"):format(run or "kbcd",
    flags or "")).out
  succeeds("kbcd predict --model m.h5 --x new.csv --label y --out p.csv")
  local list = {}
  for line in io.lines(shell.tmp .. "/p.csv") do list[#list + 1] = tonumber(line) or line end
  spec.equal(#list, 20)
  return list, out
end

local function same(got, expected, what, shift, scale, tolerance)
  local size = 0
  for i = 1, #expected do size = math.max(size, math.abs(expected[i])) end
  for i = 1, #expected do
    spec.close((got[i] - (shift or 0)) / (scale or 1), expected[i],
      (tolerance or 1e-6) * size / math.abs(expected[i]), what)
  end
end

local plain, said = predicted(function(x, y) return x, y end)
local choice = said:match("full_kernel, [^\n]+f64")

test("a search says what it tried, and what differs in scale", function()
  has(said, "the scales of the columns differ by a factor of", "(from column c to column b)",
    "tried, with leave-one-out errors", "raw                  rbf", "chosen: --standardize")
end)

test("units and zero of targets", function()
  same(predicted(function(x, y) return x, y + 1000 end), plain, "a shift", 1000)
  same(predicted(function(x, y) return x, 1e6 * y end), plain, "a scale", 0, 1e6)
  local huber = "--loss huber --loss-delta 1e2 --sigma 1.5 --standardize"
  local shifted = predicted(function(x, y) return x, 1e3 * y - 50 end, huber)
  same(shifted, predicted(function(x, y) return x, 1e3 * y end, huber), "a shift with the huber loss", -50)
end)

test("units, zero and order of columns", function()
  same(predicted(function(x, y) return { x[1] * 50 + 7, x[2] / 3, x[3] - 2 }, y end), plain, "units of columns")
  same(predicted(function(x, y) return { x[3], x[1], x[2] }, y end), plain, "the order of columns")
end)

test("names of classes", function()
  local function class(a, b) return function(x, y) return x, y > 0 and a or b end end
  local one, other = predicted(class("yes", "no")), predicted(class("0", "7"))
  for i = 1, 20 do spec.equal(other[i], one[i] == "yes" and 0 or 7, "the class of row " .. i) end
end)

test("the choice is the same on 3 ranks, and for a job that resumes", function()
  local again, text = predicted(function(x, y) return x, y end, nil, "mpi 3")
  same(again, plain, "3 ranks")
  spec.equal((text:match("full_kernel, [^\n]+f64")), choice, "the settings")
  same(predicted(function(x, y) return x, y end, "--resume"), plain, "--resume")
end)

-- The same of a table with a category: to 1e-6 in f64, the default of few rows. In f32, sums of kernel values times large
-- coefficients round differently (the search finds a λ of 1e-5 here), by some 1e-4 of the largest prediction.
local kinds = { "low", "mid", "top" }
local function mixed(x, y, i, names) return { x[1], x[2], (names or kinds)[i % 3 + 1], x[3] }, y + i % 3 end

-- change(x, y, i) gives the columns and the target of row i.
local function predicted_table(precision, change, head, run)
  local function lines(first, last)
    local list = { head or "a,b,kind,c,y" }
    for i = first, last do
      local cells, y = change(row(i), target(i), i)
      cells[#cells + 1] = y
      for j, value in ipairs(cells) do cells[j] = type(value) == "number" and ("%.17g"):format(value) or value end
      list[#list + 1] = table.concat(cells, ",")
    end
    return table.concat(list, "\n") .. "\n"
  end
  shell.write("train.csv", lines(1, 100))
  shell.write("new.csv", lines(101, n))
  local out = succeeds(("%s train --data train.csv --label y --effort low %s --model m.h5"):format(run or "kbcd",
    precision == "f32" and "--precision f32" or "")).out
  succeeds((run or "kbcd") .. " predict --model m.h5 --x new.csv --out p.csv")
  local list = {}
  for line in io.lines(shell.tmp .. "/p.csv") do list[#list + 1] = tonumber(line) end
  return list, out
end

for _, case in ipairs{ { "f64", 1e-6 }, { "f32", 1e-3 } } do
  local precision, tolerance = unpack(case)
  test(precision .. ", with a category: units, zero, order and names", function()
    local list, out = predicted_table(precision, mixed)
    local function alike(what, change, shift, scale, head, run)
      same(predicted_table(precision, change, head, run), list, what, shift, scale, tolerance)
    end
    has(out, (", %s, "):format(precision), "4 columns (3 numbers, 1 category) make 6 numbers a row", "chosen: --standardize")
    local error, spread = 0, 0
    for i, value in ipairs(list) do
      local _, y = mixed({}, target(100 + i), 100 + i)
      error, spread = error + (value - y) ^ 2, spread + y ^ 2
    end
    assert(error < 0.5 * spread, "the model is of use")
    alike("the target", function(x, y, i)
      local cells, value = mixed(x, y, i)
      return cells, 3e4 * value - 700
    end, -700, 3e4)
    alike("columns", function(x, y, i) return mixed({ x[1] * 50 + 7, x[2] / 3, x[3] - 2 }, y, i) end)
    alike("the order of columns, names of categories", function(x, y, i)
      local cells, value = mixed(x, y, i, { "z", "y", "x" })
      return { cells[3], cells[4], cells[2], cells[1] }, value
    end, nil, nil, "kind,c,b,a,y")
    alike("3 ranks", mixed, nil, nil, nil, "mpi 3")
  end)
end

test("the task is guessed by type and count, and told", function()
  local function out_of(change) local _, out = predicted(change) return out end
  has(out_of(function(x, y) return x, math.floor(1000 * y) end),
    "different whole numbers, taken for real targets; --task classify")
  has(out_of(function(x, y) return x, y > 0 and 1 or 3 end), "2 different whole numbers, taken for classes; --task regress")
end)

test("a model that is of no use is called so", function()
  local i = 0
  local function noise_target(x)
    i = i + 1
    return x, math.sin(1e4 * i)
  end
  local _, out = predicted(noise_target, "--kernel rbf --sigma 1e-3 --lambda 1e-6")
  has(out, "no better than the mean of the targets")
  has(succeeds("kbcd evaluate --model m.h5 --data new.csv --label y").out, "no better than the mean of the targets")
end)

test("rows that were held out to choose are fitted at the end, unless --no-refit", function()
  local function refitted(flags)
    local _, out = predicted(function(x, y) return x, y end, "--hold-out 0.2 " .. flags)
    return kbcd.model_file.load(shell.tmp .. "/m.h5").n, out
  end
  local rows, out = refitted("")
  spec.equal(rows, 100)
  has(out, "fitted to all 100 rows again, 20 of which were held out", "(held-out: of the model of 80 rows)")
  spec.equal((refitted("--no-refit")), 80)
end)

shell.finish()
