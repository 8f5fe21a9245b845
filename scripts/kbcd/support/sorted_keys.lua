-- sorted_keys(t): the keys of a table in ascending order, since the order of pairs() differs from process to process.

local runtime = require "kbcd.runtime"

runtime.docs.sorted_keys = [[sorted_keys(t)
The keys of a table in ascending order, a list. The order of pairs() differs from rank to rank; this one does not.]]

return function(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end
