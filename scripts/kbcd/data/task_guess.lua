-- task_guess(y, names): "classify" or "regress", and why, where no --task says it. Names are classes; numbers with fractions,
-- or several columns, are targets. Whole numbers are classes if they have few different values, or if they count from 0 or 1
-- without a gap and every one of them is frequent, at least a tenth of n / k; else targets.

local kbcd = require "kbcd"

local few, most = 20, 1000  -- different values: surely classes; surely none

-- How often each value occurs, over all ranks: a list of { value, count }; nil if there are more than `most`.
local function counts_of(y)
  local own, count = {}, 0
  for i = 1, y.rows.nrows do
    local value = y.rows(i, 1)
    if not own[value] then count = count + 1 end
    if count <= most then own[value] = (own[value] or 0) + 1 end
  end
  if kbcd.allreduce_max(count) > most then return nil end
  local pairs_of = kbcd.Matrix.zeros(count, 2)
  for i, value in ipairs(kbcd.sorted_keys(own)) do
    pairs_of:set(i, 1, value)
    pairs_of:set(i, 2, own[value])
  end
  local all, by_value, list = kbcd.gather(pairs_of), {}, {}
  for i = 1, all.nrows do by_value[all(i, 1)] = (by_value[all(i, 1)] or 0) + all(i, 2) end
  for i, value in ipairs(kbcd.sorted_keys(by_value)) do list[i] = { value, by_value[value] } end
  return #list <= most and list or nil
end

-- Whether they count from 0 or 1 without a gap, and each is frequent.
local function are_numbers_of_classes(list, n)
  local first, last = list[1][1], list[#list][1]
  if first ~= 0 and first ~= 1 or last - first + 1 ~= #list then return false end
  for _, entry in ipairs(list) do if entry[2] * 10 * #list < n then return false end end
  return true
end

return function(y, names)
  if names then return "classify" end
  if not kbcd.classes.whole(y) then return "regress" end
  local list = counts_of(y)
  local classify = list and (#list <= few or are_numbers_of_classes(list, y.n))
  local text = "y holds %s different whole numbers, taken for %s; --task %s takes them for %s"
  return classify and "classify" or "regress", text:format(list and tostring(#list) or "more than " .. most,
    classify and "classes" or "real targets", classify and "regress" or "classify", classify and "real targets" or "classes")
end
