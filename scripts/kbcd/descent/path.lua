-- path{…}: the models of a λ path, f(x) = Σ_I block(x, I) rows(coefficients, I), which lie side by side, k columns each.
--
-- lambdas, k, d (columns of X), coefficients (every λ's α or w), count and b (the blocks I of 1..count to predict with),
-- block(X, I [, keep]) (the operator of a data set against those; `keep` as for KernelBlock), rows(C, I) (rows I of
-- coefficients, on every rank), fitted() (this rank's fitted values, where the algorithm has them), test (a DataSet whose
-- scores follow every step, or false) and options (the algorithm's, for how blocks are kept), centers (the Index of the rows
-- of X that the model stands on, where it does not stand on all), check ({ X, Y, exact, rows }, see precision_check.lua; rows
-- of a block, where fitted() is right for those of the last block alone).
--
-- model[l] is the model of λ_l: model[l]:predict(X) gives this rank's rows of its scores, model[l].lambda its λ, and
-- model[l].coefficients its α or w. model:predict(X) gives the scores of every λ as a list, from one pass over X;
-- model:fitted() the fitted values of the training rows, likewise. model.data has X and Y, what it was trained on, where it
-- was not read from a file.

local kbcd = require "kbcd"
local kept_blocks = require "kbcd.descent.kept_blocks"
local precision_check = require "kbcd.descent.precision_check"
local Matrix, Index = kbcd.Matrix, kbcd.Index

return function(p)
  local path = { lambdas = p.lambdas, centers = p.centers, data = p.check }
  if p.test and p.test.d ~= p.d then
    error(("option test: rows of %d numbers expected, as in X, got rows of %d"):format(p.d, p.test.d), 3)
  end
  local T = p.test and Matrix.zeros(p.test.local_n, p.coefficients.ncols) or nil
  path.followed = T  -- the scores of the test set, all λ side by side

  -- The columns of each λ.
  local function split(side_by_side)
    local list = {}
    for l = 1, #p.lambdas do list[l] = side_by_side:cols((l - 1) * p.k + 1, l * p.k) end
    return list
  end

  local function scores(X, coefficients)
    if kbcd.type(X) ~= "DataSet" or X.d ~= p.d then
      error(("predict: X: a DataSet of %d columns expected, got %s"):format(p.d, tostring(X)), 3)
    end
    local F = Matrix.zeros(X.local_n, coefficients.ncols)
    for _, I in ipairs(Index.range(1, p.count):partition(p.b)) do F:add(p.block(X, I, "none") * p.rows(coefficients, I)) end
    return F
  end

  for l, coefficients in ipairs(split(p.coefficients)) do
    path[l] = { lambda = p.lambdas[l], coefficients = coefficients }
    path[l].predict = function(_, X) return scores(X, coefficients) end
  end
  path.split = split
  function path.predict(_, X) return split(scores(X, p.coefficients)) end
  function path.fitted() return split(p.fitted()) end

  local followed = T and kept_blocks(p.options, function(block, keep)
    return p.block(p.test, block.I, keep or "none")
  end)

  -- After a step changed the rows block.I of the coefficients by Delta.
  function path.follow(block, Delta)
    if not T then return end
    T:add(followed.get(block) * Delta)
    followed.done(block)
  end
  function path.test_scores() return T and split(T) end

  -- At the end of a run, after the step of `block`: for each λ, how far f32 is from f64.
  function path.check_precision(owner, block)
    local c, o = p.check, p.options
    local f16 = o.cache == "f16" and o.partition == "fixed" and o.epochs > 1
    if not c or c.X.dtype == "f64" and not f16 then return nil end
    local few = math.min(64, c.X.n)
    return (precision_check{
      owner = owner, f16 = f16, X = c.X, Y = c.Y, lambdas = p.lambdas, k = p.k, count = p.count, b = p.b, exact = c.exact,
      rows = c.rows and c.rows(block) or Index.sample(c.X.n, few, { seed = o.seed, stream = 80 }),
      fitted = p.fitted, coefficients = p.coefficients, coefficient_rows = p.rows,
    })
  end
  return path
end
