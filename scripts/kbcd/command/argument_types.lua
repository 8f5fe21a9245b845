-- Converters for the values of options (lua-argparse): each returns the value, or nil and what was expected.

local options = require "kbcd.descent.options"
local runtime = require "kbcd.runtime"

runtime.docs.argument_types = [[argument_types.NAME
Converters for the values of options of a command: number, positive, not_negative, count, seed, share; lists with commas
between: positives, counts, lambdas, columns, some_of(name, …). Each returns the value, or nil and what was expected.]]

local argument_types = {}

local function checked(expected, test)
  return function(text)
    local value = tonumber(text)
    if not value or value ~= value or math.abs(value) == math.huge or not test(value) then
      return nil, ("%s expected, got '%s'"):format(expected, text)
    end
    return value
  end
end

argument_types.number = checked("a number", function() return true end)
argument_types.positive = checked("a number > 0", function(x) return x > 0 end)
argument_types.not_negative = checked("a number >= 0", function(x) return x >= 0 end)
argument_types.count = checked("a whole number from 1 up", function(x) return x >= 1 and x % 1 == 0 and x < 2 ^ 53 end)
argument_types.seed = checked("a whole number from 0 up", function(x) return x >= 0 and x % 1 == 0 and x < 2 ^ 53 end)
argument_types.share = checked("a number from 0 to 0.9", function(x) return x >= 0 and x <= 0.9 end)

-- Values with commas between, as a list.
local function list_of(one)
  return function(text)
    local list = {}
    for part in (text .. ","):gmatch("(.-),") do
      local value, message = one(part)
      if not value then return nil, message .. " in '" .. text .. "'" end
      list[#list + 1] = value
    end
    return list
  end
end

argument_types.positives = list_of(argument_types.positive)
argument_types.lambdas = list_of(checked(("a number > 0 and at most %g"):format(options.largest_lambda),
  function(x) return x > 0 and x <= options.largest_lambda end))
argument_types.counts = list_of(argument_types.count)

-- Some of these names.
function argument_types.some_of(...)
  local names = { ... }
  return list_of(function(text)
    for _, name in ipairs(names) do if text == name then return name end end
    return nil, ("%s expected, got '%s'"):format(table.concat(names, ", "), text)
  end)
end

-- Columns, by number or by name (a name with a comma in it, by number), as a list.
argument_types.columns = list_of(function(text)
  if text == "" then return nil, "the name or number of a column expected, got ''" end
  return tonumber(text) or text
end)

return argument_types
