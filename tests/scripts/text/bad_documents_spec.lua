-- Documents with malformed lines: an error with file and line, or lines that are skipped and counted (invalid = "skip").

local kbcd = require "kbcd"
local spec = require "spec"
local with_file, gathered = spec.with_file, spec.gathered

spec.test("bad lines are errors with file and line, or are left out and counted", function()
  local rows = {}
  for i = 1, 12 do rows[i] = ("%d\tgood text %d\n"):format(i, i) end
  local bad = {
    { "3\tbad \255 bytes\n", "UTF-8" }, { "no tabs\n", "2 fields", "got 1" }, { "4\tone\ttwo\n", "got 3" },
    { "five\ttext\n", "number", "'five'" }, { "\ttext\n", "label", "empty" },
  }
  for _, case in ipairs(bad) do
    rows[7] = case[1]
    with_file(table.concat(rows) .. case[1], function(path)
      spec.fails(function() kbcd.text.read(path, { format = "tsv" }) end, path, "line 7", select(2, unpack(case)))
      local read = kbcd.text.read(path, { format = "tsv", invalid = "skip" })
      spec.equal(read.n, 11)
      spec.equal(read.invalid, 2)
      spec.equal(read:hash{ columns = 8 }.n, 11)
    end)
  end
  local json = '{"text": "a", "label": 1}\n{"text": "b", \n[1]\n{"text": 3, "label": 1}\n{"text": "c", "label": true}\n' ..
    '{"text": "d \\ud66d\\ude00", "label": 1}\n{"text": "e", "label": "\\ude00"}\n'
  with_file(json, function(path)
    spec.fails(function() kbcd.text.read(path, { format = "jsonl" }) end, path, "line 2", "JSON")
    local read = kbcd.text.read(path, { format = "jsonl", invalid = "skip" })
    spec.equal(read.n, 1)
    spec.equal(read.invalid, 6)
  end)
  with_file('{"text": "a \\ude00", "label": 1}\n', function(path)
    spec.fails(function() kbcd.text.read(path, { format = "jsonl" }) end, path, "line 1", "'text'", "surrogates")
  end)
  for _, case in ipairs{ "3\t\n", "3\t ...!\n", "3\tthe of and\n" } do
    rows[7] = case
    with_file(table.concat(rows), function(path)
      local o = { format = "tsv", stop_words = true }
      spec.fails(function() kbcd.text.read(path, o):hash{ columns = 8 } end, path, "line 7", "no words", "skip")
      spec.fails(function() kbcd.text.vocabulary(kbcd.text.read(path, o)) end, path, "line 7", "no words")
      o.empty = "skip"
      local read = kbcd.text.read(path, o)
      spec.equal(read.n, 11)
      spec.equal(read.empty, 1)
      spec.equal(read.y.n, 11)
      local found = gathered(read:texts())
      spec.equal(#found, 11, "texts")
      for i, text in ipairs(found) do spec.equal(text, ("good text %d"):format(i < 7 and i or i + 1)) end
      o.empty = "keep"
      local X, empty = kbcd.text.read(path, o):hash{ columns = 8 }
      spec.equal(X.n, 12)
      spec.equal(empty, 1)
    end)
  end
  with_file("", function(path)
    spec.fails(function() kbcd.text.read(path, { format = "tsv" }) end, path, "at least one row")
  end)
  with_file("1\t\255\n", function(path)
    spec.fails(function() kbcd.text.read(path, { format = "tsv", invalid = "skip" }) end, path, "at least one row")
  end)
  with_file("1\tone\n2\ttwo\n", function(path)
    spec.fails(function() kbcd.text.read(path) end, path, ".tsv", "format")
    spec.fails(function() kbcd.text.read(path, { format = "xml" }) end, "xml", "jsonl")
    spec.fails(function() kbcd.text.read(path, { format = "tsv", rows = 99 }) end, "99", "2")
    spec.fails(function() kbcd.text.read(path, { format = "tsv", text = 1 }) end, "both column 1")
    spec.fails(function() kbcd.text.read(path, { format = "tsv", labels = 1 }) end, "unknown option 'labels'")
  end)
  spec.fails(function() kbcd.text.read("/nowhere/x.tsv") end, "/nowhere/x.tsv", "cannot be read")
end)

spec.test("a bad first line is left out as any other", function()
  local good = {}
  for i = 1, 50 do good[i] = i .. "\tgood text " .. i .. "\n" end
  local rest = table.concat(good)
  for _, first in ipairs{ "0\tone\ttwo\n", "no tab\n", "\n \nno\ttab\tbut\tthree\n" } do
    with_file(first .. rest, function(path)
      local read = kbcd.text.read(path, { format = "tsv", invalid = "skip" })
      spec.equal(("%d, %d"):format(read.n, read.invalid), "50, 1", first)
      spec.equal(gathered(read:texts())[1], "good text 1", first)
      if first:find("tab\t") then
        spec.fails(function() kbcd.text.read(path, { format = "tsv" }) end, path, "line 4", "4 fields", "got 2")
      end
    end)
  end
  with_file('0,"open\n' .. rest:gsub("\t", ","), function(path)
    spec.equal(kbcd.text.read(path, { format = "csv", invalid = "skip" }).n, 50)
    spec.fails(function() kbcd.text.read(path, { format = "csv" }) end, path, "line 1", "quote")
  end)
  with_file("no tab\n" .. good[1], function(path)
    local o = { format = "tsv", invalid = "skip" }
    spec.equal(kbcd.text.read(path, o).n, 1)
    o.text = 3
    spec.fails(function() kbcd.text.read(path, o) end, path, "3 fields")
    o.text, o.header = "words", false
    spec.fails(function() kbcd.text.read(path, o) end, path, "'words'", "header = false")
  end)
end)

spec.finish()
