-- falkon: Nyström's normal equations of p centres J by preconditioned conjugate gradients, after Rudi, Carratino and Rosasco
-- (2017), without a Gram. With K = K([n], J) and M = K(J, J),
--
--     H α = KᵀY,     H = KᵀK + nλ M ≈ P = (n/p) M² + nλ M = n M (M/p + λ I),
--
-- since KᵀK / n is about M² / p. The factors of P cost p³, where the Gram of all centres costs n p²; an iteration costs two
-- products with K, which is kept. Every column has step lengths of its own (help "conjugate_steps").

local kbcd = require "kbcd"
local falkon_factors = require "kbcd.solvers.falkon_factors"
local on_ranks = require "kbcd.solvers.on_ranks"
local allreduce = kbcd.allreduce

local function falkon(X, o, _, M)
  local inverse = falkon_factors(M, X.n, X.dtype)
  return function(l) return inverse(o.lambda[l]) end
end

-- preconditioner(X, o, K, M): that of falkon unless given (krill.lua); a function of l that gives P⁻¹A for the l-th λ.
local function setup(X, Y, o, run, preconditioner)
  local lambda, p, nl = o.lambda, o.p, X.n * o.lambda
  local J = run.centers(p, o.kernel)
  local model = run.kernel_model(o.kernel, J, 8 * p ^ 2 * (3 + lambda.count / kbcd.size()))   -- f(x) = K(x, J) α
  local alpha, K = model.coefficients, model:matrix(o.keep)
  local M = K:square():to("f64")
  local E = run.distributed("E", lambda:each(Y))                          -- Y − K α
  local precondition = on_ranks(lambda, p, (preconditioner or falkon)(X, o, K, M))   -- P⁻¹A
  local V                                                                 -- K D
  local function times(D)
    V = K * D
    return allreduce(K:t() * V) + nl * (M * D)
  end
  local cg = kbcd.conjugate_steps(run, { x = alpha, times = times, precondition = precondition })
  local function restart()
    cg.R:copy(allreduce(K:t() * E) - nl * (M * alpha))
    cg.restart()
  end

  return {
    residual = E, weights = true, targets_changed = restart,
    iterate = function(t)
      if t == 1 then restart() end
      local a = cg.step()
      E:sub(V:cmul(a))
    end,
    fitted = function(A) return lambda:each(Y) - A end,
  }
end

return kbcd.algorithm("falkon", {
  "Falkon: kernel regression on p of the rows as centres, by preconditioned conjugate gradients",
  kernel = "kernel",
  p = { "count", "the number of centres", default = function(X) return math.min(8192, X.n) end },
  b = false, epochs = 20,
}, setup, {
  least_squares = true,
  suits = function(case)
    return case.fits(case.n * 8192) and 2 or 0.5, "too many rows for the full kernel; columns of centres fit in memory"
  end,
})
