-- Model: a function of rows, or one for each λ of a path,
--
--     f(x) = K(x, centres) α     of a kernel, or     f(x) = z(x) w     of a feature map z,
--
-- whose coefficients are side by side, k columns for each λ. With a metric L (kbcd.data.metric) rows x become x L before, X
-- holds such rows, and d is the number of columns of x; with an offset, 1 x k, that is added to f. An algorithm
-- trains a model, a model file stores one, and a script can make one from its own coefficients.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local new_lambda = require "kbcd.descent.lambda"
local metric = require "kbcd.data.metric"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.Model = [[Model{ kernel, X, coefficients, … } or Model{ map, X, coefficients, … }
f(x) = K(x, X) A of a kernel, or f(x) = z(x) A of a feature map, for rows like those of the DataSet X. coefficients: of a
kernel, this rank's rows of X; with `centers`, an Index of rows of X, a row a centre, on every rank; of a map, all p rows on
every rank. lambda: a number or a list, for several models side by side (1 unless given). m[l] is the l-th model:
m[l]:predict(Z), m[l]:probabilities(Z), m[l].coefficients, m[l].lambda. Also m.lambdas (a list), m.kernel, m.map, m.centers,
m.count (of centres or features), m.loss, m.calibration. metric: a Matrix L, d x d' or d x 1 (help "metric"): X and the rows
to predict have d columns, and rows x become x L. A kernel with a width for each column is such a metric.]]
runtime.docs["Model:predict"] = [[Model:predict(Z)
This rank's rows of the scores of a DataSet: a list with a Matrix for each lambda. m[l]:predict(Z) is one of them.]]
runtime.docs["Model:fitted"] = [[Model:fitted()
The scores of the rows that it was trained on: a list with a Matrix for each lambda. An algorithm that keeps a residual
computes them without a pass over X.]]
runtime.docs["Model:save"] = [[Model:save(path [, options])
Writes a model file, which predict, evaluate and model_file.load read. All ranks call it. options: task ("regress" unless
given, or "classify"), names (of classes or targets), best (which lambda; 1 unless given), method, metrics, options.]]
runtime.docs["Model:probabilities"] = [[Model:probabilities(Z)
This rank's rows of the probabilities of the classes of a DataSet: a list with a Matrix for each lambda; m[l]:probabilities(Z)
is one of them. Of a logistic model they are the softmax of the scores; of another classifier softmax(a s + b), with the
numbers of m.calibration (help "calibration"), without which it is an error.]]
runtime.docs["Model:block"] = [[Model:block(I [, rows, keep])
The block of the training rows against the I-th centres or features (not rows of X, where the model has centres), K([n], I)
or Z([n], I), as the driver would make it: kept in memory as the options say, or as `keep` says ("exact", "f16", "none").
rows: an Index, only these rows.]]
runtime.docs["Model:matrix"] = [[Model:matrix([keep])
The kernel matrix of the training rows and the model's centres, a KernelMatrix; with the weights of the rows, if the run has
weights.]]
runtime.docs["Model:rows"] = [[Model:rows(I)
Rows I of the coefficients, on every rank. All ranks call it.]]

local methods = {}

-- The row numbers in X of centres I.
local function places(m, I) return m.centers and m.centers:take(I) or I end

-- √w of the centres I, where the rows of X have weights w: the model is that of √w_i K(x_i, x_j) √w_j.
local function column_scale(m, I)
  return m.scale and m.kernel and kbcd.allreduce(kbcd.Selector(m.X.n, places(m, I)):t() * m.scale) or nil
end

function methods.block(m, I, rows, keep)
  keep = keep or m.keep
  if m.map then return kbcd.RandomFeaturesBlock(m.X, I, m.map, { keep = keep, rows = rows, row_scale = m.scale }) end
  return kbcd.KernelBlock(m.X, places(m, I), m.kernel, { keep = keep, rows = rows, row_scale = m.scale,
    column_scale = column_scale(m, I) })
end

-- All blocks as one operator (help "KernelMatrix"), with the weights of the rows, if there are any.
function methods.matrix(m, keep)
  if m.map then error("Model:matrix: a model of a kernel expected", 2) end
  return kbcd.KernelMatrix(m.X, m.centers, m.kernel, { keep = keep, scale = m.scale })
end

-- Rows as the kernel or map takes them: in the metric.
function methods.prepared(m, Z) return m.metric and metric.apply(m.metric, Z) or Z end

-- The block of other rows Z, prepared.
function methods.block_of(m, Z, I, keep)
  if m.map then return kbcd.RandomFeaturesBlock(Z, I, m.map, { keep = keep }) end
  return kbcd.KernelBlock(Z, places(m, I), m.kernel, { centers = m.X, keep = keep, column_scale = column_scale(m, I) })
end

-- The same of rows in another precision than X.
function methods.exact_block_of(m, Z, I)
  if m.map then return kbcd.RandomFeaturesBlock(Z, I, m.map) end
  return kbcd.KernelBlock(Z, Index.range(1, #I), m.kernel, { centers = m.X:subset(places(m, I)):to(Z.dtype),
    column_scale = column_scale(m, I) })
end

-- K(J, J) of the centres, computed in f64 from rows of any precision, on every rank: positive definite to rounding in f64.
function methods.exact_square(m)
  local J = Index.range(1, m.count)
  local M = kbcd.gather(m:exact_block_of(m.X:subset(places(m, J)):to("f64"), J):dense())
  return m.scale and M:cmul(column_scale(m, J)) or M
end

function methods.rows(m, I, coefficients)
  local C = coefficients or m.coefficients
  return m.distributed and kbcd.allreduce(kbcd.Selector(m.count, I):t() * C) or C:take(I)
end

-- Adds Delta, which every rank has, to rows I of the coefficients.
function methods.add_rows(m, I, Delta)
  if m.distributed then m.coefficients:add(kbcd.Selector(m.count, I) * Delta) else m.coefficients:add_rows(I, Delta) end
end

-- f(Z) of prepared rows with these coefficients, by blocks of `block` (those of other rows unless given).
function methods.scores(m, Z, coefficients, block)
  local F = Matrix.zeros(Z.local_n, coefficients.ncols)
  for first = 1, m.offset and F.ncols or 0, m.lambda.k do F:cols(first, first + m.lambda.k - 1):add(m.offset) end
  for _, I in ipairs(Index.range(1, m.count):partition(m.b or math.min(2048, m.count))) do
    F:add((block or methods.block_of)(m, Z, I, "none") * m:rows(I, coefficients))
  end
  return F
end

local function require_rows(m, Z)
  if kbcd.type(Z) ~= "DataSet" or Z.d ~= m.d then
    error(("%spredict: a DataSet of %d columns expected, as the model was trained on, got %s"):format(
      m.path and m.path .. ": " or "", m.d, tostring(Z)), 3)
  end
end

function methods.predict(m, Z)
  require_rows(m, Z)
  return m.lambda:split(m:scores(m:prepared(Z), m.coefficients))
end

function methods.fitted(m) return m.lambda:split(m:scores(m.X, m.coefficients)) end

-- Why there are no probabilities, or nil.
local function no_probabilities(m)
  if m.loss and m.loss.probabilities or m.calibration then return nil end
  if m.task == "regress" or m.loss and m.loss.task == "regress" then
    return "a model of real targets has no probabilities; they are for classes"
  end
  return "the model has no probabilities: its scores are not calibrated; train it with rows held out (--hold-out 0.1), " ..
    "with --loss logistic, or in a script set model.calibration (help \"calibration\")"
end

function methods.has_probabilities(m) return no_probabilities(m) == nil end

-- Those of scores S of the l-th λ.
function methods.probabilities_of(m, l, S)
  local why = no_probabilities(m)
  if why then error((m.path and m.path .. ": " or "") .. why, 0) end
  if m.loss and m.loss.probabilities then return m.loss.probabilities(S) end
  return kbcd.calibration.apply(m.calibration:rows(l), S)
end

function methods.probabilities(m, Z)
  local list = {}
  for l, S in ipairs(m:predict(Z)) do list[l] = m:probabilities_of(l, S) end
  return list
end

-- Coefficients of the kernel itself, where the rows have weights: α_i = √w_i α̃_i.
function methods.unscaled(m, coefficients)
  if not m.scale or m.map then return coefficients end
  local scale = m.distributed and m.scale or column_scale(m, Index.range(1, m.count))
  return coefficients:clone():cmul(scale)  -- a column for all
end

function methods.save(m, path, about) kbcd.model_file.save(path, m, about or {}) end

local Model = {
  __index = methods,
  __tostring = function(m)
    return ("Model of %s, %d %s, %s"):format(tostring(m.map or m.kernel), m.count, m.map and "features" or "centres",
      tostring(m.lambda))
  end,
}

-- The l-th model of a path.
local function part(m, l)
  local coefficients, one = m.lambda:columns(m.coefficients, l), { lambda = m.lambda[l] }
  function one.predict(_, Z)
    require_rows(m, Z)
    return m:scores(m:prepared(Z), coefficients)
  end
  function one.probabilities(_, Z) return m:probabilities_of(l, one:predict(Z)) end
  if not m.scale then one.coefficients = coefficients end
  return setmetatable(one, { __index = function(_, key)
    return key == "coefficients" and m:unscaled(coefficients) or nil
  end })
end

local schema = {
  kernel = { options.maybe(options.kernel), false }, map = { options.maybe(options.map), false }, X = { options.data },
  centers = { options.maybe(options.index), false }, coefficients = { options.matrix }, lambda = { options.lambda, 1 },
  metric = { options.maybe(options.matrix), false },
}

return setmetatable({
  -- Without checks: m has kernel or map, X (in the metric), metric or nil, centers or nil, coefficients and lambda.
  new = function(m)
    m.form, m.lambdas, m.d = m.map and "features" or "kernel", m.lambda.values, m.metric and m.metric.nrows or m.X.d
    m.count = m.map and m.map.p or m.centers and #m.centers or m.X.n
    m.distributed = m.form == "kernel" and not m.centers
    for l = 1, m.lambda.count do m[l] = part(m, l) end
    return setmetatable(m, Model)
  end,
}, {
  __call = function(self, given)
    local o = options.read("Model", given, schema)
    if (o.kernel and true) == (o.map and true) then error("Model: a kernel or a map expected, and not both", 2) end
    o.kernel, o.map, o.centers = o.kernel or nil, o.map or nil, o.centers or nil
    o.X, o.metric = metric.taken("Model", o.X, o)
    local values = type(o.lambda) == "table" and { unpack(o.lambda) } or { o.lambda }
    if o.coefficients.ncols % #values ~= 0 then
      error(("Model: coefficients: columns for each of %d lambdas expected, got %d"):format(#values, o.coefficients.ncols), 2)
    end
    o.lambda = new_lambda(values, o.coefficients.ncols / #values)
    local m = self.new(o)
    local rows = m.distributed and m.X.local_n or m.count
    if m.coefficients.nrows ~= rows then
      error(("Model: coefficients: %d rows expected, got %d"):format(rows, m.coefficients.nrows), 2)
    end
    m.coefficients = m.coefficients:to("f64")
    return m
  end,
})
