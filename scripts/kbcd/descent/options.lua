-- options: what a function takes as a table of options, declared once and checked.
--
-- options.read(owner, given, schema) checks and completes a table; schema[name] = { check, default }, where a check returns
-- nil, or what it expected. An option without a default must be given; an unknown one is an error that lists the known
-- ones.
--
-- options.declared(owner, name, entry) makes such a { check, default, kind, about, choices } of what an algorithm declares:
--
--     kernel = "kernel"                            a kind of value (`kinds` below), which must be given
--     gamma = 0, exact = false                     a number, or true or false, which may be given
--     p = { "count", "centres", default = 100 }    a kind, what it is for, and a default, or a function(X, o) that gives it
--     form = { choices = { "half", "plain" } }     one of these, the first unless given

local runtime, sorted_keys = require "kbcd.runtime", require "kbcd.support.sorted_keys"

local function is_number(x) return type(x) == "number" and x == x and math.abs(x) < math.huge end

local options = { largest_lambda = 1e10 }  -- beyond it nλ leaves nothing of K, and a model is 0 to rounding

runtime.docs.options = [[options.read(owner, given, schema)
A table of options, checked and completed: schema[name] = { check, default }, check(value) gives nil or what it expected
(options.count, options.positive, options.one_of("a", "b"), options.maybe(check) and so on).]]

function options.count(x)
  return not (is_number(x) and x >= 1 and x % 1 == 0 and x < 2 ^ 53) and "a whole number from 1 up" or nil
end
function options.counts(x)
  local good = type(x) == "table" and #x > 0
  for _, count in pairs(good and x or {}) do good = good and options.count(count) == nil end
  return not good and "a list of whole numbers from 1 up" or nil
end
function options.whole(x) return not (is_number(x) and x >= 0 and x % 1 == 0) and "a whole number from 0 up" or nil end
options.seed = options.whole
function options.number(x) return not is_number(x) and "a number" or nil end
function options.positive(x) return not (is_number(x) and x > 0) and "a number > 0" or nil end
function options.not_negative(x) return not (is_number(x) and x >= 0) and "a number >= 0" or nil end
function options.text(x) return type(x) ~= "string" and "a text" or nil end
function options.flag(x) return type(x) ~= "boolean" and "true or false" or nil end
function options.data(x) return runtime.type(x) ~= "DataSet" and "a DataSet" or nil end
function options.matrix(x) return runtime.type(x) ~= "Matrix" and "a Matrix" or nil end
function options.index(x) return runtime.type(x) ~= "Index" and "an Index" or nil end
function options.kernel(x) return runtime.type(x) ~= "Kernel" and "a kernel such as kernel.rbf{sigma = 5}" or nil end
function options.map(x) return runtime.type(x) ~= "FeatureMap" and "a map such as features.fourier{…}" or nil end
function options.checkpoint(x) return not (type(x) == "table" and x.take_up) and "a checkpoint(path, …)" or nil end
function options.held_out(x)
  local good = type(x) == "table" and runtime.type(x.rows) == "DataSet" and type(x.loss) == "function" and
    type(x.score) == "function"
  return not good and "a table { rows = a DataSet, loss and score = functions }" or nil
end
function options.model(x) return not (type(x) == "table" and x.predict and x.lambdas) and "a Model" or nil end
options["function"] = function(x) return type(x) ~= "function" and "a function" or nil end

local kinds = {}
for _, name in ipairs{ "count", "counts", "whole", "seed", "number", "positive", "not_negative", "text", "flag", "data",
  "matrix", "index", "kernel", "map", "model", "function" } do kinds[name] = options[name] end

-- What `check` takes, or false: none.
function options.maybe(check) return function(x) return x and check(x) or nil end end

-- One λ > 0 or a list of them.
function options.lambda(x)
  local list, count = type(x) == "table" and x or { x }, 0
  for _, lambda in pairs(list) do
    if not (is_number(lambda) and lambda > 0 and lambda <= options.largest_lambda) then
      return ("numbers > 0 and at most %g"):format(options.largest_lambda)
    end
    count = count + 1
  end
  if count == 0 then return "at least one number > 0" end
  for i = 1, count do if list[i] == nil then return "a list without holes" end end
end
kinds.lambda = options.lambda

function options.one_of(...)
  local choices = { ... }
  return function(x)
    for _, choice in ipairs(choices) do if x == choice then return nil end end
    return "one of '" .. table.concat(choices, "', '") .. "'"
  end
end

local function show(x)
  return type(x) == "string" and "'" .. x .. "'" or type(x) == "number" and tostring(x) or runtime.type(x)
end

function options.declared(owner, name, entry)
  if type(entry) ~= "table" then entry = { entry } end
  local first, choices, default, kind = entry[1], entry.choices, entry.default, nil
  if choices then
    kind, first = "choice", default == nil and choices[1] or default
    default = first
  elseif type(first) == "string" then
    kind = first
  elseif type(first) == "number" or type(first) == "boolean" then
    kind, default = type(first) == "number" and "number" or "flag", first
  end
  if not choices and not kinds[kind] then
    error(("%s: option %s: a default, { choices = {…} } or one of the kinds %s expected, got %s"):format(owner, name,
      table.concat(sorted_keys(kinds), ", "), show(first)), 0)
  end
  if kind == "flag" and default == nil then default = false end
  local check = choices and options.one_of(unpack(choices)) or kinds[kind]
  if default == false and kind ~= "flag" then check = options.maybe(check) end
  return { check, default, kind = kind, choices = choices, about = entry[2] or entry.about or "" }
end

-- The options by name: those of `values`, and the defaults of the others, each computed when it is first asked for. A default
-- that is a function gets X and this table.
function options.completed(owner, schema, values, X)
  local defaults, pending = {}, {}
  return setmetatable({}, { __index = function(o, name)
    if values[name] ~= nil or not schema[name] then return values[name] end
    local default = schema[name][2]
    if defaults[name] == nil and X and type(default) == "function" and schema[name].kind ~= "function" then
      if pending[name] then error(("%s: the default of option %s depends on itself"):format(owner, name), 0) end
      pending[name] = true
      defaults[name] = default(X, o)
    elseif defaults[name] == nil then
      defaults[name] = default
    end
    return defaults[name]
  end })
end

-- aliases: { other spelling = name }.
function options.read(owner, given, schema, level, X, aliases)
  local known, o = sorted_keys(schema), {}
  level = level or 3
  if type(given) ~= "table" then error(("%s: a table of options expected, got %s"):format(owner, show(given)), level) end
  local values = {}
  for name, value in pairs(given) do
    local own = aliases and not schema[name] and aliases[name] or name
    if not schema[own] then
      error(("%s: unknown option '%s'; known: %s"):format(owner, tostring(name), table.concat(known, ", ")), level)
    end
    if own ~= name and given[own] ~= nil then
      error(("%s: options %s and %s are the same; give one"):format(owner, own, name), level)
    end
    values[own] = value
  end
  local completed, order = options.completed(owner, schema, values, X), {}
  for _, given_ones in ipairs{ true, false } do  -- first: defaults may depend on them
    for _, name in ipairs(known) do if (values[name] ~= nil) == given_ones then order[#order + 1] = name end end
  end
  for _, name in ipairs(order) do
    local value = completed[name]
    if value == nil then error(("%s: option %s is missing"):format(owner, name), level) end
    local expected = schema[name][1](value)
    if expected then
      error(("%s: option %s: %s expected, got %s%s"):format(owner, name, expected, show(value),
        values[name] == nil and ", its default" or ""), level)
    end
    o[name] = value
  end
  return o
end

return options
