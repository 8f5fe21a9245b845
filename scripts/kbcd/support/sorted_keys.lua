-- sorted_keys(t): the keys of a table in ascending order, since the order of pairs() differs from process to process.

return function(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end
