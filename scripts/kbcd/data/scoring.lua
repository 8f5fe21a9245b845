-- Measures of scores: shares of wrong classes, root mean squared errors, confusion. S is this rank's scores, a row each; y
-- is a DataSet of class numbers 1..k or of real targets. Means are over all rows, or weighted by w, a DataSet of one number a
-- row. All ranks call these functions and get the same result.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local scoring = {}

runtime.docs.scoring = [[scoring
Measures of scores: errors, confusion, the best of several. S is this rank's scores, a row each; y is a DataSet of class
numbers 1..k or of real targets. w: weights of the rows, a DataSet of one column, or nil. All ranks call these functions and
get the same result.]]

-- f(i, class of row i, class with the largest score) for this rank's rows.
local function each(S, y, f)
  if S.nrows == 0 then return end
  local best, rows = S:argmax(2), y.rows
  for i = 1, S.nrows do f(i, rows(i, 1), best(i, 1)) end
end

runtime.docs["scoring.require_finite"] = [[scoring.require_finite(S, first, what)
Fails with the row if a score is NaN or Inf. Row 1 of S is row `first` of `what`.]]
function scoring.require_finite(S, first, what)
  if S:finite() then return end
  for i = 1, S.nrows do
    for j = 1, S.ncols do
      local score = S(i, j)
      if score ~= score or math.abs(score) == math.huge then
        error(("row %d of %s: score %d is %g, no finite number: the row is too far from those that the model was trained " ..
          "on, or the model is of no use; scale the data, or use f64"):format(first + i - 1, what, j, score), 0)
      end
    end
  end
end

local function weight(w, i) return w and w.rows(i, 1) or 1 end

-- The sum of the weights of all rows: n without weights.
local function total(w, y) return w and kbcd.allreduce(w.local_n > 0 and w.rows:sum() or 0) or y.n end
scoring.total = total
runtime.docs["scoring.total"] = [[scoring.total(w, y)
The sum of the weights w of all rows of y; without weights, their number.]]

runtime.docs["scoring.wrong"] = [[scoring.wrong(S, y [, top, w])
The share of rows whose class number y is not among the `top` (1) largest scores.]]
function scoring.wrong(S, y, top, w)
  local wrong = 0
  each(S, y, function(i, class, best)
    local before = class == best and 0 or 1
    if before > 0 and (top or 1) > 1 then
      before = 0
      for j = 1, S.ncols do if S(i, j) > S(i, class) then before = before + 1 end end
    end
    if before >= (top or 1) then wrong = wrong + weight(w, i) end
  end)
  return kbcd.allreduce(wrong) / total(w, y)
end

runtime.docs["scoring.rmse"] = [[scoring.rmse(S, y [, w])
The root of the mean squared error over all rows and columns; and a list of those of each column.]]
function scoring.rmse(S, y, w)
  local difference = S.nrows > 0 and S - y.rows:to("f64") or kbcd.Matrix.zeros(0, S.ncols)
  local largest = kbcd.allreduce_max(S.nrows > 0 and difference:clone():abs():max() or 0)
  local unit = largest > 0 and (largest < 1e-140 or largest > 1e140) and largest or 1  -- squares overflow or vanish
  if unit ~= 1 then difference:apply(function(x) return x / unit end) end
  difference:square()
  if w and S.nrows > 0 then difference:cmul(w.rows) end
  local squares, rows = S.nrows > 0 and difference:sum(1) or kbcd.Matrix.zeros(1, S.ncols), total(w, y)
  kbcd.allreduce(squares)
  local columns = {}
  for j = 1, S.ncols do columns[j] = unit * math.sqrt(squares(1, j) / rows) end
  return unit * math.sqrt(squares:sum() / (rows * S.ncols)), columns
end

runtime.docs["scoring.confusion"] = [[scoring.confusion(S, y)
A k x k Matrix: how many rows of class i have their largest score in class j.]]
function scoring.confusion(S, y)
  local counts = kbcd.Matrix.zeros(S.ncols, S.ncols)
  each(S, y, function(_, class, best) counts:set(class, best, counts(class, best) + 1) end)
  return (kbcd.allreduce(counts))
end

runtime.docs["scoring.log_loss"] = [[scoring.log_loss(P, y [, w])
The mean of -log p of each row's class number y, of probabilities P (this rank's rows x k); p below 1e-15 counts as that.]]
function scoring.log_loss(P, y, w)
  local sum = 0
  each(P, y, function(i, class) sum = sum - weight(w, i) * math.log(math.max(P(i, class), 1e-15)) end)
  return kbcd.allreduce(sum) / total(w, y)
end

-- The sum of a loss over this rank's rows, weighted.
local function loss_sum(loss, S, Y, w)
  if not w then return loss.value(S, Y) end
  local sum = 0
  for i = 1, S.nrows do sum = sum + w.rows(i, 1) * loss.value(S:rows(i, i), Y:rows(i, i)) end
  return sum
end

runtime.docs["scoring.errors"] = [[scoring.errors(task, list, y, what [, loss, w])
For each Matrix of scores in a list (one for each λ): the share of wrong classes ("classify") or the root mean squared error
("regress"), with another loss than squared the mean of that loss. Scores that are not finite are an error, with their row of
`what`.]]
function scoring.errors(task, list, y, what, loss, w)
  local errors, squared = {}, not loss or loss.name == "squared"
  for l, S in ipairs(list) do
    scoring.require_finite(S, y.first, what)
    if task == "classify" then errors[l] = scoring.wrong(S, y, 1, w)
    elseif squared then errors[l] = (scoring.rmse(S, y, w))
    else errors[l] = kbcd.allreduce(loss_sum(loss, S, y.rows:to("f64"), w)) / total(w, y) end
  end
  return errors
end

runtime.docs["scoring.losses"] = [[scoring.losses(task, list, y [, w])
For each row of this rank and each Matrix of scores in a list: 1 where the class is wrong, else 0 ("classify"); or the
squared error, relative to the largest target ("regress"); times w / mean of w. A Matrix.]]
function scoring.losses(task, list, y, w)
  local losses = kbcd.Matrix.zeros(y.local_n, #list)
  local largest = kbcd.allreduce_max(y.local_n > 0 and y.rows:to("f64"):abs():max() or 0)
  for l, S in ipairs(list) do
    if task == "classify" then
      each(S, y, function(i, class, best) losses:set(i, l, class == best and 0 or 1) end)
    elseif S.nrows > 0 then
      losses:cols(l):copy((S - y.rows:to("f64")):scale(1 / math.max(largest, 1e-300)):square():sum(2))
    end
  end
  return w and losses:cmul(kbcd.row_weights.normalised(w)) or losses
end

runtime.docs["scoring.show"] = [[scoring.show(task, errors)
Errors as a text: per cent, or numbers.]]
function scoring.show(task, errors)
  local texts = {}
  for l, e in ipairs(errors) do texts[l] = task == "classify" and ("%.2f%%"):format(100 * e) or ("%.5g"):format(e) end
  return table.concat(texts, " ")
end

runtime.docs["scoring.best"] = [[scoring.best(errors)
The place of the smallest error, the first of equals.]]
function scoring.best(errors)
  local best = 1
  for l, e in ipairs(errors) do if e < errors[best] then best = l end end
  return best
end

return scoring
