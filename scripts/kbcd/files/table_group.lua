-- The group /table of a model file: the description of the CSV table that the model was trained on (data/read_table.lua).
--
--     table_group.write(file, t)
--     t = table_group.read(file, d)     nil where there is none; it must make rows of d numbers

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local table_group = {}

local texts = { "names", "kinds", "categories", "label_names" }
local numbers = { "places", "fill", "missing", "other", "categories_of", "label_places" }

function table_group.write(file, t)
  runtime.tables.outputs(t)  -- what read would refuse is not written
  file:group("/table")
  for _, name in ipairs{ "header", "count" } do file:set("/table", name, t[name]) end
  for _, name in ipairs(texts) do if #t[name] > 0 then file:write_texts("/table/" .. name, t[name]) end end
  for _, name in ipairs(numbers) do
    if #t[name] > 0 then file:append("/table/" .. name, kbcd.Matrix(t[name]):t()) end
  end
end

local function read_list(file, name)
  local shape = file:shape(name)
  if #shape ~= 2 or shape[2] ~= 1 then error(name .. ": a column of numbers expected", 0) end
  local column, list = file:read(name, 1, shape[1]), {}
  for i = 1, column.nrows do list[i] = column(i, 1) end
  return list
end

local function read(file, d)
  local t = {}
  for _, name in ipairs{ "header", "count" } do t[name] = file:get("/table", name) end
  for _, name in ipairs(texts) do
    t[name] = file:has("/table/" .. name) and file:texts("/table/" .. name) or {}
  end
  for _, name in ipairs(numbers) do t[name] = file:has("/table/" .. name) and read_list(file, "/table/" .. name) or {} end
  local made = #runtime.tables.outputs(t)  -- checks everything
  if made ~= d then error(("columns that make %d numbers expected, they make %d"):format(d, made), 0) end
  return t
end

function table_group.read(file, d)
  if not file:has("/table") then return nil end
  local good, t = pcall(read, file, d)
  if not good then error(("%s: /table: %s"):format(file.path, (tostring(t):gsub("^table: ", ""))), 0) end
  return t
end

return table_group
