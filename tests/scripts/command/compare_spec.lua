-- ranks: 1
-- compare: a log for each method and p and one page, the same errors on 1 and 3 ranks, and for the full kernel the error that
-- plain loops find.

local kbcd = require "kbcd"
local shell = require "shell"
local cjson = require "cjson"
local equal = require("spec").equal
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test

local n, m, sigma, lambda = 120, 30, 1.5, 1e-3
local X = kbcd.Matrix.randn(n + m, 3, { seed = 8 })
local function target(i) return math.sin(2 * X(i, 1)) + X(i, 2) * X(i, 3) end

local function write_rows(name, first, last, f)
  local lines = {}
  for i = first, last do lines[#lines + 1] = f(i) end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end
local function row(i) return ("%.17g,%.17g,%.17g"):format(X(i, 1), X(i, 2), X(i, 3)) end
local function value(i) return ("%.17g"):format(target(i)) end
local function class(i) return target(i) > 0 and "1" or "0" end
write_rows("X.csv", 1, n, row); write_rows("Xt.csv", n + 1, n + m, row)
write_rows("t.csv", 1, n, value); write_rows("tt.csv", n + 1, n + m, value)
write_rows("y.csv", 1, n, class)

local function log(path)
  local entries = { run = {}, block = {}, ["end"] = {}, details = {} }
  for line in io.lines(shell.tmp .. "/" .. path) do
    local entry = cjson.decode(line)
    table.insert(entries[entry.type], entry)
  end
  equal(#entries.run, 1, path .. ": lines of settings")
  equal(#entries["end"], 1, path .. ": lines of results")
  equal(#entries.details, 1, path .. ": lines of details")
  return entries.run[1], entries.block, entries["end"][1]
end

-- (K + nλI) α = t − m, m the mean of t, by elimination, and the root mean squared error of K(test, train) α + m.
local function error_by_loops()
  local function kernel(i, j)
    local square = 0
    for c = 1, 3 do square = square + (X(i, c) - X(j, c)) ^ 2 end
    return math.exp(-square / (2 * sigma ^ 2))
  end
  local A, alpha, mean = {}, {}, 0
  for i = 1, n do mean = mean + target(i) / n end
  for i = 1, n do
    A[i] = {}
    for j = 1, n do A[i][j] = kernel(i, j) + (i == j and n * lambda or 0) end
    A[i][n + 1] = target(i) - mean
  end
  for i = 1, n do
    for r = i + 1, n do
      local factor = A[r][i] / A[i][i]
      for j = i, n + 1 do A[r][j] = A[r][j] - factor * A[i][j] end
    end
  end
  for i = n, 1, -1 do
    alpha[i] = A[i][n + 1]
    for j = i + 1, n do alpha[i] = alpha[i] - A[i][j] * alpha[j] end
    alpha[i] = alpha[i] / A[i][i]
  end
  local sum = 0
  for i = n + 1, n + m do
    local f = mean
    for j = 1, n do f = f + kernel(i, j) * alpha[j] end
    sum = sum + (f - target(i)) ^ 2
  end
  return math.sqrt(sum / m)
end

local files = "--x X.csv --y t.csv --test-x Xt.csv --test-y tt.csv "
local settings = ("--sigma %g --lambda %g --precision f64 --seed 4 --b %d --epochs 2 "):format(sigma, lambda, n)
local names = {
  "full_kernel", "nystrom-10", "nystrom-40", "random_features-10", "random_features-40",
  "falkon-10", "falkon-40",
}

if os.execute("gnuplot --version >/dev/null 2>&1") ~= 0 then
  print("skipped: gnuplot-nox is not installed")
  return shell.finish()
end

test("a log for each method and p, and the page; the errors are those of the formulas, on 1 and 3 ranks", function()
  local out = succeeds("kbcd compare " .. files .. settings .. "--p 40,10 -o one --title 'a title'").out
  has(out, "120 rows of 3 numbers to train on, 30 to test", "full kernel", "Nyström, p = 10",
    "random features, p = 40", "Falkon, p = 10", "Least error", "wrote one/report.html")
  succeeds("mpi 3 compare " .. files .. settings .. "--p 10,40 -o three")
  has(shell.read(shell.tmp .. "/one/report.html"), "<svg", "a title", "Nyström")
  for _, name in ipairs(names) do
    local run, blocks, result = log("one/" .. name .. ".jsonl")
    local method, p = name:match("^([%a_]+)%-?(%d*)$")
    equal(run.method, method)
    equal(run.p, tonumber(p))
    equal(run.n, n)
    equal(run.title, ({ full_kernel = "full kernel", nystrom = "Nyström", random_features = "random features",
      falkon = "Falkon" })[method])
    equal(run.lambda[1], lambda)
    equal(run.epochs, 2)
    equal(#blocks, 2, "one block an epoch")
    equal(blocks[2].test_error[1], result.test_error[1])
    local _, _, on_three = log("three/" .. name .. ".jsonl")
    assert(math.abs(on_three.test_error[1] / result.test_error[1] - 1) < 1e-8, name .. " on 3 ranks")
  end
  local _, blocks = log("one/full_kernel.jsonl")
  assert(math.abs(blocks[1].test_error[1] / error_by_loops() - 1) < 1e-8, "the error of the full kernel")
end)

test("methods, rows and preprocessing as asked for; a p beyond the rows is left out and said", function()
  local out = succeeds("kbcd compare --x X.csv --y y.csv --methods random_features,nystrom --p 8,500 --rows 60 " ..
    "--standardize --sigma 1 --lambda 1e-2,1e-4 --epochs 1 --b 4 -o two").out
  has(out, "60 rows", "12 to test", "Nyström, p = 500", "only 60 rows", "%")
  equal(succeeds("ls two").out,
    "nystrom-8.jsonl\nrandom_features-500.jsonl\nrandom_features-8.jsonl\nreport.html\n")
  local run, blocks = log("two/nystrom-8.jsonl")
  equal(run.n, 60)
  equal(#run.lambda, 2)
  equal(#blocks, 2)
end)

test("options that are none, or cannot be, are refused by name", function()
  local command = "kbcd compare " .. files .. "-o no "
  for _, case in ipairs{
    { "--methods full_kernel,svm", "--methods", "svm", "falkon", "full_kernel", "nystrom", "random_features" },
    { "--methods ''", "--methods", "falkon", "full_kernel", "nystrom", "random_features" },
    { "--methods full_kernel,full_kernel", "--methods", "two algorithms are called full_kernel" },
    { "--p 10,2.5", "--p", "'2.5'", "whole" }, { "--p 0", "--p", "'0'" },
    { "--rows 121", "--rows 121", "108 training rows" }, { "--method full_kernel", "--method" },
    { "--sigma 0", "--sigma", "> 0" },
    { "--methods nystrom --p 500", "--p", "108 training rows" }, { "--kernel linear --methods random_features", "linear" },
    { "--lambda 0", "--lambda" },
  } do
    local result = refuses(command .. case[1], unpack(case, 2))
    equal(result.err:find("traceback", 1, true), nil, case[1] .. ": a wrong option needs no traceback")
  end
  refuses("kbcd compare --x X.csv -o no", "--x and --y")
  refuses("kbcd compare --x X.csv --y t.csv --hold-out 0 -o no", "test set", "--hold-out")
  refuses("kbcd compare " .. files .. "-o X.csv/folder", "X.csv/folder", "the folder cannot be made")
  refuses("mpi 3 compare --x X.csv --y tt.csv -o no", "X.csv has 120 rows", "tt.csv has 30")
  has(succeeds("kbcd compare --help").out, "Usage: kbcd compare", "--methods")
end)

shell.finish()
