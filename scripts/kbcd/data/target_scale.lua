-- target_scale: real targets as a run is trained on them, t = (y − shift) · scale, mean 0 and variance 1 in each column, so
-- that λ means the same in all units; and back, y = shift + t / scale. With another loss than squared, whose parameters are
-- in the units of y, all columns have one scale s, a power of two: ℓ(y; δ) becomes ℓ(t; δ s).
--
--     units = target_scale.fit(y, loss [, weights])   of DataSets of targets and weights: { shift, scale, loss (that of t),
--                                           size (of y: an error of t, over all columns, times this is one of y) }
--     units.targets(y)                      this rank's rows of t
--     units.scores(list)                    scores of t, one Matrix for each λ, as scores of y
--     units.start(model)                    a model of y to start from becomes one of t
--     units.finish(model)                   a model of t becomes one of y, by its coefficients and its offset

local kbcd = require "kbcd"
local losses = require "kbcd.descent.loss"
local Matrix = kbcd.Matrix

local target_scale = {}

-- The loss of t for the loss of y, all columns times s.
local function loss_of(loss, s)
  if not loss.params.delta then return loss end
  for _, declared in ipairs(losses.declared) do
    if declared.name == loss.name then return declared.new{ delta = loss.params.delta * s } end
  end
end

-- The same factors for the columns of every λ.
local function each_lambda(A, factors, k)
  for first = 1, A.ncols, k do A:cols(first, first + k - 1):cmul(factors) end
end

-- Mean and 1 / deviation of each column, with weights of the rows.
local function weighted(y, weights)
  local W = weights.rows:to("f64")
  local total = kbcd.allreduce(W.nrows > 0 and W:sum() or 0)
  local function mean(A)
    local sum = Matrix.zeros(1, y.d)
    if A.nrows > 0 then sum:add(A:cmul(W):sum(1)) end
    return kbcd.allreduce(sum):scale(1 / total)
  end
  local rows = Matrix.zeros(y.local_n, y.d):copy(y.rows)
  local shift = mean(rows:clone())
  if rows.nrows > 0 then rows:sub(shift):square() end
  return shift, mean(rows):sqrt():apply(function(x) return x > 0 and 1 / x or 1 end)
end

function target_scale.fit(y, loss, weights)
  local shift, scale
  if weights then
    shift, scale = weighted(y, weights)
  else
    local fitted = kbcd.preprocess.fit("standardize", y)
    shift, scale = fitted.shift, fitted.scale
  end
  local units = { shift = shift, scale = scale, loss = loss }
  if loss and loss.name ~= "squared" then
    local s = 2 ^ math.floor(0.5 - math.log(scale:clone():pow(-1):sum() / scale.ncols) / math.log(2))
    scale:fill(s)
    units.loss = loss_of(loss, s)
  end
  local inverse = scale:clone():pow(-1)
  units.size = math.sqrt(inverse:clone():square():sum() / inverse.ncols)

  function units.targets(of)
    local T = Matrix.zeros(of.rows.nrows, of.rows.ncols):copy(of.rows)
    return T.nrows > 0 and T:sub(shift):cmul(scale) or T
  end

  function units.scores(list)
    local out = {}
    for l, S in ipairs(list) do out[l] = S.nrows > 0 and S:clone():cmul(inverse):add(shift) or S end
    return out
  end

  function units.start(model)
    if model.lambda.k ~= scale.ncols then return model end  -- the run refuses it
    each_lambda(model.coefficients, scale, model.lambda.k)
    return model
  end

  function units.finish(model)
    each_lambda(model.coefficients, inverse, model.lambda.k)
    model.offset = model.offset and model.offset:clone():cmul(inverse):add(shift) or shift:clone()
    model.loss = loss
  end

  return units
end

return target_scale
