-- Classes behind labels: any whole numbers (or numbers that stand for names), as class numbers 1..k.

local kbcd = require "kbcd"

local classes = { most = 10000 }

local function distinct(rows)
  local seen, list = {}, {}
  for i = 1, rows.nrows do
    local value = rows(i, 1)
    if not seen[value] then
      seen[value], list[#list + 1] = true, value
      if #list > classes.most then
        error(("y has more than %d different values: no labels of classes; --task regress fits real targets"):format(
          classes.most), 0)
      end
    end
  end
  return list
end

kbcd.system.docs["classes.whole"] = [[classes.whole(y)
Whether a DataSet holds one column of whole numbers, and so labels of classes.]]
function classes.whole(y)
  local fraction = y.d == 1 and 0 or 1
  for i = 1, y.rows.nrows do
    if fraction == 1 then break end
    if y.rows(i, 1) % 1 ~= 0 then fraction = 1 end
  end
  return kbcd.allreduce_max(fraction) == 0
end

kbcd.system.docs["classes.values"] = [[classes.values(y)
The different labels of a DataSet of one column, over all ranks, in ascending order.]]
function classes.values(y)
  local list = distinct(y.rows)
  local own = kbcd.Matrix.zeros(#list, 1)
  for i, value in ipairs(list) do own:set(i, 1, value) end
  local all = distinct(kbcd.gather(own))
  table.sort(all)
  return all
end

kbcd.system.docs["classes.numbers"] = [[classes.numbers(y, values [, what])
y with each label replaced by its place 1..k in the list of values; a label that is not in the list is an error.]]
function classes.numbers(y, values, what)
  local place, rows = {}, kbcd.Matrix.zeros(y.rows.nrows, 1)
  for i, value in ipairs(values) do place[value] = i end
  for i = 1, rows.nrows do
    local number = place[y.rows(i, 1)]
    if not number then
      error(("row %d of %s: the label %.14g is none of the %d classes"):format(y.first + i - 1, what or "y", y.rows(i, 1),
        #values), 0)
    end
    rows:set(i, 1, number)
  end
  return kbcd.DataSet.local_part(y.n, rows)
end

kbcd.system.docs["classes.values_of_names"] = [[classes.values_of_names(names)
The labels behind the names of a model's classes: numbers as they are; the place in the list where a name is no number.]]
function classes.values_of_names(names)
  local values = {}
  for i, name in ipairs(names) do values[i] = tonumber(name) or i end
  return values
end

return classes
