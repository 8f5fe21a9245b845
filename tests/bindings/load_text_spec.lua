-- load of text files and .npz: X, y and classes in Lua, on any number of ranks.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local test, equal, close, fails, with_file = spec.test, spec.equal, spec.close, spec.fails, spec.with_file

local function all(X) return X:gather(Index.range(1, X.n)) end

test("libsvm gives X and y, sparse or dense", function()
  with_file("1 1:2 3:4\n# a comment\n\n-1 2:0.5\r\n1\n", ".svm", function(path)
    local X, y, classes = kbcd.load(path)
    close(all(X), Matrix{ { 2, 0, 4 }, { 0, 0.5, 0 }, { 0, 0, 0 } }, 0, "X")
    close(all(y), Matrix{ { 1 }, { -1 }, { 1 } }, 0, "y")
    equal(classes, nil, "classes")
    equal(X.sparse, false, "a third is given")
    equal(kbcd.load(path, { sparse = true }).sparse, true)
    equal(kbcd.load(path, { features = 5 }).d, 5)
    equal(kbcd.load(path, { features = 5 }).sparse, true)
    equal(kbcd.load(path, { rows = 2, dtype = "f32" }).dtype, "f32")
    equal(select("#", kbcd.load(path)), 2, "values")
    fails(function() kbcd.load(path, { features = 2 }) end, path, "line 1", "at most 2", "'3:4'")
    fails(function() kbcd.load(path, { label = 1 }) end, path, "'label'", "libsvm")
    fails(function() kbcd.load(path, { sparse = 1 }) end, "sparse", "true or false")
  end)
  with_file("1 1:2\n2 1:3 1:4\n", ".svm", function(path)
    fails(function() kbcd.load(path) end, path, "line 2", "ascend")
  end)
end)

test("CSV gives the columns that label chooses, and the names of classes", function()
  with_file('size,"kind of, it",weight\n1,dog,2\n3,cat,4\n5,dog,6\n', ".csv", function(path)
    for _, label in ipairs{ "kind of, it", 2, { 2 } } do
      local X, y, classes = kbcd.load(path, { label = label })
      close(all(X), Matrix{ { 1, 2 }, { 3, 4 }, { 5, 6 } }, 0, "X")
      close(all(y), Matrix{ { 1 }, { 0 }, { 1 } }, 0, "y")
      equal(table.concat(classes, " "), "cat dog", "classes")
    end
    fails(function() kbcd.load(path) end, path, "line 2, column 2", "'dog'", "label")
    fails(function() kbcd.load(path, { label = 4 }) end, path, "1..3", "4")
    fails(function() kbcd.load(path, { label = "colour" }) end, path, "'colour'", "size, kind of, it, weight")
    fails(function() kbcd.load(path, { label = 1.5 }) end, "label", "1.5")
    fails(function() kbcd.load(path, { label = {} }) end, "label", "empty")
    fails(function() kbcd.load(path, { header = false, label = 2 }) end, path, "line 1, column 1", "'size'")
  end)
  with_file("1;2;3\n4;5;6\n", ".txt", function(path)
    local X, y, classes = kbcd.load(path, { label = { 3, 1 } })
    close(all(X), Matrix{ { 2 }, { 5 } }, 0, "X")
    close(all(y), Matrix{ { 3, 1 }, { 6, 4 } }, 0, "two targets")
    equal(classes, nil, "classes")
    equal(select("#", kbcd.load(path)), 1, "values without a label")
    equal(kbcd.load(path, { header = true }).n, 1)
  end)
end)

test("a first row with a slip in it is an error, not a header", function()
  for _, first in ipairs{ "1,nan,3", "1.5,x,3", "x,1..5,3", "a,b,NA", "-inf,2,3" } do
    with_file(first .. "\n1,2,3\n4,5,6\n", ".csv", function(path)
      fails(function() kbcd.load(path) end, path, "line 1, column")
    end)
  end
  for _, header in ipairs{ "a,b,c", "label,0,1", ",b,c", '"1x1",1x2,"1x3"', "e,E,x" } do
    with_file(header .. "\n1,2,3\n4,5,6\n", ".csv", function(path) equal(kbcd.load(path).n, 2, header) end)
  end
  with_file("1..5,2\n1,2\n", ".csv", function(path)
    fails(function() kbcd.load(path, { label = 1 }) end, path, "line 1, column 1", "'1..5'")
  end)
end)

test("names gives the numbers of a column of labels", function()
  with_file("dog\n\"a cat\"\ndog\n", ".csv", function(path)
    local X, y, classes = kbcd.load(path, { names = true })
    close(all(X), Matrix{ { 1 }, { 0 }, { 1 } }, 0, "X")
    equal(y, nil, "y")
    equal(table.concat(classes, ","), "a cat,dog")
    fails(function() kbcd.load(path) end, path, "line 1", "'dog'")
    fails(function() kbcd.load(path, { names = true, label = 1 }) end, path, "names = true", "label")
  end)
  with_file("dog,1\n", ".csv", function(path) fails(function() kbcd.load(path, { names = true }) end, path, "has 2") end)
end)

test("an error on one rank is an error on all, and the next load works", function()
  local lines = {}
  for i = 1, 100 do lines[i] = ("%d 1:%d"):format(i, i) end
  with_file(table.concat(lines, "\n"), ".svm", function(good)
    lines[97] = "97 1:x"
    with_file(table.concat(lines, "\n"), ".svm", function(bad)
      for _ = 1, 3 do
        fails(function() kbcd.load(bad) end, bad, "line 97", "'x'")
        equal(kbcd.load(good).n, 100)
      end
    end)
  end)
end)

test("options that a format does not use are refused by name", function()
  with_file("\147NUMPY\1\0", ".npy", function(path)
    fails(function() kbcd.load(path, { label = "y" }) end, path, "'label'", "npy", "rows, dtype, scale")
  end)
  with_file("PK", ".npz", function(path) fails(function() kbcd.load(path, { member = "X" }) end, path, "zip directory") end)
end)

spec.finish()
