-- options(owner, given, schema): the table of options of an algorithm, checked and completed.
--
-- schema[name] = { check, default }; a check returns nil, or what it expected. An option without a default must be given.
-- An unknown option is an error that lists the known ones.

local runtime, sorted_keys = require "kbcd.runtime", require "kbcd.support.sorted_keys"

local function is_number(x) return type(x) == "number" and x == x and math.abs(x) < math.huge end

local options = { largest_lambda = 1e10 }  -- beyond it nλ leaves nothing of K, and a model is 0 to rounding

function options.count(x)
  return not (is_number(x) and x >= 1 and x % 1 == 0 and x < 2 ^ 53) and "a whole number from 1 up" or nil
end
function options.seed(x) return not (is_number(x) and x >= 0 and x % 1 == 0) and "a whole number from 0 up" or nil end
function options.not_negative(x) return not (is_number(x) and x >= 0) and "a number >= 0" or nil end
function options.data(x) return runtime.type(x) ~= "DataSet" and "a DataSet" or nil end
function options.checkpoint(x) return not (type(x) == "table" and x.take_up) and "a checkpoint(path, …)" or nil end
function options.flag(x) return type(x) ~= "boolean" and "true or false" or nil end
function options.kernel(x) return runtime.type(x) ~= "Kernel" and "a kernel such as kernel.rbf{sigma = 5}" or nil end
function options.map(x) return runtime.type(x) ~= "FeatureMap" and "a map such as features.fourier{…}" or nil end

-- What `check` takes, or false: none.
function options.maybe(check) return function(x) return x and check(x) or nil end end

-- One λ > 0 or a list of them.
function options.lambdas(x)
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

function options.read(owner, given, schema, level)
  local known, o = sorted_keys(schema), {}
  level = level or 3
  if type(given) ~= "table" then error(("%s: a table of options expected, got %s"):format(owner, show(given)), level) end
  for name in pairs(given) do
    if not schema[name] then
      error(("%s: unknown option '%s'; known: %s"):format(owner, tostring(name), table.concat(known, ", ")), level)
    end
  end
  for _, name in ipairs(known) do
    local check, default = schema[name][1], schema[name][2]
    local value = given[name]
    if value == nil then
      if default == nil then error(("%s: option %s is missing"):format(owner, name), level) end
      value = default
    end
    local expected = check(value)
    if expected then
      error(("%s: option %s: %s expected, got %s"):format(owner, name, expected, show(value)), level)
    end
    o[name] = value
  end
  if o.lambdas then o.lambdas = type(o.lambdas) == "table" and { unpack(o.lambdas) } or { o.lambdas } end
  return o
end

-- What every algorithm takes, and its own. Blocks are of `count` things, called `of` in messages.
function options.algorithm(owner, given, count, of, partition, own)
  local schema = {
    lambdas = { options.lambdas }, b = { options.count, math.min(2048, count) }, epochs = { options.count, 1 },
    tol = { options.not_negative, 0 }, jitter = { options.flag, false }, seed = { options.seed, runtime.seed() },
    partition = { options.one_of("fresh", "fixed"), partition }, cache = { options.one_of("f32", "f16", "none"), "f32" },
    test = { options.maybe(options.data), false }, checkpoint = { options.maybe(options.checkpoint), false },
  }
  for name, entry in pairs(own) do schema[name] = entry end
  local o = options.read(owner, given, schema, 4)
  if o.b > count then error(("%s: b = %d is larger than %s = %d"):format(owner, o.b, of, count), 3) end
  return o
end

return options
