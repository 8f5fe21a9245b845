-- falkon: Nyström's normal equations of p centres J by preconditioned conjugate gradients, after Rudi, Carratino and Rosasco
-- (2017), without a Gram. With K = K([n], J) and M = K(J, J),
--
--     H α = KᵀY,     H = KᵀK + nλ M ≈ P = (n/p) M² + nλ M = n M (M/p + λ I),
--
-- since KᵀK / n is about M² / p. The factors of P cost p³, where the Gram of all centres costs n p²; an iteration costs two
-- products with K, which is kept. Every column has a step length of its own:
--
--     a = ⟨R,Z⟩ / ⟨D,HD⟩,     α ← α + aD,     R ← R − aHD,     Z = P⁻¹R,     D ← Z + (⟨R,Z⟩ new / old) D

local kbcd = require "kbcd"
local Matrix, allreduce = kbcd.Matrix, kbcd.allreduce

return kbcd.algorithm("falkon", {
  "Falkon: kernel regression on p of the rows as centres, by preconditioned conjugate gradients",
  kernel = "kernel",
  p = { "count", "the number of centres", default = function(X) return math.min(8192, X.n) end },
  b = false, epochs = 20,
}, function(X, Y, o, run)
  local lambda, p, nl = o.lambda, o.p, X.n * o.lambda
  local J = run.centers(p, o.kernel)
  local model = run.kernel_model(o.kernel, J, 8 * p ^ 2 * (3 + lambda.count / kbcd.size()))   -- f(x) = K(x, J) α
  local alpha, K = model.coefficients, model:matrix(o.keep)
  local M = K:square():to("f64")
  local E = run.distributed("E", lambda:each(Y))                          -- Y − K α
  local R = run.replicated("R", Matrix.zeros(p, run.columns))
  local D = run.replicated("D", Matrix.zeros(p, run.columns))
  local rz = run.replicated("rz", Matrix.zeros(1, run.columns))

  -- M, and M/p + λI times p for each λ, each on one rank; rounding in f32 leaves M about 1e-7 p short of positive.
  local factors = {}
  for l = 1, lambda.count do
    if (l - 1) % kbcd.size() == kbcd.rank() then
      factors.M = factors.M or kbcd.chol(M:clone():add_diagonal(1e-6 * p))
      factors[l] = kbcd.chol(M:clone():add_diagonal(lambda[l] * p))
    end
  end
  local function precondition(A)                                          -- P⁻¹A
    local Z = Matrix.zeros(p, run.columns)
    for l = 1, lambda.count do
      local own, a = lambda:columns(Z, l), lambda:columns(A, l)
      if factors[l] then own:copy(factors[l]:solve(factors.M:solve(a)):scale(p / X.n)) end
    end
    return allreduce(Z)
  end
  local function ratio(a, b) return a:clone():cdiv(b:clone():clamp(1e-300, math.huge)) end
  local function restart()
    R:copy(allreduce(K:t() * E) - nl * (M * alpha))
    D:copy(precondition(R))
    rz:copy(R:dots(D))
  end

  return {
    residual = E, weights = true,
    iterate = function(t)
      if t == 1 then restart() end
      local V = K * D
      local Q = allreduce(K:t() * V) + nl * (M * D)
      local a = ratio(rz, D:dots(Q))
      alpha:add(D:clone():cmul(a))
      E:sub(V:cmul(a))
      R:sub(Q:cmul(a))
      local Z, before = precondition(R), rz:clone()
      rz:copy(R:dots(Z))
      D:cmul(ratio(rz, before)):add(Z)
    end,
    fitted = function(A) return lambda:each(Y) - A end,
    targets_changed = restart,
  }
end)
