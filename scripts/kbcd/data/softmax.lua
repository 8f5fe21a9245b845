-- softmax(F): the probabilities exp f_c / Σ_c exp f_c of each row, n x k. softmax.log_sum(F): log Σ_c exp f_c, n x 1. Neither
-- overflows: the largest score of a row is taken out first.

local function exponentials(F)
  local largest = F:max(2)
  local E = F:clone():sub(largest):exp()
  return E, E:sum(2), largest
end

local function log_sum(F)
  local _, sums, largest = exponentials(F)
  return sums:log():add(largest)
end

return setmetatable({ log_sum = log_sum }, { __call = function(_, F)
  local E, sums = exponentials(F)
  return E:cdiv(sums)
end })
