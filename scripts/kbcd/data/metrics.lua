-- metrics: how good scores are, beyond their error. S is this rank's scores, a row each (n x k); y a DataSet of targets, or
-- of class numbers 1..k; P the probabilities of the classes, or nil; w weights of the rows (a DataSet of one column), or nil.
-- Means are over all rows, weighted by w.
--
--     R²         1 − Σ (y − f)² / Σ (y − mean y)²             of each target, and their mean
--     MAE        mean |y − f|
--     AUC        the share of pairs (a row of the class, another row) that the score of the class puts in the right order; of
--                equals, one half. Of two classes the score is s₂ − s₁; of more, the mean over the classes, each against the
--                rest, by P where there is one
--     F1         2 TP / (2 TP + FP + FN) of each class, and their mean (macro); of two classes also that of the second
--     log-loss   mean −log p of the row's class; p below 1e-15 counts as that
--     Brier      mean Σ_c (p_c − q_c)², q_c = 1 for the row's class and 0 elsewhere; of two classes half of it, (p − q)²
--     ECE        Σ_b n_b/n |accuracy − mean p| over 15 equal bins b of the largest probability p of a row: the expected
--                calibration error
--
-- What is not defined (R² of constant targets, AUC of a class that no row has) is nil, and left out of means. All ranks call
-- these functions and get the same result.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Matrix = kbcd.Matrix

local metrics = {}

runtime.docs.metrics = [[metrics
How good scores are: R2, MAE, AUC, F1, log-loss, Brier score, calibration. scripts/kbcd/data/metrics.lua has the formulas.]]

local bins = 15

local function weight(w, i) return w and w.rows(i, 1) or 1 end

-- Of those of list[1 … k] that are known.
local function mean(list, k)
  local sum, count = 0, 0
  for i = 1, k do if list[i] then sum, count = sum + list[i], count + 1 end end
  return count > 0 and sum / count or nil
end

-- Column sums of A (this rank's rows) over all rows, weighted.
local function sums(A, w)
  if A.nrows == 0 then return kbcd.allreduce(Matrix.zeros(1, A.ncols)) end
  return kbcd.allreduce((w and A:clone():cmul(w.rows) or A):sum(1))
end

runtime.docs["metrics.regression"] = [[metrics.regression(S, y [, w])
A table { rmse, mae, r2, targets }: targets is a list of { rmse, mae, r2 } for each column.]]
function metrics.regression(S, y, w)
  local Y, n, k = y.rows:to("f64"), kbcd.scoring.total(w, y), S.ncols
  local rmse, each = kbcd.scoring.rmse(S, y, w)
  local middle = sums(Y, w):scale(1 / n)
  local spread = sums(Y.nrows > 0 and Y:clone():sub(middle):square() or Y, w)
  local absolute = sums(Y.nrows > 0 and (S - Y):abs() or Y, w)
  local targets, r2 = {}, {}
  for j = 1, k do
    -- A spread of rounding alone is none.
    local constant = spread(1, j) <= n * (1e-14 * math.abs(middle(1, j))) ^ 2
    if not constant then r2[j] = 1 - n * each[j] ^ 2 / spread(1, j) end
    targets[j] = { rmse = each[j], mae = absolute(1, j) / n, r2 = r2[j] }
  end
  return { rmse = rmse, mae = absolute:sum() / (n * k), r2 = mean(r2, k), targets = targets }
end

-- The AUC of scores s (n x 1) for the rows of which is(i), all on this rank; nil if there are no such rows, or no others.
local function area(s, is, weight_of)
  local of, others, values = {}, {}, {}
  for i = 1, s.nrows do
    local value = s(i, 1)
    if not of[value] then of[value], others[value], values[#values + 1] = 0, 0, value end
    local to = is(i) and of or others
    to[value] = to[value] + weight_of(i)
  end
  table.sort(values)
  local below, right, all = 0, 0, 0  -- weights of others so far, of pairs in order, of rows of the class
  for _, value in ipairs(values) do
    right, all = right + of[value] * (below + others[value] / 2), all + of[value]
    below = below + others[value]
  end
  return all > 0 and below > 0 and right / (all * below) or nil
end

runtime.docs["metrics.auc"] = [[metrics.auc(S, y [, w])
The mean area under the ROC curve, and a list of that of each class against the rest (nil where there is no pair of rows). The
ranks share the classes.]]
function metrics.auc(S, y, w)
  local k, all = S.ncols, kbcd.gather(y.rows)
  local weights = w and kbcd.gather(w.rows)
  local found, list = Matrix.full(1, k, -1), {}
  for c = 1, k == 2 and 1 or k do
    local s = kbcd.gather(k == 2 and S:cols(2) - S:cols(1) or S:cols(c):clone())
    local positive = k == 2 and 2 or c
    if (c - 1) % kbcd.size() == kbcd.rank() then
      local function is_positive(i) return all(i, 1) == positive end
      local value = area(s, is_positive, function(i) return weights and weights(i, 1) or 1 end)
      found:set(1, c, value or -1)
      if k == 2 then found:set(1, 2, value or -1) end
    else
      found:cols(c):fill(0)
      if k == 2 then found:fill(0) end
    end
  end
  kbcd.allreduce(found)
  for c = 1, k do if found(1, c) >= 0 then list[c] = found(1, c) end end
  return mean(list, k), list
end

-- How many rows of class i have their largest score in class j, weighted.
local function confusion(S, y, w)
  local counts = Matrix.zeros(S.ncols, S.ncols)
  local best = S.nrows > 0 and S:argmax(2)
  for i = 1, S.nrows do
    local class, guess = y.rows(i, 1), best(i, 1)
    counts:set(class, guess, counts(class, guess) + weight(w, i))
  end
  return (kbcd.allreduce(counts))
end

-- Precision, recall and F1 of each class.
local function class_list(counts)
  local list = {}
  for c = 1, counts.nrows do
    local rows, guesses, right = counts:rows(c):sum(), counts:cols(c):sum(), counts(c, c)
    list[c] = { rows = rows, guesses = guesses, precision = guesses > 0 and right / guesses or nil,
      recall = rows > 0 and right / rows or nil, f1 = rows + guesses > 0 and 2 * right / (rows + guesses) or nil }
  end
  return list
end

runtime.docs["metrics.calibration"] = [[metrics.calibration(P, y [, w])
The expected calibration error of probabilities, and a list of the bins that have rows: { rows, confidence (the mean of the
largest probability), accuracy }.]]
function metrics.calibration(P, y, w)
  local counts = Matrix.zeros(3, bins)  -- rows, their sum of p, those that are right
  local best, largest = P.nrows > 0 and P:argmax(2), P.nrows > 0 and P:max(2)
  for i = 1, P.nrows do
    local p, v = largest(i, 1), weight(w, i)
    local b = math.min(bins, math.max(1, math.ceil(p * bins)))
    local right = best(i, 1) == y.rows(i, 1) and v or 0
    for row, value in ipairs{ v, v * p, right } do counts:set(row, b, counts(row, b) + value) end
  end
  kbcd.allreduce(counts)
  local list, off, n = {}, 0, kbcd.scoring.total(w, y)
  for b = 1, bins do
    local rows = counts(1, b)
    if rows > 0 then
      list[#list + 1] = { rows = rows, confidence = counts(2, b) / rows, accuracy = counts(3, b) / rows }
      off = off + math.abs(counts(2, b) - counts(3, b)) / n
    end
  end
  return off, list
end

runtime.docs["metrics.brier"] = [[metrics.brier(P, y [, w])
The mean of sum over c of (p_c - q_c)^2, q_c = 1 for the row's class and 0 elsewhere; of two classes, half of it.]]
function metrics.brier(P, y, w)
  local sum = 0
  for i = 1, P.nrows do
    local squares, class = 0, y.rows(i, 1)
    for c = 1, P.ncols do squares = squares + (P(i, c) - (c == class and 1 or 0)) ^ 2 end
    sum = sum + weight(w, i) * squares
  end
  return kbcd.allreduce(sum) / (kbcd.scoring.total(w, y) * (P.ncols == 2 and 2 or 1))
end

runtime.docs["metrics.classification"] = [[metrics.classification(S, y [, P, w])
A table { error, top5_error (of more than five classes), auc, f1, f1_macro, log_loss, brier, calibration_error, calibration
(the bins), classes, confusion (a Matrix) }; classes is a list of { rows, guesses, precision, recall, f1, auc }. f1 is that of
the second class of two. Those of probabilities are nil without P.]]
function metrics.classification(S, y, P, w)
  local k, counts = S.ncols, confusion(S, y, w)
  local m = { error = kbcd.scoring.wrong(S, y, 1, w), confusion = counts, classes = class_list(counts) }
  if k > 5 then m.top5_error = kbcd.scoring.wrong(S, y, 5, w) end
  local auc, areas = metrics.auc(k > 2 and P or S, y, w)
  local f1 = {}
  m.auc = auc
  for c, class in ipairs(m.classes) do class.auc, f1[c] = areas[c], class.f1 end
  m.f1_macro, m.f1 = mean(f1, k), k == 2 and m.classes[2].f1 or nil
  if not P then return m end
  m.log_loss, m.brier = kbcd.scoring.log_loss(P, y, w), metrics.brier(P, y, w)
  m.calibration_error, m.calibration = metrics.calibration(P, y, w)
  return m
end

-- "R2 0.9812, MAE 0.31": those of the names that are known, in this order.
local shown = {
  { "r2", "R2" }, { "mae", "MAE" }, { "auc", "AUC" }, { "f1", "F1" }, { "f1_macro", "macro F1" }, { "log_loss", "log-loss" },
  { "brier", "Brier score" }, { "calibration_error", "calibration error" },
}

runtime.docs["metrics.text"] = [[metrics.text(m)
A line of the metrics of a table that metrics.regression or metrics.classification gave.]]
function metrics.text(m)
  local texts = {}
  for _, entry in ipairs(shown) do
    local value = m[entry[1]]
    if value then texts[#texts + 1] = ("%s %.4g"):format(entry[2], value) end
  end
  return table.concat(texts, ", ")
end

return metrics
