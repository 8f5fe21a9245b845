-- ranks: 1
-- Tables as they are, through the commands: a table must give the predictions of its rows as numbers, which are worked out
-- here by hand; other files are matched by the names of columns; what cannot be read is refused with a remedy.
-- (read_table_spec has what each awkward table becomes.)

local kbcd = require "kbcd"
local shell = require "shell"
local spec = require "spec"
local equal = spec.equal
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test

local fast = " --kernel rbf --sigma 1.5 --lambda 1e-3 --precision f64 --quiet "
local n, test_from = 60, 41
local noise = kbcd.Matrix.randn(n, 3, { seed = 5 })
local cities = { "Bad Ems", "Köln", 'say "Ulm"' }

-- Row i: size (missing in every seventh), city, a day in January, whether there is a garden; and what it is worth.
local function cells(i)
  return { size = i % 7 > 0 and noise(i, 1) or nil, city = cities[i % 3 + 1], day = i % 28 + 1, garden = i % 2 == 0 }
end
local function worth(i)
  return math.sin(noise(i, 1)) + i % 3 + (i % 2 == 0 and 0.5 or 0) + 0.1 * noise(i, 2)
end
local function kind(i) return ({ "very small", "neither, nor", "large" })[i % 3 + 1] end

local function quoted(text) return '"' .. text:gsub('"', '""') .. '"' end
local texts = {
  size = function(c) return c.size and ("%.17g"):format(c.size) or "?" end,
  city = function(c) return quoted(c.city) end,
  day = function(c) return ("2024-01-%02d"):format(c.day) end,
  garden = function(c) return c.garden and "yes" or "no" end,
  worth = function(_, i) return ("%.17g"):format(worth(i)) end,
  cost = function(_, i) return ("%.17g"):format(-2 * worth(i) + 3) end,
  kind = function(_, i) return quoted(kind(i)) end,
  note = function(_, i) return "seen by " .. i end,
  count = function(_, i) return tostring(i % 4) end,
}

local function write_table(name, columns, first, last, head)
  local lines = { head ~= false and table.concat(columns, ",") or nil }
  for i = first, last do
    local row = {}
    for j, column in ipairs(columns) do row[j] = texts[column](cells(i), i) end
    lines[#lines + 1] = table.concat(row, ",")
  end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end

-- The same rows as numbers: size or the median of the training rows, missing; city; day and the week's circle; garden.
local function write_numbers(name, first, last, target)
  local sizes = {}
  for i = 1, test_from - 1 do sizes[#sizes + 1] = cells(i).size end
  table.sort(sizes)
  local middle = (sizes[math.floor((#sizes + 1) / 2)] + sizes[math.ceil((#sizes + 1) / 2)]) / 2
  local lines = {}
  for i = first, last do
    local c = cells(i)
    local days = 19722 + c.day  -- 2024-01-01 is day 19723, a Monday; day 0 was a Thursday
    local row = { c.size or middle, c.size and 0 or 1 }
    for j, city in ipairs(cities) do row[2 + j] = c.city == city and 1 or 0 end
    local angle = 2 * math.pi * (days % 7) / 7
    for _, value in ipairs{ days, math.sin(angle), math.cos(angle), c.garden and 1 or 0, target(i) } do
      row[#row + 1] = value
    end
    for j, value in ipairs(row) do row[j] = type(value) == "number" and ("%.17g"):format(value) or value end
    lines[#lines + 1] = table.concat(row, ",")
  end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end

local function read_lines(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = tonumber(line) or line end
  return list
end

local function same(got, expected, what)
  equal(#got, #expected, what)
  for i = 1, #expected do
    if type(expected[i]) == "number" then
      if math.abs(got[i] - expected[i]) > 1e-7 then error(("%s: row %d: %g, not %g"):format(what, i, got[i], expected[i])) end
    else
      equal(got[i], expected[i], what)
    end
  end
end

local function predictions(model, file, more)
  return read_lines(succeeds(("kbcd predict --model %s --x %s --out - %s"):format(model, file, more or "")).out)
end

local features = { "size", "city", "day", "garden" }
write_table("train.csv", { "size", "city", "day", "garden", "worth" }, 1, test_from - 1)
write_table("new.csv", features, test_from, n)
local train = "train --data train.csv --label worth --standardize" .. fast

test("a table gives the model of its numbers, on 1 and 3 ranks", function()
  write_numbers("numbers.csv", 1, test_from - 1, worth)
  write_numbers("new_numbers.csv", test_from, n, worth)
  succeeds("kbcd train --data numbers.csv --header no --label 10 --standardize" .. fast .. "--model numbers.h5")
  local expected = predictions("numbers.h5", "new_numbers.csv", "--header no --label 10 2>/dev/null")
  succeeds("kbcd " .. train .. "--model m.h5 && mpi 3 " .. train .. "--model m3.h5")
  same(predictions("m.h5", "new.csv"), expected, "a table")
  same(predictions("m3.h5", "new.csv"), expected, "3 ranks")
  same(read_lines(succeeds("mpi 3 predict --model m.h5 --x new.csv --out -").out), expected, "predicted on 3 ranks")
end)

test("columns are matched by their names", function()
  local expected = predictions("m.h5", "new.csv")
  write_table("other.csv", { "note", "garden", "worth", "day", "size", "city" }, test_from, n)
  same(predictions("m.h5", "other.csv"), expected, "another order, more columns, the label")
  has(succeeds("kbcd predict --model m.h5 --x other.csv --out p.csv").err, "columns that are not used: note")
  shell.write("bom.csv", "\239\187\191" .. shell.read(shell.tmp .. "/other.csv"):gsub("\n", "\r\n"))
  same(predictions("m.h5", "- <bom.csv"), expected, "standard input, with a byte order mark and CRLF")
  write_table("bare.csv", features, test_from, n, false)
  shell.write("many.csv", "# a note\n" .. shell.read(shell.tmp .. "/bare.csv"):rep(300))  -- more than one piece
  local many = predictions("m.h5", "- <many.csv")
  equal(#many, 6000)
  for i, value in ipairs(many) do assert(math.abs(value - expected[(i - 1) % 20 + 1]) < 1e-7, "row " .. i) end
  same(predictions("m.h5", "bare.csv", "--header no"), expected, "by their places")
  succeeds("gzip -k other.csv")
  same(predictions("m.h5", "other.csv.gz"), expected, "gzipped")
  local m = tonumber(succeeds("kbcd evaluate --model m.h5 --data other.csv").out:match("RMSE ([%d.]+)"))
  local sum = 0
  for i, value in ipairs(expected) do sum = sum + (value - worth(test_from + i - 1)) ^ 2 end
  spec.close(m, math.sqrt(sum / #expected), 1e-5, "RMSE")
end)

test("what a second table must have", function()
  write_table("less.csv", { "size", "city", "garden" }, test_from, n)
  refuses("kbcd predict --model m.h5 --x less.csv --out p.csv", "less.csv", "the model needs the column day", "size, city")
  refuses("kbcd evaluate --model m.h5 --data new.csv", "no column is named 'worth'", "--label")
  refuses("kbcd predict --model m.h5 --x - --out - <less.csv", "standard input", "the model needs the column day")
  shell.write("bad.csv", "size,city,day,garden\n1,Ulm,2024-01-01,yes\n1,Ulm,soon,yes\n")
  refuses("kbcd predict --model m.h5 --x bad.csv --out p.csv", "line 3, column 3", "a date expected for 'day'", "'soon'")
  refuses("kbcd predict --model m.h5 --x - --out - <bad.csv", "standard input: line 3, column 3", "a date expected")
  shell.write("x.svm", "1 1:2\n")
  refuses("kbcd predict --model m.h5 --x x.svm --out p.csv", "CSV expected, as the model was trained on")
end)

test("several targets, their names in the model and over the scores", function()
  write_table("two.csv", { "size", "worth", "city", "cost", "day", "garden" }, 1, test_from - 1)
  succeeds("mpi 3 train --data two.csv --label cost,worth --standardize" .. fast .. "--model two.h5")
  equal(table.concat(kbcd.model_file.load(shell.tmp .. "/two.h5").names, "|"), "cost|worth")
  local h5 = kbcd.h5.open(shell.tmp .. "/two.h5")
  equal(table.concat(h5:texts("/targets"), "|"), "cost|worth")
  local out = succeeds("kbcd predict --model two.h5 --x new.csv --scores --out -").out
  equal(out:match("^[^\n]+"), "cost,worth")
  local one = predictions("m.h5", "new.csv")
  local i = 0
  for cost, value in out:gmatch("\n([^,\n]+),([^\n]+)") do
    i = i + 1
    assert(math.abs(value - one[i]) < 1e-7 and math.abs(cost - (3 - 2 * value)) < 1e-6, "row " .. i)
  end
  equal(i, #one)
end)

test("class names with blanks and commas", function()
  write_table("kinds.csv", { "kind", "size", "city", "day", "garden" }, 1, test_from - 1)
  write_table("new_kinds.csv", { "city", "day", "kind", "garden", "size" }, test_from, n)
  succeeds("kbcd train --data kinds.csv --label kind --standardize" .. fast .. "--model kinds.h5")
  local out = succeeds("kbcd predict --model kinds.h5 --x new_kinds.csv --out -").out
  local i, wrong = test_from - 1, 0
  for line in out:gmatch("[^\n]+") do
    i = i + 1
    local class = line:gsub('"', "")
    if class ~= kind(i) then wrong = wrong + 1 end
  end
  equal(i, n)
  equal(wrong, 0, "the city says the class")
  equal(succeeds("kbcd predict --model kinds.h5 --x new_kinds.csv --scores --out -").out:match("^[^\n]+"),
    'large,"neither, nor",very small')
  has(succeeds("mpi 3 evaluate --model kinds.h5 --data new_kinds.csv").out, "neither, nor", "top-1 error 0.00%")
  shell.write("huge.csv", "city,day,kind,garden,size\nUlm,2024-01-01,huge,yes,1\n")
  refuses("kbcd evaluate --model kinds.h5 --data huge.csv", "the class 'huge' is none of the model's")
  refuses("kbcd train --data kinds.csv --test-data huge.csv --label kind --model no.h5" .. fast, "'huge'")
end)

test("--drop, --columns, --categories", function()
  write_table("all.csv", { "note", "size", "count", "city", "worth" }, 1, test_from - 1)
  local function columns(flags)
    succeeds("kbcd train --data all.csv --label worth --model c.h5 " .. flags .. fast)
    return table.concat(require("kbcd.runtime").tables.outputs(kbcd.model_file.load(shell.tmp .. "/c.h5").table), "|")
  end
  equal(columns("--drop city,2"), "count")
  equal(columns("--columns count,size"), "size|size missing|count")
  equal(columns("--columns count --categories count"), "count=0|count=1|count=2|count=3")
  has(succeeds("kbcd train --data all.csv --label worth --kernel rbf --sigma 1 --lambda 1 --model c.h5").out,
    "column 1 (note) is dropped: 40 of its 40 values are different",
    "3 columns (2 numbers, 1 category, 1 with missing values)")
  refuses("kbcd train --data all.csv --label worth --drop sizes --model no.h5", "drop", "no column is named 'sizes'",
    "note, size, count, city, worth")
  refuses("kbcd train --data all.csv --label value --model no.h5", "no column is named 'value'", "note, size, count")
  refuses("kbcd train --data all.csv --label worth --weights size --model no.h5", "--weights size", "missing values")
  refuses("kbcd train --data all.csv --label worth --weights heavy --model no.h5", "--weights heavy: there is no such file",
    "no column is named 'heavy'", "note, size")
  refuses("kbcd train --data all.csv --model no.h5", "all.csv: no labels in it", "--label")
  has(succeeds("kbcd tune --data all.csv --label worth --drop note,city --sigma 1,2 --lambda 1e-3").out, "--drop note,city")
end)

-- adult.data and adult.test of UCI: blanks behind commas, no header, `?`, a line above the test rows, dots behind its labels.
test("tables like UCI's adult, as they are", function()
  local function adult(first, last, dot, above)
    local lines = { above }
    for i = first, last do
      local rich = noise(i, 1) + (i % 3 == 0 and 2 or 0) > 0.7
      lines[#lines + 1] = ("%d, %s, %d, %s, %s%s"):format(30 + 10 * noise(i, 1), i % 5 == 0 and "?" or "Private", 70000 + i,
        i % 3 == 0 and "Prof-school" or "HS-grad", rich and ">50K" or "<=50K", dot)
    end
    return table.concat(lines, "\n") .. "\n\n"
  end
  shell.write("adult.data", adult(1, 40, ""))
  shell.write("adult.test", adult(41, 60, ".", "|1x3 Cross validator"))
  succeeds("gzip adult.data adult.test")
  local errors = {}
  for _, run in ipairs{ "kbcd", "mpi 3" } do
    local out = succeeds(run .. " train --data adult.data.gz --label 5 --test-data adult.test.gz --kernel rbf --sigma 1 " ..
      "--standardize --lambda 1e-2 --epochs 2 --model adult.h5").out
    has(out, "40 rows of 6 numbers, 2 classes", "20 rows to test", "'<=50K.' is '<=50K'")
    errors[#errors + 1] = out:match("test error (%S+)%%")
    has(succeeds(run .. " evaluate --model adult.h5 --data adult.test.gz").out, "top-1 error " .. errors[1], "<=50K")
  end
  equal(errors[2], errors[1])
  equal(#predictions("adult.h5", "adult.test.gz", "2>/dev/null"), 20)
end)

test("targets that are hardly any", function()
  shell.write("one.csv", "a,y\n1,x\n2,x\n3,x\n")
  refuses("kbcd train --data one.csv --label y --model no.h5", "at least two classes expected", "'x'", "--label")
  shell.write("one.csv", "a,y\n1,7\n2,7\n3,7\n")
  refuses("kbcd train --data one.csv --label y --model no.h5", "at least two classes", "has 7", "--task regress")
  succeeds("kbcd train --data one.csv --label y --task regress --model seven.h5 --quiet")
  same(predictions("seven.h5", "one.csv"), { 7, 7, 7 }, "a constant target")
  shell.write("one.csv", "a,y\n1,0.5\n")
  succeeds("kbcd train --data one.csv --label y --model one.h5 --quiet")
  same(predictions("one.h5", "one.csv"), { 0.5 }, "one row")
  shell.write("one.csv", "a,y\n1,9007199254740993\n2,9007199254740992\n3,5\n")
  refuses("kbcd train --data one.csv --label y --model no.h5", "2^53", "write classes as text")
  shell.write("one.csv", "a,y\n1,x\n2,\n3,y\n")
  refuses("kbcd train --data one.csv --label y --model no.h5", "line 3, column 2", "a label expected", "remove such rows")
  shell.write("one.csv", "a,y\n1e300,0.5\n2,1.5\n")
  local plain = "kbcd train --data one.csv --label y --model no.h5 --kernel rbf --sigma 1 --lambda 1 "
  refuses(plain .. "--precision f32", "row 1, column 1", "--precision f64")
  refuses(plain, "beyond f64", "scale the data")
  shell.write("one.csv", "a;y\n1;2,5\n2;3,5\n3;9,5\n")
  succeeds("kbcd train --data one.csv --label y --model comma.h5 --kernel rbf --sigma 0.1 --lambda 1e-9 --precision f64 " ..
    "--quiet")
  same(predictions("comma.h5", "one.csv"), { 2.5, 3.5, 9.5 }, "decimal commas in the target")
end)

test("files that are no tables", function()
  local function refused(file, ...)
    refuses(("kbcd train --data %s --label y --model no.h5"):format(file), file, ...)
    refuses(("mpi 3 predict --model m.h5 --x %s --out p.csv"):format(file), file, ...)
  end
  refused("missing.csv", "No such file")
  succeeds("mkdir folder.csv && head -c 40 other.csv.gz >cut.csv.gz")
  refused("folder.csv", "folder")
  refused("cut.csv.gz", "damaged")
  shell.write("empty.csv", "")
  refused("empty.csv", "at least one row expected")
  shell.write("binary.csv", "\127ELF\2\1\1\0\0\0\0\0\0\3\0>\0\1\0\n\0\1,\255\254\n")
  refused("binary.csv", "line")
  shell.write("wide.csv", "\255\254a\0,\0y\0\n\0")
  refused("wide.csv", "UTF-16", "iconv")
end)

shell.finish()
