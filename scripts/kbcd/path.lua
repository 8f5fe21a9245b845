-- path{…}: the models of a λ path, f(x) = Σ_I block(x, I) rows(coefficients, I), which lie side by side, k columns each.
--
-- lambdas, k, d (columns of X), coefficients (every λ's α or w), count and b (the blocks I of 1..count to predict with),
-- block(X, I [, keep]) (the operator of a data set against those; `keep` as for KernelBlock), rows(C, I) (rows I of
-- coefficients, on every rank), fitted() (this rank's fitted values, where the algorithm has them), test (a DataSet whose
-- scores follow every step, or false) and options (the algorithm's, for how blocks are kept), centers (the Index of the rows
-- of X that the model stands on, where it does not stand on all).
--
-- model[l] is the model of λ_l: model[l]:predict(X) gives this rank's rows of its scores, model[l].lambda its λ, and
-- model[l].coefficients its α or w. model:predict(X) gives the scores of every λ as a list, from one pass over X;
-- model:fitted() the fitted values of the training rows, likewise.

local kbcd = require "kbcd"
local Matrix, Index = kbcd.Matrix, kbcd.Index

return function(p)
  local path = { lambdas = p.lambdas, centers = p.centers }
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
    for _, I in ipairs(Index.range(1, p.count):partition(p.b)) do F:add(p.block(X, I) * p.rows(coefficients, I)) end
    return F
  end

  for l, coefficients in ipairs(split(p.coefficients)) do
    path[l] = { lambda = p.lambdas[l], coefficients = coefficients }
    path[l].predict = function(_, X) return scores(X, coefficients) end
  end
  path.split = split
  function path.predict(_, X) return split(scores(X, p.coefficients)) end
  function path.fitted() return split(p.fitted()) end

  local followed = T and kbcd.kept_blocks(p.options, function(block, keep) return p.block(p.test, block.I, keep) end)

  -- After a step changed the rows block.I of the coefficients by Delta.
  function path.follow(block, Delta)
    if not T then return end
    T:add(followed.get(block) * Delta)
    followed.done(block)
  end
  function path.test_scores() return T and split(T) end
  return path
end
