-- newton: logistic regression on p Nyström centres J by Newton's method, after LogisticFalkon (Marteau-Ferey, Bach and Rudi
-- 2019). With K = K([n], J), M = K(J, J), ℓ the multinomial logistic loss (or another with second derivatives), and W its
-- second derivatives at every row, diag(p_i) − p_i p_iᵀ of the probabilities p_i,
--
--     min (1/n) Σ ℓ((Kα)_i, y_i) + λ⟨α, Mα⟩,     H D = Kᵀ (W (K D)) + 2nλ M D ≈ P = w (n/p) M² + 2nλ M
--
-- is solved by inner conjugate gradients, preconditioned as in falkon.lua, with w a typical diagonal entry of W: P has the
-- factors of falkon for 2λ/w. An epoch is a Newton step (newton_steps.lua).

local kbcd = require "kbcd"
local newton_steps = require "kbcd.solvers.newton_steps"
local falkon_factors = require "kbcd.solvers.falkon_factors"
local on_ranks = require "kbcd.solvers.on_ranks"

return kbcd.algorithm("newton", {
  "Newton: logistic regression on p of the rows as centres, by Newton's method",
  kernel = "kernel", p = kbcd.falkon.declared.p, b = false, epochs = 6,
  inner = { "count", "conjugate gradient iterations of a Newton step, at most", default = 20 },
}, function(X, Y, o, run)
  local lambda, p = o.lambda, o.p
  local model = run.kernel_model(o.kernel, run.centers(p, o.kernel), 8 * p ^ 2 * (3 + lambda.count / kbcd.size()))
  local K, w = model:matrix(o.keep), run.loss.curvature(lambda.k)
  local M = K:square():to("f64")
  M:add_diagonal((X.dtype == "f32" and 2 ^ -23 or 2 ^ -52) * math.sqrt(p) * M:trace() / p)   -- or rounding leaves ⟨α, Mα⟩ < 0
  local inverse = falkon_factors(M, X.n, X.dtype)                         -- of P / w
  local newton = newton_steps(run, {
    x = model.coefficients, Y = Y, inner = o.inner,
    times = function(D) return K * D end,
    t_times = function(A) return kbcd.allreduce(K:t() * A) end,
    metric = function(D) return M * D end,
    precondition = on_ranks(lambda, p, function(l) return inverse(2 * lambda[l] / w) end),
  })
  return {
    weights = false, targets = false, progress = newton.progress, fitted = newton.fitted,
    iterate = function(t)
      if t == 1 then newton.begin() end
      newton.step()
    end,
  }
end, { loss = "logistic", weights = false })
