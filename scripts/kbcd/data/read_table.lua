-- read_table(path [, options]): rows of a CSV file whose columns may hold text, dates and missing values, as numbers.
--
-- The description of a table says what each column is and becomes (modules/data/table.hpp). It is fitted on one file and
-- applied to others, whose columns are matched by their names. It is a table of flat lists, as model files store it.
-- What is missing in a column of numbers becomes the median of (at most some thousand rows of) the training data.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local streams = require "kbcd.support.streams"

runtime.docs.read_table = [[read_table(path [, options])
X, y, classes, table: the rows of a CSV file whose columns may hold text, true and false, dates or missing values (an empty
field, ?, NA, null …), as numbers: a column of 0 and 1 for each frequent category, the median where a number is missing and a
column that says so. y and classes are as for load, or nil. table describes how; options = { table = table } reads another
file in the same way, with its columns matched by their names. Options: label, header, dtype as for load; drop, columns (only
these) and categories (that numbers stand for), by name or number; labels = false (y is not wanted); say (a function that gets
what a person should know, instead of kbcd.say). All ranks call it.]]

local most_rows, most_numbers = 10000, 1e6  -- that medians are of

-- f(j, at, width) for each column of the table: it makes columns at .. at + width - 1 of X.
local function each_column(t, f)
  local at = 1
  for j, kind in ipairs(t.kinds) do
    local width = kind == "category" and t.categories_of[j] + t.other[j] or (kind:find("^date") and 3 or 1) + t.missing[j]
    f(j, at, width)
    at = at + width
  end
end

local function median(values)
  table.sort(values)
  local half = math.floor(#values / 2)
  if #values == 0 then return 0 end
  return #values % 2 == 1 and values[half + 1] or (values[half] + values[half + 1]) / 2
end

-- Whether numbers are those of rows I (and a constant), as an id or index has them; or different whole numbers.
local function counts_rows(values, I)
  for i, value in ipairs(values) do if value - I[i] ~= values[1] - I[1] then return false end end
  return #values == #I and #values > 2
end

local function all_different(values)  -- sorted
  for i, value in ipairs(values) do if value % 1 ~= 0 or value == values[i + 1] then return false end end
  return #values > 2
end

local function is_id(name)
  local low = name:lower()
  return low == "id" or low == "index" or low:find("[_ ]id$") ~= nil
end

-- Medians of the columns of numbers into t.fill and, where a value is missing, into X, which has 0 there; and notes.
local function fill(t, X)
  local most = math.min(most_rows, math.max(1000, math.floor(most_numbers / X.d)))
  local I = X.n <= most and kbcd.Index.range(1, X.n)
    or kbcd.Index.sample(X.n, most, { seed = 1, stream = streams.medians }):sorted()
  local A, notes = X:gather(I), {}
  each_column(t, function(j, at, width)
    if t.kinds[j] == "category" then return end
    local values, missing = {}, t.missing[j] == 1 and at + width - 1
    for i = 1, A.nrows do
      if not missing or A(i, missing) == 0 then values[#values + 1] = A(i, at) end
    end
    local counting = t.kinds[j] == "number" and counts_rows(values, I)
    t.fill[j] = median(values)
    if missing and X.rows.nrows > 0 then X.rows:cols(at):add(X.rows:cols(missing), t.fill[j]) end
    if counting or t.kinds[j] == "number" and is_id(t.names[j]) and all_different(values) then
      local name = t.names[j] ~= "" and t.names[j] or tostring(t.places[j])
      notes[#notes + 1] = ("column %s %s: --drop %s leaves it out"):format(name,
        counting and "counts the rows" or "has another number in every row", name)
    end
  end)
  return notes
end

-- In a line what the columns are; nil where they are all plain numbers.
local function summary(t, d)
  local counts, missing, texts = {}, 0, {}
  for j, kind in ipairs(t.kinds) do
    kind = kind:match("^%a+")
    counts[kind] = (counts[kind] or 0) + 1
    missing = missing + t.missing[j]
  end
  if counts.number == #t.kinds and missing == 0 then return nil end
  for _, kind in ipairs{ "number", "boolean", "date", "category" } do
    local plural = kind == "category" and "categories" or kind .. "s"
    if counts[kind] then texts[#texts + 1] = ("%d %s"):format(counts[kind], counts[kind] == 1 and kind or plural) end
  end
  return ("%d columns (%s%s) make %d numbers a row"):format(#t.kinds, table.concat(texts, ", "),
    missing > 0 and (", %d with missing values"):format(missing) or "", d)
end

-- Options of these names.
local function some(options, ...)
  local chosen = {}
  for _, name in ipairs{ ... } do chosen[name] = options[name] end
  return chosen
end

local known = { "label", "header", "dtype", "drop", "columns", "categories", "labels", "say", "table" }
local function checked(options)
  local is = {}
  for _, name in ipairs(known) do is[name] = true end
  for name in pairs(options) do
    if not is[name] then
      error(("read_table: unknown option '%s'; known: %s"):format(tostring(name), table.concat(known, ", ")), 3)
    end
  end
  return options
end

-- Whether some class names are numbers: then the table is looked at as a whole, for numbers among which one is misspelt.
local function has_numbers(classes)
  for _, name in ipairs(classes or {}) do if tonumber(name) then return true end end
  return false
end

return function(path, given)
  local o = checked(given or {})
  local loader = runtime.loaders.of(path).name
  if loader ~= "CSV" then
    error(("read_table: %s: a CSV file expected, this is %s; kbcd.load reads it"):format(path, loader), 2)
  end
  local function tell(notes) for _, note in ipairs(notes) do (o.say or kbcd.say)("%s: %s", path, note) end end
  if o.table then
    local notes, X, y, classes = runtime.tables.read(path, some(o, "label", "header", "dtype", "labels"), o.table)
    tell(notes)
    return X, y, classes, o.table
  end
  local loaded, X, y, classes, t, notes
  if not (o.drop or o.columns or o.categories) then  -- plain numbers need not be looked at twice
    loaded, X, y, classes = pcall(kbcd.load, path, some(o, "label", "header", "dtype"))
  end
  local options = some(o, "label", "header", "drop", "columns", "categories")
  if loaded and not has_numbers(classes) then
    options.plain = true
    t, notes = runtime.tables.fit(path, options)
  else
    t, notes = runtime.tables.fit(path, options)
    local _
    options = some(o, "header", "dtype")
    if table.concat(t.names) ~= "" then options.header = true end
    if #t.label_places > 0 then options.label = t.label_places end
    _, X, y, classes = runtime.tables.read(path, options, t)
  end
  local more = fill(t, X)
  tell(notes)
  tell(more)
  tell{ summary(t, X.d) }
  return X, y, classes, t
end
