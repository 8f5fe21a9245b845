-- baseline: the error of a model that knows no columns: of real targets the RMSE of their mean, of classes the share of rows
-- that are not in the largest one.
--
--     baseline.error(task, y)                 of a DataSet of targets or class numbers
--     baseline.warning(task, error, y)        a text, if an error of these rows is no better; else nil. All ranks call it

local kbcd = require "kbcd"
local target_scale = require "kbcd.data.target_scale"

local baseline = {}

function baseline.error(task, y)
  if task == "regress" then
    local means = kbcd.Matrix.zeros(y.local_n, y.d)
    if y.local_n > 0 then means:add(target_scale.fit(y).shift) end
    return (kbcd.scoring.rmse(means, y))
  end
  local counts = {}
  for i = 1, y.rows.nrows do counts[y.rows(i, 1)] = (counts[y.rows(i, 1)] or 0) + 1 end
  local largest = 0
  for class = 1, kbcd.allreduce_max(y.rows.nrows > 0 and y.rows:max() or 1) do
    largest = math.max(largest, kbcd.allreduce(counts[class] or 0))
  end
  return 1 - largest / y.n
end

function baseline.warning(task, error, y)
  local plain = baseline.error(task, y)
  if y.n < 2 or plain == 0 or error < plain then return nil end
  return ("the model is no better than %s, whose error is %s: columns may have nothing to do with it, or rows are too few;" ..
    " try --standardize, --effort high, another --kernel, or more rows"):format(task == "regress" and
    "the mean of the targets" or "always the largest class", kbcd.scoring.show(task, { plain }))
end

return baseline
