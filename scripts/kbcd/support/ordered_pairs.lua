-- ordered_pairs(t): Lua's pairs(t) in the same order in every process: numbers, then strings, each in ascending order, then
-- keys of other types, in Lua's order. With several ranks, it replaces pairs: otherwise a script that collects names by
-- pairs and makes a collective call for each would sum what does not belong together.
--
-- As with Lua's own, entries may be changed or cleared in the loop; new entries are not visited. (next(t) stays Lua's.)

local runtime = require "kbcd.runtime"
local next, rawget, sort, type = next, rawget, table.sort, type
local lua_pairs = pairs

-- The generator of pairs() with its state; bindings/glue/call_sites.cpp recognises a loop by it.
local function ordered_next(state)
  local keys, t = state.keys, state.t
  for i = state.at + 1, #keys do
    local value = rawget(t, keys[i])
    if value ~= nil then
      state.at = i
      return keys[i], value
    end
  end
  state.at = #keys
end
runtime.job.ordered_next = ordered_next

runtime.docs.ordered_pairs = [[ordered_pairs(t)
Lua's pairs(t), in the same order on every rank: numbers, then strings, each in ascending order, then the rest. With several
ranks, pairs is this.]]

return function(t)
  if type(t) ~= "table" then return lua_pairs(t) end
  local numbers, strings, others, in_order = {}, {}, {}, true
  for key in next, t do
    local kind = type(key)
    if kind == "number" then
      in_order = in_order and (#numbers == 0 or key > numbers[#numbers])
      numbers[#numbers + 1] = key
    elseif kind == "string" then
      strings[#strings + 1] = key
    else
      others[#others + 1] = key
    end
  end
  local count = #numbers + #strings + #others
  if count < 2 or in_order and count == #numbers then return lua_pairs(t) end  -- Lua's order is this one, and faster
  sort(numbers)
  sort(strings)
  local keys = numbers
  for _, key in ipairs(strings) do keys[#keys + 1] = key end
  for _, key in ipairs(others) do keys[#keys + 1] = key end
  return ordered_next, { keys = keys, t = t, at = 0 }, nil
end
