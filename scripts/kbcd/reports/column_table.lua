-- column_table: which columns a metric M = L Lᵀ counts most: the diagonal of M, relative to its largest entry, as bars.
--
--     column_table.list(L [, names])    the largest first: { name, weight }; weights from 0 to 1
--     column_table.text(L [, names])    lines for a terminal

local metric = require "kbcd.data.metric"

local column_table = {}

local most = 12  -- columns that are shown

function column_table.list(L, names)
  local weights, list = metric.diagonal(L), {}
  local largest = weights:max()
  for j = 1, weights.nrows do
    list[j] = { name = names and names[j] or tostring(j), weight = largest > 0 and weights(j, 1) / largest or 0, place = j }
  end
  table.sort(list, function(a, b)
    if a.weight ~= b.weight then return a.weight > b.weight end
    return a.place < b.place
  end)
  for i = #list, most + 1, -1 do list[i] = nil end
  for _, column in ipairs(list) do column.place = nil end
  return list
end

function column_table.text(L, names)
  local list, lines, longest = column_table.list(L, names), {}, 6
  for _, column in ipairs(list) do longest = math.max(longest, math.min(#column.name, 32)) end
  for i, column in ipairs(list) do
    lines[i] = ("  %s%s  %8.2g  %s"):format(column.name:sub(1, 32), (" "):rep(longest - #column.name), column.weight,
      ("#"):rep(math.floor(30 * column.weight + 0.5)))
  end
  local rest = L.nrows - #list
  if rest > 0 then lines[#lines + 1] = ("  and %d column%s that count%s less"):format(rest, rest == 1 and "" or "s",
    rest == 1 and "s" or "") end
  return "columns that count in the metric (its diagonal, relative to the largest):\n" .. table.concat(lines, "\n")
end

return column_table
