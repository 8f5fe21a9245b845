-- Preprocessing of rows that is fitted on the training data, stored with the model and applied to the rows to predict: x
-- becomes (x − shift) · scale, with a number for each column ("standardize", "scale01"), or x / |x| ("unit-norm"). It also
-- records the random order of the training rows ("shuffle"), which does not affect predictions.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local streams = require "kbcd.support.streams"
local Matrix = kbcd.Matrix

local preprocess = { kinds = { "standardize", "scale01", "unit-norm" } }

runtime.docs.preprocess = [[preprocess
Preprocessing that is fitted on the training rows, stored with the model and applied to the rows to predict.]]

-- f(rows in f64) for pieces of this rank's rows.
local function pieces(X, f)
  local count, piece = X.rows.nrows, 4096
  for first = 1, count, piece do f(X.rows:rows(first, math.min(first + piece - 1, count)):to("f64")) end
end

-- 1/x, and 1 where a column is constant.
local function inverse(widths)
  return widths:apply(function(x) return x > 0 and 1 / x or 1 end)
end

local fit = {}

function fit.standardize(X)
  local mean, variance = Matrix.zeros(1, X.d), Matrix.zeros(1, X.d)
  pieces(X, function(rows) mean:add(rows:sum(1)) end)
  kbcd.allreduce(mean)
  mean:scale(1 / X.n)
  pieces(X, function(rows) variance:add(rows:sub(mean):square():sum(1)) end)
  kbcd.allreduce(variance)
  return mean, inverse(variance:scale(1 / X.n):sqrt())
end

function fit.scale01(X)
  local high, low = Matrix.zeros(0, X.d), Matrix.zeros(0, X.d)
  pieces(X, function(rows)
    high = Matrix.vcat{ high, rows:max(1) }
    low = Matrix.vcat{ low, rows:scale(-1):max(1) }
  end)
  high, low = kbcd.gather(high):max(1), kbcd.gather(low):max(1):scale(-1)
  return low, inverse(high - low)
end

fit["unit-norm"] = function() end

runtime.docs["preprocess.fit"] = [[preprocess.fit(kind, X)
What "standardize" (mean 0, variance 1), "scale01" (from 0 to 1) or "unit-norm" needs to know of the rows of X, over all
ranks; constant columns are only shifted. A table { kind, shift, scale } for preprocess.apply and model files.]]
function preprocess.fit(kind, X)
  if not fit[kind] then
    error(("preprocess.fit: one of %s expected, got '%s'"):format(table.concat(preprocess.kinds, ", "), tostring(kind)), 2)
  end
  local shift, scale = fit[kind](X)
  return { kind = kind, shift = shift, scale = scale }
end

runtime.docs["preprocess.apply"] = [[preprocess.apply(p, X)
Changes the rows of X in place by the result of preprocess.fit, and returns X. Without p or p.kind, nothing changes.]]
function preprocess.apply(p, X)
  if not p or not p.kind then return X end
  if p.shift and p.shift.ncols ~= X.d then
    error(("preprocess.apply: %d columns expected, got %d"):format(p.shift.ncols, X.d), 2)
  end
  local rows = X.rows
  if rows.nrows == 0 then return X end
  if p.kind == "unit-norm" then
    local norms = rows:to("f64"):square():sum(2):sqrt()
    rows:cmul(inverse(norms):to(rows.dtype))
  else
    rows:sub(p.shift:to(rows.dtype)):cmul(p.scale:to(rows.dtype))
  end
  return X
end

runtime.docs["preprocess.order"] = [[preprocess.order(n, seed)
The order that `--shuffle` puts n training rows in: row i of the shuffled data is row order[i] of the files.]]
function preprocess.order(n, seed) return kbcd.Index.permutation(n, { seed = seed, stream = streams.shuffle }) end

return preprocess
