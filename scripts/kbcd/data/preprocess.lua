-- Preprocessing of rows that is fitted on the training data, stored with the model and applied to the rows to predict: x
-- becomes (x − shift) · scale, with a number for each column ("standardize", "standardize-numbers", "scale01"), or x / |x|
-- ("unit-norm"). It also records the random order of the training rows ("shuffle"), which does not affect predictions.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local streams = require "kbcd.support.streams"
local Matrix = kbcd.Matrix

local preprocess = { kinds = { "standardize", "standardize-numbers", "scale01", "unit-norm" } }

runtime.docs.preprocess = [[preprocess
Preprocessing that is fitted on the training rows, stored with the model and applied to the rows to predict.]]

-- f(a copy of the rows in f64, the rows) for pieces of this rank's rows.
local function pieces(X, f)
  local count, piece = X.local_n, 4096
  for first = 1, count, piece do
    local rows = X:part(first, math.min(first + piece - 1, count))
    f(kbcd.Matrix.zeros(rows.nrows, rows.ncols):copy(rows), rows)
  end
end

-- The largest and the smallest number of each column, over all ranks.
local function extremes(X)
  local high, low = Matrix.zeros(0, X.d), Matrix.zeros(0, X.d)
  pieces(X, function(rows)
    high = Matrix.vcat{ high, rows:max(1) }
    low = Matrix.vcat{ low, rows:scale(-1):max(1) }
  end)
  return kbcd.gather(high):max(1), kbcd.gather(low):max(1):scale(-1)
end

-- 1/width for each column, and 1 where a column is constant.
local function inverse(widths)
  local column = 0
  return widths:apply(function(x)
    column = column + 1
    if x == 0 then return 1 end
    if x == math.huge or 1 / x == math.huge then
      error(("preprocess.fit: column %d: a spread of %g has no inverse in f64; scale the column first"):format(column, x), 0)
    end
    return 1 / x
  end)
end

-- A power of two for each column that brings numbers whose squares would overflow or vanish near 1; 1 for others.
local function safe_units(high, low)
  local units, plain = Matrix.zeros(1, high.ncols), true
  for j = 1, high.ncols do
    local largest = math.max(math.abs(high(1, j)), math.abs(low(1, j)))
    local safe = largest == 0 or (largest > 1e-100 and largest < 1e100)
    local _, exponent = math.frexp(largest)
    units:set(1, j, safe and 1 or 2 ^ math.max(exponent, -1021))
    plain = plain and safe
  end
  return units, plain
end

local fit = {}

function fit.standardize(X)
  local high, low = extremes(X)
  local units, plain = safe_units(high, low)
  local function in_units(rows) return plain and rows or rows:cdiv(units) end
  local mean, variance = Matrix.zeros(1, X.d), Matrix.zeros(1, X.d)
  pieces(X, function(rows) mean:add(in_units(rows):sum(1)) end)
  kbcd.allreduce(mean)
  mean:scale(1 / X.n)
  pieces(X, function(rows) variance:add(in_units(rows):sub(mean):square():sum(1)) end)
  kbcd.allreduce(variance)
  local deviation = variance:scale(1 / X.n):sqrt():cmul(units)
  mean:cmul(units)
  for j = 1, X.d do
    if high(1, j) == low(1, j) then  -- rounding of the mean is not a spread
      mean:set(1, j, high(1, j))
      deviation:set(1, j, 0)
    end
  end
  return mean, inverse(deviation)
end

function fit.scale01(X)
  local high, low = extremes(X)
  return low, inverse(high - low)
end

-- Columns of two different values, as those of categories, become 0 and 1.
fit["standardize-numbers"] = function(X)
  local shift, scale = fit.standardize(X)
  local low, spans = fit.scale01(X)
  local others = Matrix.zeros(1, X.d)
  pieces(X, function(rows)  -- u² − u is 0 for 0 and 1 alone
    local u = rows:sub(low):cmul(spans)
    others:add(u:clone():square():sub(u):abs():sum(1))
  end)
  kbcd.allreduce(others)
  for j = 1, X.d do
    if others(1, j) < 1e-12 then
      shift:set(1, j, low(1, j))
      scale:set(1, j, spans(1, j))
    end
  end
  return shift, scale
end

fit["unit-norm"] = function() end

runtime.docs["preprocess.fit"] = [[preprocess.fit(kind, X)
What "standardize" (mean 0, variance 1), "standardize-numbers" (the same, but columns of two
different values become 0 and 1), "scale01" (from 0 to 1) or "unit-norm" needs to know of the rows of X, over all ranks;
constant columns are only shifted. A table { kind, shift, scale } for preprocess.apply and model files.]]
function preprocess.fit(kind, X)
  if not fit[kind] then
    error(("preprocess.fit: one of %s expected, got '%s'"):format(table.concat(preprocess.kinds, ", "), tostring(kind)), 2)
  end
  local shift, scale = fit[kind](X)
  return { kind = kind, shift = shift, scale = scale }
end

runtime.docs["preprocess.apply"] = [[preprocess.apply(p, X)
Changes the rows of X in place by the result of preprocess.fit, and returns X; rows that are kept as bytes become numbers.
Without p or p.kind, nothing changes. The arithmetic is f64; rows in f32 are rounded once, after it. Numbers that f32 does
not hold, such as 1e6 + 0.01, should be f64 before.]]
function preprocess.apply(p, X)
  if not p or not p.kind then return X end
  if p.shift and p.shift.ncols ~= X.d then
    error(("preprocess.apply: %d columns expected, got %d"):format(p.shift.ncols, X.d), 2)
  end
  if X.rows.nrows == 0 then return X end  -- (X.rows makes numbers of bytes)
  pieces(X, function(rows, own)
    if p.kind == "unit-norm" then
      -- The largest entry becomes 1 first, so that squares neither vanish nor overflow; rows of zeros stay.
      local function lengths(A) return A:apply(function(x) return x > 0 and x or 1 end) end
      rows:cdiv(lengths(rows:clone():abs():max(2)))
      rows:cdiv(lengths(rows:clone():square():sum(2):sqrt()))
    else
      rows:sub(p.shift):cmul(p.scale)
    end
    own:copy(rows)
  end)
  return X
end

runtime.docs["preprocess.order"] = [[preprocess.order(n, seed)
The order that `--shuffle` puts n training rows in: row i of the shuffled data is row order[i] of the files.]]
function preprocess.order(n, seed) return kbcd.Index.permutation(n, { seed = seed, stream = streams.shuffle }) end

return preprocess
