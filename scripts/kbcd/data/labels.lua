-- Class labels: whole numbers 0..k−1 or 1..k in an n x 1 DataSet, and the one-vs-all targets Y(i, j) = 1 if y_i = j else
-- −1.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local labels = {}

runtime.docs.labels = [[labels
Class labels: whole numbers 0..k-1 or 1..k in a DataSet of one column, and their one-vs-all targets.]]

-- The rows of y, checked to be whole numbers; and their least and largest over all ranks.
local function read(owner, y)
  if kbcd.type(y) ~= "DataSet" or y.d ~= 1 then
    error(("%s: y: a DataSet of one column expected, got %s"):format(owner, tostring(y)), 4)
  end
  local rows, least, largest = y.rows, math.huge, -math.huge
  for i = 1, rows.nrows do
    local label = rows(i, 1)
    if label % 1 ~= 0 then
      error(("%s: row %d of y: a whole number expected as a label, got %g"):format(owner, y.first + i - 1, label), 4)
    end
    least, largest = math.min(least, label), math.max(largest, label)
  end
  return rows, kbcd.allreduce_min(least), kbcd.allreduce_max(largest)
end

-- Whether the labels of k classes count from 0 or from 1.
local function base(owner, y, k, least, largest, first)
  first = first or (least == 0 and 0) or (largest == k and 1)
  if not first then
    error(("%s: the labels run from %g to %g: say whether classes count from 0 or 1 with {first = …}"):format(
      owner, least, largest), 4)
  end
  if least < first or largest > first + k - 1 then
    local rows = y.rows
    for i = 1, rows.nrows do
      if rows(i, 1) < first or rows(i, 1) > first + k - 1 then
        error(("%s: row %d of y: a label in %d..%d expected, got %d"):format(
          owner, y.first + i - 1, first, first + k - 1, rows(i, 1)), 4)
      end
    end
    error(("%s: labels in %d..%d expected, they run from %g to %g"):format(owner, first, first + k - 1, least, largest), 4)
  end
  return first
end

local function checked(owner, given, known)
  local o = given or {}
  for name, value in pairs(o) do
    if type(name) ~= "string" or not (", " .. known .. ","):find(", " .. name .. ",", 1, true) then
      error(("%s: unknown option '%s'; known: %s"):format(owner, tostring(name), known), 3)
    end
    if type(value) ~= "number" or value % 1 ~= 0 or value < 0 then
      error(("%s: option %s: a whole number from 0 up expected, got %s"):format(owner, name, tostring(value)), 3)
    end
  end
  return o
end

runtime.docs["labels.one_vs_all"] = [[labels.one_vs_all(y [, options])
This rank's rows of the n x k targets, 1 for the row's class and -1 elsewhere. y is a DataSet of one column of whole numbers
counting from 0 or from 1. options: classes (k; the largest label unless given), first (0 or 1).]]
function labels.one_vs_all(y, given)
  local o = checked("one_vs_all", given, "classes, first")
  local rows, least, largest = read("one_vs_all", y)
  local first = o.first or (least == 0 and 0 or 1)
  local k = o.classes or largest - first + 1
  base("one_vs_all", y, k, least, largest, first)
  local Y = kbcd.Matrix.full(rows.nrows, k, -1)
  for i = 1, rows.nrows do Y:set(i, rows(i, 1) - first + 1, 1) end
  return Y
end

runtime.docs["labels.error_rate"] = [[labels.error_rate(model, X, y [, options])
The share of rows of X whose largest score is not that of their label, over all ranks. model: one with predict, or this
rank's scores as a Matrix. For the models of a λ path, a list of shares. options: first (0 or 1), as in one_vs_all.]]
function labels.error_rate(model, X, y, given)
  local o = checked("error_rate", given, "first")
  if kbcd.type(X) ~= "DataSet" or kbcd.type(y) ~= "DataSet" then
    error(("error_rate: X and y: two DataSets expected, got %s and %s"):format(kbcd.type(X), kbcd.type(y)), 2)
  end
  if X.n ~= y.n then error(("error_rate: X has %d rows, y has %d"):format(X.n, y.n), 2) end
  if kbcd.type(model) ~= "Matrix" and not (type(model) == "table" and model.predict) then
    error(("error_rate: a model or a Matrix of scores expected, got %s"):format(kbcd.type(model)), 2)
  end
  local scores = kbcd.type(model) == "Matrix" and model or model:predict(X)
  if kbcd.type(scores) == "Matrix" and scores.nrows ~= X.local_n then
    error(("error_rate: scores for this rank's %d rows of X expected, got %d"):format(X.local_n, scores.nrows), 2)
  end
  local rows, least, largest = read("error_rate", y)
  local function rate(S)
    kbcd.scoring.require_finite(S, X.first, "X")
    local first, best, wrong = base("error_rate", y, S.ncols, least, largest, o.first), S:argmax(2), 0
    for i = 1, rows.nrows do
      if best(i, 1) ~= rows(i, 1) - first + 1 then wrong = wrong + 1 end
    end
    return kbcd.allreduce(wrong) / y.n
  end
  if kbcd.type(scores) == "Matrix" then return rate(scores) end
  local rates = {}
  for l, S in ipairs(scores) do rates[l] = rate(S) end
  return rates
end

return labels
