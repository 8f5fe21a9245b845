-- features_newton: logistic regression on p random features by Newton's method. With Z = z(X), n x p, ℓ the multinomial
-- logistic loss (or another with second derivatives), and W its second derivatives at every row,
--
--     min (1/n) Σ ℓ((Zw)_i, y_i) + λ‖w‖²,     H D = Zᵀ (W (Z D)) + 2nλ D ≈ P = c (n/m) Z_SᵀZ_S + 2nλ I
--
-- is solved by inner conjugate gradients, with P from m rows S, drawn uniformly, as in features_cg.lua, and c a typical
-- diagonal entry of W. An epoch is a Newton step (newton_steps.lua).

local kbcd = require "kbcd"
local feature_matrix = require "kbcd.solvers.feature_matrix"
local newton_steps = require "kbcd.solvers.newton_steps"
local on_ranks = require "kbcd.solvers.on_ranks"

return kbcd.algorithm("features_newton", {
  "random features by Newton: logistic regression on p random features of a kernel, by Newton's method",
  map = "map", b = false, epochs = 6, sample = kbcd.features_cg.declared.sample, inner = kbcd.newton.declared.inner,
}, function(X, Y, o, run)
  local lambda, p = o.lambda, o.map.p
  local model = run.feature_model(o.map, 8 * p ^ 2 * (3 + lambda.count / kbcd.size()))
  local Z, c = feature_matrix(model, o), run.loss.curvature(lambda.k)
  local gram = Z.sampled_gram(o.sample)
  local newton = newton_steps(run, {
    x = model.coefficients, Y = Y, inner = o.inner,
    times = function(D) return Z * D end,
    t_times = Z.t_times,
    metric = function(D) return D end,
    precondition = on_ranks(lambda, p, function(l)                        -- P / c
      local factor = kbcd.chol(gram:clone():add_diagonal(2 * X.n * lambda[l] / c))
      return function(A) return factor:solve(A) end
    end),
  })
  return {
    weights = false, targets = false, progress = newton.progress, fitted = newton.fitted,
    iterate = function(t)
      if t == 1 then newton.begin() end
      newton.step()
    end,
  }
end, { loss = "logistic", weights = false })
