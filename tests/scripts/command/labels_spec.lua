-- ranks: 1
-- Labels and headers of the files that commands read: doubtful first lines, classes by name, several targets, arrays of .npz.

local kbcd = require "kbcd"
local shell = require "shell"
local equal = require("spec").equal
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test

local points = require "three_classes"
local n, X, y, t = points.n, points.X, points.y, points.t

local function loaded(name) return kbcd.load(shell.tmp .. "/" .. name).rows end

test("a doubtful first line of CSV is an error unless --header says what it is", function()
  shell.write("doubt.csv", "1_000,2\n1,2\n3,4\n")
  shell.write("doubt_y.csv", "1\n2\n")
  local train = "kbcd train --x doubt.csv --y doubt_y.csv --hold-out 0 --sigma 1 --lambda 1 --task regress --quiet " ..
    "--model doubt.h5 "
  refuses(train, "doubt.csv: line 1, column 1", "'1_000'", "--header")
  refuses(train .. "--header no", "doubt.csv: line 1, column 1", "'1_000'")
  refuses(train .. "--header perhaps", "--header")
  succeeds(train .. "--header yes && kbcd predict --model doubt.h5 --x doubt.csv --header yes --out d.npy && " ..
    "kbcd evaluate --model doubt.h5 --x doubt.csv --y doubt_y.csv --header yes")
  equal(loaded("d.npy").nrows, 2)
  succeeds("kbcd predict --model doubt.h5 --x doubt.csv --out d.npy")  -- the model knows these names
  equal(loaded("d.npy").nrows, 2)
  equal(shell.count(succeeds("kbcd predict --model doubt.h5 --x - --out - <doubt.csv").out, "\n"), 2)
  refuses("kbcd predict --model doubt.h5 --x d.npy --header yes --out e.npy", "--option header", "CSV")
  shell.write("plain.csv", "1,2\n3,4\n")
  succeeds((train:gsub("doubt.csv", "plain.csv")))
  refuses("kbcd predict --model doubt.h5 --x doubt.csv --out d.npy", "line 1, column 1", "'1_000'", "--header")
  local piped = "kbcd predict --model doubt.h5 --x - --out - "
  refuses(piped .. "<doubt.csv", "standard input: line 1", "column 1")
  for _, line in ipairs{ "1d5,2d5", "\226\136\1461,\226\136\1462", "0b1,0b1", "inf,inf", "0x1,2" } do
    shell.write("odd.csv", line .. "\n1,2\n")
    refuses(piped .. "<odd.csv", "standard input: line 1", "column 1")
    equal(shell.count(succeeds(piped .. "--header yes <odd.csv").out, "\n"), 1)
  end
  shell.write("odd.csv", "nan,NA\n1,2\n")  -- missing values
  equal(shell.count(succeeds(piped .. "<odd.csv").out, "\n"), 2)
  has(succeeds("kbcd predict --model doubt.h5 --x odd.csv --out d.npy").err, "2 values are missing in columns where")
  shell.write("odd.csv", "a,b\n1,2\n")
  equal(shell.count(succeeds(piped .. "<odd.csv").out, "\n"), 1)
  refuses(piped .. "--header no <odd.csv", "line 1", "'a'")
end)

-- The same points as text: kind is a name, t1 and t2 are targets.
local kinds = { [0] = "süß", [10] = "one, two", [20] = "plain" }
local function csv(name, header, first, last, cells)
  local lines = { header }
  for i = first, last do lines[#lines + 1] = cells(i) end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end
local function with_kind(i) return ('%.17g,"%s",%.17g'):format(X[i][1], kinds[y[i][1]], X[i][2]) end
csv("kind.csv", "a,kind,b", 1, 200, with_kind)
csv("kind_t.csv", "a,kind,b", 201, n, with_kind)
csv("bare.csv", nil, 1, 200, with_kind)
csv("rows_t.csv", "a,b", 201, n, function(i) return ("%.17g,%.17g"):format(X[i][1], X[i][2]) end)
csv("names.csv", nil, 1, 200, function(i) return '"' .. kinds[y[i][1]] .. '"' end)
csv("names_t.csv", nil, 201, n, function(i) return '"' .. kinds[y[i][1]] .. '"' end)
csv("targets.csv", "t1,a,b,t2", 1, 200, function(i)
  return ("%.17g,%.17g,%.17g,%.17g"):format(t[i][1], X[i][1], X[i][2], t[i][2])
end)

test("classes by name, from a column of a CSV file or a file of their own, travel with the model", function()
  local settings = " --hold-out 0 --sigma 2 --lambda 1e-3 --precision f64 --quiet --model "
  succeeds("kbcd train --data kind.csv --label kind" .. settings .. "k.h5")
  succeeds("gzip -c bare.csv >bare.csv.gz && mpi 3 train --data bare.csv.gz --label 2" .. settings .. "k3.h5")
  succeeds("mpi 3 train --x X.npy --y names.csv" .. settings .. "names.h5")
  succeeds("kbcd train --x X.npy --y y.npy" .. settings .. "m.h5 && kbcd predict --model m.h5 --x Xt.npy --out numbers.csv")
  local expected = {}
  for number in io.lines(shell.tmp .. "/numbers.csv") do
    local name = kinds[tonumber(number)]
    expected[#expected + 1] = name:find(",") and '"' .. name .. '"' or name
  end
  expected = table.concat(expected, "\n") .. "\n"
  for _, command in ipairs{
    "kbcd predict --model k.h5 --x rows_t.csv --out -", "mpi 2 predict --model k3.h5 --x kind_t.csv --label kind --out -",
    "kbcd predict --model names.h5 --x - --out - <rows_t.csv", "mpi 3 predict --model k.h5 --x - --out - <rows_t.csv",
  } do
    equal(succeeds(command).out, expected, command)
  end
  local report = succeeds("kbcd evaluate --model k.h5 --data kind_t.csv --label kind").out
  has(report, "süß      ", "one, two ", "confusion")
  equal(succeeds("mpi 3 evaluate --model k.h5 --x Xt.npy --y names_t.csv").out, report)
  refuses("kbcd evaluate --model k.h5 --x Xt.npy --y yt.npy", "row 1", "none of the 3 classes")
  refuses("kbcd train --data kind.csv --label kind --task regress --model no.h5", "--task regress", "names", "'one, two'")
  refuses("kbcd train --data kind.csv --label colour --model no.h5", "'colour'", "a, kind, b")
  refuses("kbcd train --data bare.csv --label kind --model no.h5", "'kind'", "no header")
  refuses("kbcd train --x X.npy --y names_t.csv --model no.h5", "X.npy has 200 rows", "names_t.csv has 40")
  refuses("sed '90s/.*//' names.csv >hole.csv; kbcd train --x X.npy --y hole.csv --model no.h5", "hole.csv", "line 90")
  refuses("printf 'a,b\\na,b\\n' | kbcd predict --model k.h5 --x - --out -", "line 2", "'a'")
  refuses("printf '1,,2,3\\n' | kbcd predict --model k.h5 --x - --out -", "2 columns expected", "3 with the labels", "got 4")
  local without = succeeds("printf '1,2\\n' | kbcd predict --model k.h5 --x - --out -").out
  succeeds("printf '1,,2\\n' | kbcd predict --model k.h5 --x - --out -", without)  -- the label's place is there, and empty
  refuses("printf '1,0x2\\n' | kbcd predict --model k.h5 --x - --out -", "line 1", "'0x2'")
  refuses("gzip -c rows_t.csv | kbcd predict --model k.h5 --x - --out -", "standard input", "zcat")
  equal(shell.count(succeeds("printf 'nan,nan\\n' | kbcd predict --model k.h5 --x - --out -").out, "\n"), 1)  -- missing
end)

test("several target columns, arrays of .npz files", function()
  local settings = " --hold-out 0 --method full_kernel --sigma 2 --lambda 1e-3 --precision f64 --quiet --model "
  for i, files in ipairs{ "--x X.npy --y t.npy", "--data targets.csv --label t1,t2", "--data targets.csv --label 1,4" } do
    succeeds(("kbcd train %s%st%d.h5"):format(files, settings, i))
    succeeds(("kbcd predict --model t%d.h5 --x Xt.npy --out t%d.npy"):format(i, i))
  end
  for i = 2, 3 do assert((loaded("t1.npy") - loaded(("t%d.npy"):format(i))):abs():max() < 1e-10, "targets by --label") end
  refuses("kbcd train --data targets.csv --label 1,2,3,4 --model no.h5", "at least one column must be left")
  refuses("kbcd train --data targets.csv --label t1,1 --model no.h5", "column 1", "twice")
  has(succeeds("kbcd tune --data targets.csv --label t1,t2 --sigma 2 --lambda 0.001").out, "sigma \\ lambda", "0.001",
    "--label t1,t2")
  if os.execute("python3 -c 'import zipfile'") ~= 0 then return print("skipped: no Python to make a .npz") end
  local zip = "python3 -m zipfile -c d.npz X.npy y.npy"
  succeeds(zip .. " && kbcd train --x d.npz:X --y d.npz:y --sigma 2 --lambda 1e-3 --model z.h5")
  refuses("kbcd train --x d.npz --y d.npz:y --model no.h5", "d.npz:NAME", "X, y")
  refuses("kbcd train --x d.npz:Z --y d.npz:y --model no.h5", "'Z'", "X, y")
end)

shell.finish()
