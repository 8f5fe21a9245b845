-- ranks: 1 3
-- read_table on awkward tables: the numbers that each becomes, worked out by hand, or an error that names the remedy.

local kbcd = require "kbcd"
local spec = require "spec"
local runtime = require "kbcd.runtime"
local test, equal, fails = spec.test, spec.equal, spec.fails

local function has(text, ...)
  for _, part in ipairs{ ... } do
    if not text:find(part, 1, true) then error(("'%s' expected in: %s"):format(part, text), 2) end
  end
end

local function with(options, more)
  local all = {}
  for key, value in pairs(options or {}) do all[key] = value end
  for key, value in pairs(more) do all[key] = value end
  return all
end

-- Reads a file of this text; gives X, y, classes, the description and what was said.
local function read(text, options)
  local said, results = {}, nil
  spec.with_file(text, ".csv", function(path)
    results = { kbcd.read_table(path, with(options, {
      say = function(...) said[#said + 1] = (...):format(select(2, ...)):gsub("^%S+: ", "") end })) }
  end)
  return results[1], results[2], results[3], results[4], table.concat(said, "\n")
end

local function is(got, expected, what) spec.close(kbcd.gather(got.rows), kbcd.Matrix(expected), 1e-15, what) end

-- The table becomes `rows`; more: columns (names of X's), y, classes, says (a list of texts).
local function reads(name, text, options, rows, more)
  test(name, function()
    local X, y, classes, t, said = read(text, options)
    more = more or {}
    is(X, rows, "X")
    if more.y then is(y, more.y, "y") end
    if more.classes then equal(table.concat(classes, "|"), more.classes) end
    if more.columns then equal(table.concat(runtime.tables.outputs(t), "|"), more.columns) end
    has(said, unpack(more.says or {}))
    if more.silent then equal(said, "") end
  end)
end

local function refuses(name, text, options, ...)
  local texts = { ... }
  test(name, function() fails(function() read(text, options) end, unpack(texts)) end)
end

-- Lines from f(1) .. f(n) below a header.
local function lines(header, n, f)
  local list = { header }
  for i = 1, n do list[i + 1] = f(i) end
  return table.concat(list, "\n") .. "\n"
end

local nan_free = { { 1, 2 }, { 3, 4 } }

-- How the file is written.
reads("plain numbers", "a,b\n1,2\n3,4\n", nil, nan_free, { columns = "a|b", silent = true })
reads("a byte order mark", "\239\187\191a,b\n1,2\n3,4\n", { columns = { "a", "b" } }, nan_free)
reads("CRLF, no end of the last line", "a,b\r\n1,2\r\n3,4", { columns = { 1, 2 } }, nan_free)
reads("blank lines", "\na,b\n\n1,2\n  \n3,4\n\n", { columns = { 1, 2 } }, nan_free)
reads("comments above the header", "# made by hand\n% at noon\na,b\n1,2\n3,4\n", { columns = { 1, 2 } }, nan_free,
  { columns = "a|b" })
reads("tabs", "a\tb\n1\t2\n3\t4\n", { columns = { 1, 2 } }, nan_free)
reads("bars", "a|b|c\n1|2|x\n3|4|y\n", nil, { { 1, 2, 1, 0 }, { 3, 4, 0, 1 } }, { columns = "a|b|c=x|c=y" })
reads("blanks, as many as there are", "  a   b\n  1   2\n 3    4\n", { columns = { 1, 2 } }, nan_free, { columns = "a|b" })
reads("blanks around fields and in names", "a , b c\n 1,2 \n3 , 4\n", { columns = { "b c", "a" } }, nan_free,
  { columns = "a|b c" })
reads("separators at the ends of all lines", "a,b,\n1,2,\n3,4,\n", nil, nan_free, { says = { "column 3 is dropped" } })
reads("quotes: separators, doubled quotes, blanks", 'a,kind\n1,"x, ""y"""\n2,plain\n3,"x, ""y"""\n', nil,
  { { 1, 0, 1 }, { 2, 1, 0 }, { 3, 0, 1 } }, { columns = 'a|kind=plain|kind=x, "y"' })
reads("a header of numbers, if somebody says so", "0,1,2\n5,6,8\n", { header = true }, { { 5, 6, 8 } }, { columns = "0|1|2" })
reads("years as names, as a label, too", "2019,2020,2021\n5,6,8\n", { header = true, label = 2021 }, { { 5, 6 } },
  { y = { { 8 } } })
reads("names beyond ASCII", "größe,Δ\n1,2\n3,4\n", { columns = { "Δ", "größe" } }, nan_free, { columns = "größe|Δ" })
refuses("a header of numbers", "0,1,2\n5,6,8\n9,9,9\n", nil, "line 1", "may be data or the names", "--header yes")
refuses("years over numbers", "2019,2020,2021\n5,6,8\n9,9,9\n", nil, "may be data or the names", "--header no")
refuses("text everywhere", "color,shape\nred,round\nblue,square\n", nil, "does not tell", "--header yes or --header no")
refuses("CR alone", "a,b\r1,2\r3,4\r", nil, "line 1", "carriage return", "tr '\\r' '\\n'")
refuses("UTF-16", "\255\254a\0,\0b\0\n\0001\0,\0002\0\n\0", nil, "UTF-16", "iconv -f UTF-16 -t UTF-8")
refuses("Latin-1", "a,b\n1,caf\233\n2,x\n", nil, "line 2, column 2", "UTF-8 text expected", "iconv -f latin1")
refuses("a zero byte", "a,b\n1,x\0y\n2,z\n", nil, "line 2, column 2", "zero byte")
refuses("zero bytes in the first line", "a\0,b\0\n1,2\n", nil, "line 1: a zero byte", "UTF-16", "iconv")
refuses("a line break in quotes", 'a,b\n1,"x\ny"\n', nil, "line 2, column 2", "remove the line break")
refuses("a quote inside a field", 'a,b\n1,5" tape\n', nil, "line 2, column 2", "quote inside a field")
refuses("ragged rows", "a,b\n1,2\n3\n", nil, "line 3", "2 fields expected", "got 1", "quotes")
refuses("a header without the name of the first column", "a b\nr1 1 2\nr2 3 4\n", nil, "line 2",
  "2 fields expected as in the first", "got 3")
refuses("a separator too many", "a,b\n1,2\n3,4,\n", nil, "line 3", "got 3")
refuses("a comment below", "a,b\n1,2\n# half\n3,4\n", nil, "line 3", "2 fields expected", "correct the line")
refuses("an empty file", "", nil, "at least one row expected")
refuses("a header alone", "a,b\n", nil, "one line of names and no rows below it")
refuses("a header alone, said to be one", "a,b\n", { header = true }, "at least one row expected below the header")

-- Numbers.
reads("spellings of numbers", "a,b,c\n+5,.5,5.\n1e3,-2E-2,007\n", { columns = { 1, 2, 3 } },
  { { 5, 0.5, 5 }, { 1000, -0.02, 7 } })
reads("beyond 2^53, rounded", "a,b\n9007199254740993,1\n18446744073709551616,2\n", { columns = { 1 } },
  { { 2 ^ 53 }, { 2 ^ 64 } })
reads("decimal commas", "a;b\n1,5;2\n-0,250;3\n1,125;4\n", nil, { { 1.5, 2 }, { -0.25, 3 }, { 1.125, 4 } })
reads("decimal commas in the target", "a;y\n1,5;2,5\n2,5;3,25\n", { label = "y" }, { { 1.5 }, { 2.5 } },
  { y = { { 2.5 }, { 3.25 } } })
reads("missing numbers: the median, and a column that says so", "a,b\n1,5\n,6\n3,NA\n8,7\n?,nan\n", nil,
  { { 1, 0, 5, 0 }, { 3, 1, 6, 0 }, { 3, 0, 6, 1 }, { 8, 0, 7, 0 }, { 3, 1, 6, 1 } },
  { columns = "a|a missing|b|b missing", says = { "2 with missing values" } })
reads("every word for what is missing",
  "a,b\n1,0\n?,1\nNA,2\nN/A,3\n#N/A,4\n<NA>,5\nNaN,6\nnull,7\nNone,8\n-,9\n.,9\n \t,9\n2,9\n",
  { columns = { "a" } }, { { 1, 0 }, { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 },
    { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 }, { 1.5, 1 }, { 2, 0 } })
reads("a column without values", "a,b\n1,\n2,NA\n", nil, { { 1 }, { 2 } },
  { says = { "(b) is dropped: no row has a value" } })
reads("a constant number stays", "a,b\n1,7\n2,7\n", nil, { { 1, 7 }, { 2, 7 } })
reads("one row", "a,b,k\n1,2,x\n", { columns = { 1, 2 } }, { { 1, 2 } })
refuses("decimal points and commas", "a;b\n1,5;1\n2.5;2\n", nil, "column 1 (a)", "decimal point and some a comma")
refuses("commas that may be thousands", "a;b\n1,500;1\n800;2\n", nil, "column 1 (a)", "may be 1.5 or 1500", "--drop a")
refuses("the same of a target", "a;y\n1;1,500\n2;2,250\n", { label = "y" }, "column 2 (y)", "may be 1.5 or 1500")
for _, field in ipairs{ '"1,000"', "1 000", "1'000.5", "1_000", "$5", "5%", "€ 7", "7 €", "(5)", "−1", "1e400", "-inf",
  "Infinity" } do
  refuses("numbers in disguise: " .. field, ("a,b\n1,x\n%s,y\n2,x\n"):format(field), nil, "line 3, column 1 (a)",
    "a plain number expected", "--drop a", "--categories a")
  refuses("only such: " .. field, ("a,b\n%s,1\n%s,2\n"):format(field, field), { header = true }, "line 2, column 1 (a)")
  refuses("as targets: " .. field, ("a,y\n1,%s\n1,2\n"):format(field), { label = "y" }, "line 2, column 2", "number expected")
end
refuses("a word among numbers", "a,b\n1,2\n2,3\noops,4\n", nil, "line 4, column 1 (a)", "as in 2 of 3 rows", "'oops'",
  "--categories a")
refuses("hexadecimal", "a,b\n1,2\n2,3\n0x10,4\n", nil, "line 4, column 1 (a)", "'0x10'")
refuses("censored numbers", lines("a,b", 60, function(i) return (i % 5 == 0 and "<0.1" or i / 7) .. ",1" end), nil,
  "line 6, column 1 (a)", "'<0.1'", "as in 48 of 60 rows")
refuses("a number column by no header", "1_000,2\n1,2\n3,4\n", { header = false }, "line 1, column 1", "'1_000'")
refuses("too large for f32", "a,b\n1e300,1\n1,2\n", { dtype = "f32" }, "line 2", "too large for f32", "f64")

-- Categories.
local dependents = { "0", "1", "2", "3+" }
reads("categories that begin like numbers", lines("d,b", 12, function(i) return dependents[i % 4 + 1] .. "," .. i end),
  { columns = { "d" } }, (function()
    local rows = {}
    for i = 1, 12 do rows[i] = { 0, 0, 0, 0 } rows[i][i % 4 + 1] = 1 end
    return rows
  end)(), { columns = "d=0|d=1|d=2|d=3+" })
reads("missing categories", "k,b\nx,1\n?,2\ny,3\n,4\n", { columns = { "k" } },
  { { 0, 1, 0 }, { 1, 0, 0 }, { 0, 0, 1 }, { 1, 0, 0 } },
  { columns = "k missing|k=x|k=y" })
reads("numbers as categories; zeros in front count", "zip,b\n01,1\n1,2\n01,3\n",
  { columns = { "zip" }, categories = { "zip" } }, { { 1, 0 }, { 0, 1 }, { 1, 0 } }, { columns = "zip=01|zip=1" })
reads("one category alone", "k,b\nx,1\nx,2\n", nil, { { 1 }, { 2 } }, { says = { "(k) is dropped: every row has 'x'" } })
reads("ids", lines("id,b", 12, function(i) return ("u%d,%d"):format(i, i * i) end), nil, (function()
  local rows = {}
  for i = 1, 12 do rows[i] = { i * i } end
  return rows
end)(), { says = { "(id) is dropped: 12 of its 12 values are different" } })
test("rare categories share a column; 10,000 of them", function()
  -- 12,000 rows: `a` and `b` in 1000 each, 10,000 values in one.
  local X, _, _, t = read(lines("k,b", 12000, function(i)
    return (i % 12 == 0 and "a" or i % 12 == 1 and "b" or "v" .. i) .. "," .. i % 7
  end), { categories = { "k" } })
  equal(table.concat(runtime.tables.outputs(t), "|"), "k=a|k=b|k other|b")
  local sums = kbcd.allreduce(X.rows:to("f64"):sum(1))
  is(kbcd.DataSet(sums), { { 1000, 1000, 10000, sums(1, 4) } })
end)
reads("no frequent category, but missing ones",
  lines("k,b", 300, function(i) return (i <= 100 and "" or "v" .. i % 101) .. ",1" end),
  nil, (function()
    local rows = {}
    for i = 1, 300 do rows[i] = { i <= 100 and 1 or 0, i <= 100 and 0 or 1, 1 } end
    return rows
  end)(), { columns = "k missing|k other|b" })
test("a column that counts the rows is reported", function()
  local _, _, _, _, said = read(lines("n,b", 9, function(i) return i .. "," .. i * i end), nil)
  has(said, "column n counts the rows: --drop n leaves it out")
end)

-- True and false.
reads("spellings of true and false", "a,b,c,d\nyes,T,true,Y\nNO,f,FALSE,n\n,F,False,N\n", nil,
  { { 1, 0, 1, 1, 1 }, { 0, 0, 0, 0, 0 }, { 0.5, 1, 0, 0, 0 } }, { columns = "a|a missing|b|c|d" })
reads("no truth but a letter", "sex,b\nF,1\nM,2\nF,3\n", nil, { { 1, 0, 1 }, { 0, 1, 2 }, { 1, 0, 3 } },
  { columns = "sex=F|sex=M|b" })

-- Dates: days since 1970 by Julian day numbers (Fliegel and Van Flandern), and the point of the week, whose day 0 is a
-- Thursday.
local function date(y, m, d, time)
  local a = math.floor((14 - m) / 12)
  local years, months = y + 4800 - a, m + 12 * a - 3
  local julian = d + math.floor((153 * months + 2) / 5) + 365 * years + math.floor(years / 4) - math.floor(years / 100) +
    math.floor(years / 400) - 32045
  local day = julian - 2440588
  local local_day = math.floor(day + (time or 0))
  return day + (time or 0), math.sin(2 * math.pi * local_day / 7), math.cos(2 * math.pi * local_day / 7)
end
local two_dates = { { date(2024, 2, 29) }, { date(1969, 12, 31) } }
local function dates(name, first, second, expected)
  reads("dates: " .. name, ("when,b\n%s,1\n%s,2\n"):format(first, second), { columns = { "when" } }, expected or two_dates,
    { columns = "when|when weekday sin|when weekday cos" })
end
dates("ISO", "2024-02-29", "1969-12-31")
dates("year first, with slashes", "2024/2/29", "1969/12/31")
dates("with points", "29.2.2024", "31.12.1969")
dates("day first, as some show", "29/2/2024", "31/12/1969")
dates("month first, as some show", "2/29/2024", "12/31/1969")
dates("day first, with dashes", "29-02-2024", "31-12-1969")
dates("with times", "2024-02-29 12:00", "1969-12-31T18:00:00.5Z",
  { { date(2024, 2, 29, 0.5) }, { date(1969, 12, 31, 0.75) } })
dates("with zones", "2024-02-29T01:00:00+02:00", "1969-12-31T18:00:00-0700",
  { { date(2024, 2, 28, 23 / 24) }, { date(1970, 1, 1, 1 / 24) } })
reads("missing dates: the median day, and no day of the week",
  "when,b\n2024-01-01,1\n,2\n2024-01-05,3\n", { columns = { "when" } },
  (function()
    local rows = { { date(2024, 1, 1) }, { (date(2024, 1, 3)), 0, 0 }, { date(2024, 1, 5) } }
    for i, row in ipairs(rows) do row[4] = i == 2 and 1 or 0 end
    return rows
  end)())
refuses("dates that may be two", "when,b\n1/2/2024,1\n3/4/2024,2\n", nil, "column 1 (when)", "line 2", "'1/2/2024'",
  "day/month or month/day", "2024-01-31", "--drop when")
refuses("dates of two orders", "when,b\n13/2/2024,1\n3/14/2024,2\n", nil, "written in two ways", "2024-01-31")
refuses("dates of two spellings", "when,b\n2024-02-13,1\n3/14/2024,2\n", nil, "written in two ways")
refuses("no such day", "when,b\n2024-02-13,1\n2024-02-30,2\n2024-02-14,2\n", nil, "line 3, column 1 (when)",
  "a date expected", "'2024-02-30'")

-- Names of columns and labels.
reads("two names the same", "a,a\n1,2\n3,4\n", { header = true }, nan_free)
reads("a column without a name", ",a\n5,1\n7,2\n6,4\n", nil, { { 5, 1 }, { 7, 2 }, { 6, 4 } })
reads("labels: names with blanks, quotes and letters beyond ASCII", 'a,the kind\n1,"so, ""so"""\n2,für alle\n3,für alle\n',
  { label = "the kind" }, { { 1 }, { 2 }, { 3 } }, { y = { { 1 }, { 0 }, { 0 } }, classes = 'für alle|so, "so"' })
reads("labels by number, negative", "a,y\n1,-1\n2,1\n", { label = 2 }, { { 1 }, { 2 } }, { y = { { -1 }, { 1 } } })
reads("several targets, in the order of --label", "a,b,c\n1,2,3\n4,5,6\n", { label = { "c", "a" } }, { { 2 }, { 5 } },
  { y = { { 3, 1 }, { 6, 4 } } })
reads("none is a class", "a,y\n1,none\n2,some\n", { label = "y" }, { { 1 }, { 2 } }, { classes = "none|some" })
refuses("a label is missing", "a,y\n1,2\n2,\n", { label = "y" }, "line 3, column 2", "a label expected", "remove such rows")
refuses("a label stands for nothing", "a,y\n1,x\n2,NA\n", { label = "y" }, "line 3, column 2", "'NA'", "missing value")
refuses("a name among numbers", "a,y\n1,2\n2,3\n3,x\n", { label = "y" }, "line 4, column 2", "number expected", "'x'")
refuses("numbers below a name", "a,y\n1,x\n2,3.5\n3,4.5\n4,5.5\n", { label = "y" }, "line 2, column 2 (y)",
  "as in 3 of 4 rows", "'x'")
refuses("an unknown label", "a,b\n1,2\n", { label = "q" }, "label", "'q'", "the header has a, b")
refuses("an unknown column to drop", "a,b\n1,2\n", { drop = { "q" } }, "drop", "no column is named 'q'", "a, b")
refuses("a column number too large", "a,b\n1,2\n", { columns = { 3 } }, "columns", "1..2", "3")
refuses("a label by name without header", "1,2\n3,4\n", { label = "y" }, "no header", "--header yes")
refuses("nothing left", "a,b\n1,2\n", { label = "a", drop = { "b" } }, "at least one column must be left")
refuses("categories of what is not used", "a,b\n1,2\n", { drop = { "a" }, categories = { "a" } }, "column 1 is not used")

test("a file of another kind", function()
  fails(function() kbcd.read_table("/") end, "folder")
  fails(function() kbcd.read_table("/no/such.csv") end, "/no/such.csv", "No such file")
  spec.with_file("1 1:2\n", ".svm", function(path)
    fails(function() kbcd.read_table(path) end, "a CSV file expected", "libsvm", "kbcd.load")
  end)
  spec.with_file("no numbers here\nat all\n", ".txt", function(path)
    fails(function() kbcd.read_table(path) end, "none of the known formats", ".csv")
  end)
end)

-- A second file by the description of the first.
local training = "a,kind,when,flag,y\n1,x,2024-01-01,yes,5\n,y,2024-01-03,no,6\n3,x,2024-01-02,no,7\n"
local function again(text, options)
  local _, _, _, t = read(training, { label = "y" })
  return read(text, with(options, { table = t }))
end
local function row(a, missing, kind, day, flag)
  local when, sin, cos = date(2024, 1, day)
  return { a, missing, kind == "x" and 1 or 0, kind == "y" and 1 or 0, when, sin, cos, flag }
end

test("the training file itself", function()
  local X, y = again(training)
  is(X, { row(1, 0, "x", 1, 1), row(2, 1, "y", 3, 0), row(3, 0, "x", 2, 0) })
  is(y, { { 5 }, { 6 }, { 7 } })
end)
test("columns in another order, others beside them, no label, what is unseen or missing", function()
  local X, y, _, _, said = again("more,flag,when,kind,a\nq,1,2024-01-01,new,7\nq,0,2024-01-02,,8\n", { labels = false })
  is(X, { row(7, 0, "new", 1, 1), row(8, 0, "", 2, 0) })
  equal(y, nil)
  has(said, "columns that are not used: more")
end)
test("missing where training rows have none missing", function()
  local _, _, _, t = read("a,b\n1,2\n5,3\n3,9\n")
  local X, _, _, _, said = read("a,b\n,4\n7,?\n", { table = t })
  is(X, { { 3, 4 }, { 7, 3 } })
  has(said, "2 values are missing in columns where the training data had none missing; the median")
end)
test("no header: by their places, with the label or without", function()
  for _, text in ipairs{ "1,x,2024-01-01,yes,5\n", "1,x,2024-01-01,yes\n" } do
    local X, _, _, _, said = again(text, { labels = false, header = false })
    is(X, { row(1, 0, "x", 1, 1) })
    has(said, "taken by their places")
  end
end)
test("what a second file must have", function()
  local function refused(text, options, ...)
    local texts = { ... }
    fails(function() again(text, options) end, unpack(texts))
  end
  local head = "a,kind,when,flag,y\n"
  refused("a,kind,flag,y\n1,x,yes,5\n", nil, "the model needs the column when", "the header has a, kind, flag, y")
  refused("a,kind,when,flag\n1,x,2024-01-01,yes\n", nil, "no column is named 'y'", "--label")
  refused(head .. "one,x,2024-01-01,yes,5\n", nil, "line 2, column 1", "a finite number expected for 'a'", "'one'")
  refused(head .. "1,x,2/3/2024,yes,5\n", nil, "line 2, column 3", "a date expected for 'when'")
  refused(head .. "1,x,2024-01-01,2,5\n", nil, "line 2, column 4", "true or false expected for 'flag'")
  refused("a,a,kind,when,flag,y\n1,1,x,2024-01-01,yes,5\n", nil, "two columns are named 'a'", "rename one")
  refused("1,x,2024-01-01\n", { header = false }, "4 columns expected as in the training data, or 5 with the labels")
end)

test("10,000 columns, and long fields", function()
  local names, values = {}, {}
  for j = 1, 10000 do names[j], values[j] = "c" .. j, j end
  local text = table.concat(names, ",") .. ",k\n" .. table.concat(values, ",") .. "," .. ("x"):rep(100000) .. "\n" ..
    table.concat(values, ",") .. ",y\n"
  local X, _, _, t = read(text)
  equal(X.d, 10002)
  equal(kbcd.gather(X.rows)(2, 10000), 10000)
  equal(read(text, { table = t }).d, 10002)
  fails(function() read(text, { drop = { "q" } }) end, "c1, c2", "and 9981 more")
end)

spec.finish()
