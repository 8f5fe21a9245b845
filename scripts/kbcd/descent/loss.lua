-- loss: the losses that the files of kbcd/losses declare (losses.lua says how), as objects.
--
--     loss.declared        a list of { name, about, task, params, new }, sorted; new(params) makes a loss
--     loss.read(value)     a loss, given as one or by its name; nil and what was expected for anything else

local runtime = require "kbcd.runtime"
local parameter_types = require "kbcd.command.parameter_types"

local Loss = {}

-- A number with as many digits as it has.
local function digits(x)
  local short = ("%.15g"):format(x)
  return tonumber(short) == x and short or ("%.17g"):format(x)
end

function Loss.__tostring(loss)
  local texts = {}
  for i, param in ipairs(loss.declared) do texts[i] = ("%s = %s"):format(param.name, digits(loss.params[param.name])) end
  return #texts == 0 and loss.name or ("%s{%s}"):format(loss.name, table.concat(texts, ", "))
end

local function maker(name, declared)
  return function(given)
    if given ~= nil and type(given) ~= "table" then
      error(("losses.%s: a table of parameters expected, got %s"):format(name, runtime.type(given)), 2)
    end
    local params, known = {}, {}
    for i, param in ipairs(declared.params) do
      known[i] = param.name
      local value = (given or {})[param.name]
      if value == nil then value = param.default end
      if type(value) ~= "number" or not parameter_types.read(param, value) then
        error(("losses.%s: %s: %s expected, got %s"):format(name, param.name, param.expected, tostring(value)), 2)
      end
      params[param.name] = value
    end
    for key in pairs(given or {}) do
      if params[key] == nil then
        error(("losses.%s: unknown parameter '%s'; known: %s"):format(name, tostring(key),
          #known > 0 and table.concat(known, ", ") or "none"), 2)
      end
    end
    local loss = declared.make(params)
    loss.name, loss.task, loss.params, loss.declared = name, declared.task, params, declared.params
    return setmetatable(loss, Loss)
  end
end

-- Those of the script path, by name.
local loss, by_name, names = { declared = {} }, {}, {}
for _, module in ipairs(runtime.library.modules()) do
  local name = module:match("^losses%.([%w_]+)$")
  if name and name ~= "losses" then
    local declared = require("kbcd.losses." .. name)
    by_name[name] = maker(name, declared)
    names[#names + 1] = name
    table.insert(loss.declared, { name = name, about = declared.about, task = declared.task, params = declared.params,
      new = by_name[name] })
  end
end

function loss.read(value)
  if type(value) == "string" and by_name[value] then return by_name[value]{} end
  if type(value) == "table" and getmetatable(value) == Loss then return value end
  return nil, ("a loss such as losses.huber{ delta = 1 }, or one of the names %s"):format(table.concat(names, ", "))
end

return loss
