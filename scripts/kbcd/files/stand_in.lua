-- stand_in(params): in place of a kernel or map that is written in Lua and whose code was not supplied, its name, p and
-- parameters as a text, for those who look at a model without using it (kbcd inspect).

local sorted_keys = require "kbcd.support.sorted_keys"

return function(params)
  local texts = {}
  for _, key in ipairs(sorted_keys(params)) do
    if key ~= "name" and key ~= "source" then texts[#texts + 1] = ("%s = %s"):format(key, tostring(params[key])) end
  end
  local text = ("%s{%s}, written in Lua"):format(tostring(params.name), table.concat(texts, ", "))
  return setmetatable({ name = params.name, p = params.p }, { __tostring = function() return text end })
end
