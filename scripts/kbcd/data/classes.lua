-- Class numbers 1..k in place of labels, which are any whole numbers (or numbers that stand for names).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local classes = { most = 10000 }

runtime.docs.classes = [[classes
Class numbers 1..k in place of labels, which may be any whole numbers or stand for names.]]

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

runtime.docs["classes.whole"] = [[classes.whole(y)
Whether a DataSet holds one column of whole numbers, which can be labels of classes.]]
function classes.whole(y)
  local fraction = y.d == 1 and 0 or 1
  for i = 1, y.rows.nrows do
    if fraction == 1 then break end
    if y.rows(i, 1) % 1 ~= 0 then fraction = 1 end
  end
  return kbcd.allreduce_max(fraction) == 0
end

runtime.docs["classes.values"] = [[classes.values(y)
The different labels of a DataSet of one column, over all ranks, in ascending order; they are below 2^53.]]
function classes.values(y)
  local list = distinct(y.rows)
  local own = kbcd.Matrix.zeros(#list, 1)
  for i, value in ipairs(list) do own:set(i, 1, value) end
  local all = distinct(kbcd.gather(own))
  table.sort(all)
  if #all > 0 and math.max(-all[1], all[#all]) >= 2 ^ 53 then
    error(("y: a class is numbered %.17g, and numbers from 2^53 up are not exact; write classes as text, such as c123, or " ..
      "take the numbers for real targets: --task regress"):format(-all[1] > all[#all] and all[1] or all[#all]), 0)
  end
  return all
end

runtime.docs["classes.numbers"] = [[classes.numbers(y, values [, what])
y with each label replaced by its place 1..k in the list of values; a label that is not in the list is an error.]]
function classes.numbers(y, values, what)
  local place, rows = {}, kbcd.Matrix.zeros(y.rows.nrows, 1)
  for i, value in ipairs(values) do
    if value == value then place[value] = i end  -- NaN: a class that y does not have
  end
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

-- Names without the dot at their ends, where that alone makes all of them known (as in the test set of UCI's adult).
local function without_dots(names, known, what)
  local short, all_known = {}, true
  for i, name in ipairs(names or {}) do
    short[i] = name:gsub("%.$", "")
    if not known[name] then all_known = false end
    if not known[short[i]] then return names end
  end
  if all_known then return names end
  kbcd.say("%s: class names without the dot at their ends are those of the model ('%s' is '%s')", what or "y", names[1],
    short[1])
  return short
end

runtime.docs["classes.of_names"] = [[classes.of_names(y, y_names, names [, what])
Labels as places 1..k in a list of names. y_names: the names behind the labels 0, 1, … where the file had names; without
them a label is the number that a name spells.]]
function classes.of_names(y, y_names, names, what)
  local place, values = {}, {}
  for i, name in ipairs(names) do place[name] = i end
  y_names = without_dots(y_names, place, what)
  for i, name in ipairs(names) do values[i] = not y_names and tonumber(name) or 0 / 0 end
  for label, name in ipairs(y_names or {}) do
    if not place[name] then error(("%s: the class '%s' is none of the model's"):format(what or "y", name), 0) end
    values[place[name]] = label - 1
  end
  return classes.numbers(y, values, what)
end

return classes
