-- parameter_types.read(param, text): the value of a declared parameter from the text of a command line, or nil and what was
-- expected. `param` is a declaration of runtime.kernels, maps or loaders; a value of the right type passes as it is.

local parameter_types = {}

local function number(text)
  local value = tonumber(text)
  return value and value == value and math.abs(value) < math.huge and value or nil
end

local kinds = {
  number = number,
  positive = function(text) local x = number(text) return x and x > 0 and x or nil end,
  not_negative = function(text) local x = number(text) return x and x >= 0 and x or nil end,
  fraction = function(text) local x = number(text) return x and x > 0 and x < 1 and x or nil end,
  count = function(text, param)
    local x = number(text)
    return x and x >= 1 and x % 1 == 0 and x <= (param.most or 2 ^ 53) and x or nil
  end,
  one_of = function(text, param)
    for _, choice in ipairs(param.choices) do
      if text == choice or (type(choice) == "number" and tonumber(text) == choice) then return choice end
    end
  end,
  text = function(text) return text end,
  columns = function(text)
    local list = {}
    for part in (text .. ","):gmatch("(.-),") do
      if part == "" then return nil end
      list[#list + 1] = tonumber(part) or part
    end
    return list
  end,
}

-- Numbers with commas between, where a parameter takes one for each column; else nil.
local function list_of(param, text)
  if not param.list or type(text) ~= "string" or not text:find(",") then return nil end
  local list = {}
  for part in (text .. ","):gmatch("(.-),") do
    list[#list + 1] = kinds[param.kind](part, param)
    if list[#list] == nil or part == "" then return nil end
  end
  local _, commas = text:gsub(",", "")
  return #list == commas + 1 and list or nil
end

function parameter_types.read(param, text)
  local value
  if param.kind == "flag" then
    if text == "true" or text == true then return true end
    if text == "false" or text == false then return false end
  else
    value = list_of(param, text) or kinds[param.kind](text, param)
  end
  if value == nil then return nil, ("%s expected, got '%s'"):format(param.expected:gsub(",$", ""), tostring(text)) end
  return value
end

return parameter_types
