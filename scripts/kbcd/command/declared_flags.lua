-- declared_flags{ family, declared, otherwise [, prefixed] }: the flags of a family of things that declare their parameters
-- (kernels, feature maps): --FAMILY NAME, and one flag for every parameter that one of them declares.
--
-- A parameter that several of them have is one flag. If the command already has a flag of that name, or with prefixed = true,
-- it is --FAMILY-PARAMETER.

local parameter_types = require "kbcd.command.parameter_types"

local function flag_of(key) return "--" .. key:gsub("_", "-") end

-- The parameters of all of them by name, each with its owners, in the order of their declarations.
local function merge(declared)
  local merged, order = {}, {}
  for _, one in ipairs(declared) do
    for _, param in ipairs(one.params) do
      if not merged[param.name] then
        merged[param.name] = { name = param.name, owners = {} }
        order[#order + 1] = merged[param.name]
      end
      table.insert(merged[param.name].owners, { name = one.name, param = param })
    end
  end
  return order
end

-- The first one that can read a value does; the one that is chosen checks it again.
local function converter(owners)
  return function(text)
    local value, message
    for _, owner in ipairs(owners) do
      value, message = parameter_types.read(owner.param, text)
      if value ~= nil then return value end
    end
    return nil, message
  end
end

-- "Smoothness (matern; 1.5 unless given).": each text once, with those that it is of.
local function help_of(owners)
  local texts, names = {}, {}
  for _, owner in ipairs(owners) do
    local default = owner.param.automatic or owner.param.default
    local key = owner.param.help .. "\0" .. (default == nil and "" or ("; %s unless given"):format(tostring(default)))
    if not names[key] then texts[#texts + 1], names[key] = key, {} end
    table.insert(names[key], owner.name)
  end
  for i, key in ipairs(texts) do
    local text, otherwise = key:match("^(.*)%z(.*)$")
    texts[i] = ("%s (%s%s)"):format(text, table.concat(names[key], ", "), otherwise)
  end
  return table.concat(texts, "; "):gsub("^%l", string.upper) .. "."
end

local function names_of(owners)
  local names = {}
  for i, owner in ipairs(owners) do names[i] = owner.name end
  return table.concat(names, ", ")
end

return function(family)
  local flags, by_name, params = {}, {}, merge(family.declared)
  local names = {}
  for i, one in ipairs(family.declared) do by_name[one.name], names[i] = one, one.name end
  for _, param in ipairs(params) do param.key = param.name end

  -- except: a set of names of parameters for which the command has flags of its own.
  function flags.add(parser, text, except)
    parser:option("--" .. family.family, ("%s%s."):format(text, family.prefixed and "" or (" (%s)"):format(family.otherwise)))
      :choices(names)
    for _, param in ipairs(params) do
      if not (except and except[param.name]) then
        param.key = (family.prefixed or parser:has(flag_of(param.name))) and family.family .. "_" .. param.name or param.name
        parser:option(flag_of(param.key), help_of(param.owners), nil, converter(param.owners))
      end
    end
  end

  -- The declaration of the one that the options name.
  function flags.chosen(o)
    local name = o[family.family] or family.otherwise
    return by_name[name] or error(("--%s: one of %s expected, got '%s'"):format(family.family, table.concat(names, ", "),
      tostring(name)), 0)
  end

  -- What is wrong with the options, or nil: a flag of another one, two that exclude each other, or a wrong value.
  function flags.fault(o)
    local chosen, own = flags.chosen(o), {}
    for _, param in ipairs(chosen.params) do own[param.name] = param end
    for _, param in ipairs(params) do
      local value, declared = o[param.key], own[param.name]
      if value ~= nil and not declared then
        return ("%s is for %s, not for %s"):format(flag_of(param.key), names_of(param.owners), chosen.name)
      end
      local good, message = true, nil
      if value ~= nil and type(value) ~= "table" then good, message = parameter_types.read(declared, value) end
      if good == nil then return ("%s: %s"):format(flag_of(param.key), message) end
      local other = value ~= nil and declared.instead_of
      if other and o[other] ~= nil then
        return ("%s is instead of %s; one of them expected"):format(flag_of(param.key), flag_of(other))
      end
    end
  end

  -- The values of the chosen one's own parameters that were given, by name.
  function flags.values(o)
    local fault = flags.fault(o)
    if fault then error(fault, 0) end
    local values = {}
    for _, param in ipairs(params) do values[param.name] = o[param.key] end
    return values
  end

  -- As if NAME and these parameters had been given.
  function flags.set(o, name, values)
    o[family.family] = name
    for _, param in ipairs(params) do o[param.key] = values[param.name] end
  end

  -- What was given, as a list of { flag, value }, to print a command line again.
  function flags.given(o)
    local list = {}
    local function add(key) if o[key] ~= nil then list[#list + 1] = { flag_of(key), o[key] } end end
    add(family.family)
    for _, param in ipairs(params) do add(param.key) end
    return list
  end

  return flags
end
