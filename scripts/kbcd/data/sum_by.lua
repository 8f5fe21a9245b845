-- sum_by(numbers, S, count): rows of S that have the same number, summed over all ranks: row g of the result is
-- Σ S(i, :) over the rows i whose number is g. Scores of the frames of an utterance, say.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.sum_by = [[sum_by(numbers, S, count)
A Matrix of `count` rows on every rank: row g is the sum of those rows of S (this rank's scores, a row each) whose entry in
numbers, a DataSet of one column, is g. All ranks call it.]]

return function(numbers, S, count)
  local of, sums, first = numbers.rows, kbcd.Matrix.zeros(count, S.ncols), 1
  if of.nrows ~= S.nrows then error(("sum_by: %d numbers for %d rows"):format(of.nrows, S.nrows), 2) end
  for i = 1, of.nrows do  -- equal numbers mostly stand together: a run at a time
    if i == of.nrows or of(i + 1, 1) ~= of(i, 1) then
      local g = of(i, 1)
      if g % 1 ~= 0 or g < 1 or g > count then error(("sum_by: a number 1..%d expected, got %g"):format(count, g), 2) end
      sums:rows(g, g):add(S:rows(first, i):sum(1))
      first = i + 1
    end
  end
  return (kbcd.allreduce(sums))
end
