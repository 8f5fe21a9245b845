-- read_rows(name, options, like, t): the rows of a file for the commands. CSV files are tables (read_table): t is the
-- description of the training data's, or { fit = true, drop = …, columns = …, categories = … } to make one. Returns X, y, the
-- names of classes, and the description, if there is one. Other files are read by read_data.

local kbcd = require "kbcd"
local read_data = require "kbcd.data.read_data"

-- Rows that are numbers already fit a table whose columns are numbers without more.
local function require_numbers(name, t)
  for j, kind in ipairs(t.kinds) do
    if kind ~= "number" or t.missing[j] == 1 then
      error(("%s: CSV expected, as the model was trained on: its column %s is no plain number (%s)"):format(name,
        t.names[j] ~= "" and t.names[j] or t.places[j], t.missing[j] == 1 and "it had missing values" or kind), 0)
    end
  end
end

return function(name, options, like, t)
  local loader = read_data.loader_of((read_data.file_of(name)))
  if t and loader and loader.name == "CSV" and not options.names then
    local o = { dtype = options.dtype, header = options.header, label = options.label, labels = t.labels, say = t.say }
    for _, flag in ipairs{ "drop", "columns", "categories" } do o[flag] = t[flag] end
    if not t.fit then o.table = t.table end
    return kbcd.read_table(name, o)
  end
  if loader and t and t.table then require_numbers(name, t.table) end  -- else read_data says what is wrong with the file
  for _, flag in ipairs{ "drop", "columns", "categories" } do
    if t and t[flag] then error(("%s: --%s is for CSV files"):format(name, flag), 0) end
  end
  return read_data(name, options, like)
end
