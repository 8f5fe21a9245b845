-- The group /pipeline of a model file: the state of the pipeline that makes rows of raw input (pipelines/pipelines.lua).
-- Numbers and texts are attributes (a flag that is set is "true"), lists of texts and matrices are datasets. Names and
-- values are checked against what the kind declares; nothing in it is run.
--
--     pipeline_group.write(file, state)
--     state = pipeline_group.read(file, d)     nil where there is none; it must make rows of d numbers

local kbcd = require "kbcd"

local pipeline_group = {}

local group = "/pipeline"

function pipeline_group.write(file, state)
  file:group(group)
  for _, name in ipairs(kbcd.sorted_keys(state)) do
    local value, path = state[name], group .. "/" .. name
    if kbcd.type(value) == "Matrix" then file:append(path, value)
    elseif type(value) == "table" then file:write_texts(path, value)
    elseif value ~= false then file:set(group, name, value == true and "true" or value) end
  end
end

local function read_part(file, path)
  local shape = file:shape(path)
  if #shape == 1 then return file:texts(path) end
  if #shape ~= 2 then error("a matrix or a list of texts expected", 0) end
  return file:read(path, 1, shape[1])
end

local function read(file, d)
  local state = {}
  for _, name in ipairs(file:attributes(group)) do
    local value = file:get(group, name)
    if value == "true" then value = true end
    state[name] = value
  end
  for _, name in ipairs(kbcd.pipelines.parts(state)) do
    local path = group .. "/" .. name
    if file:has(path) then
      if state[name] ~= nil then error(name .. ": it is there twice", 0) end
      state[name] = read_part(file, path)
    end
  end
  local checked, columns = kbcd.pipelines.checked(state)
  if columns ~= d then error(("rows of %d numbers expected, it makes rows of %d"):format(d, columns), 0) end
  return checked
end

function pipeline_group.read(file, d)
  if not file:has(group) then return nil end
  local good, state = pcall(read, file, d)
  if not good then error(("%s: %s: %s"):format(file.path, group, tostring(state)), 0) end
  return state
end

return pipeline_group
