-- The options that say which columns of a CSV file are used: --drop, --columns, --categories.
--
--     table_flags.add(parser)
--     table_flags.fit(o)           for read_rows: how a description is made
--     table_flags.apply(t, more)   for read_rows: the description of a model, or nil; more: { labels = false }

local kbcd = require "kbcd"
local types = require "kbcd.command.argument_types"
local row_weights = require "kbcd.data.row_weights"

local table_flags = { names = { "drop", "columns", "categories" } }

function table_flags.add(parser)
  parser:option("--drop", "Columns of the CSV file to leave out, by name or number, with commas between.", nil,
    types.columns):argname("LIST")
  parser:option("--columns", "The columns of the CSV file to use, instead of all.", nil, types.columns):argname("LIST")
  parser:option("--categories", "Columns of the CSV file that hold categories, though they look like numbers.", nil,
    types.columns):argname("LIST")
end

function table_flags.fit(o)
  if o.table then return table_flags.apply(o.table) end
  local t = { fit = true, say = o.quiet and function() end or nil }
  for _, name in ipairs(table_flags.names) do t[name] = o[name] end
  local weights = row_weights.column(o)  -- which are no feature
  if weights and o.data then
    row_weights.require_column(o)
    t.drop = { weights, unpack(o.drop or {}) }
  end
  return t
end

-- What is said goes to stderr: standard output may be the predictions.
local function warn(...)
  if kbcd.rank() == 0 then io.stderr:write((...):format(select(2, ...)), "\n") end
end

function table_flags.apply(t, more)
  if not t then return nil end
  local all = { table = t, say = warn }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

return table_flags
