-- features_cg: the problem of random_features as a whole, by preconditioned conjugate gradients. With Z = z(X), n x p,
--
--     H w = ZᵀY,     H = ZᵀZ + nλ I ≈ P = (n/m) Z_SᵀZ_S + nλ I,     S: m rows of X, drawn uniformly.
--
-- The factors of P cost m p² + p³/3, where the Gram of all rows costs n p²; an iteration costs two products with Z, which is
-- kept. Every column has a step length of its own (conjugate_steps).

local kbcd = require "kbcd"
local feature_matrix = require "kbcd.solvers.feature_matrix"
local on_ranks = require "kbcd.solvers.on_ranks"

return kbcd.algorithm("features_cg", {
  "random features by CG: regression on p random features of a kernel, by preconditioned conjugate gradients",
  map = "map",
  sample = { "count", "rows that the preconditioner is made of",
    default = function(X, o) return math.min(X.n, o.map and 2 * o.map.p or 8192) end },
  b = false, epochs = 20,
}, function(X, Y, o, run)
  local lambda, p, nl = o.lambda, o.map.p, X.n * o.lambda
  local model = run.feature_model(o.map, 8 * p ^ 2 * (3 + lambda.count / kbcd.size()))
  local w, Z = model.coefficients, feature_matrix(model, o)               -- f(x) = z(x)ᵀ w
  local E = run.distributed("E", lambda:each(Y))                          -- Y − Z w
  local V                                                                 -- Z D
  local function times(D)
    V = Z * D
    return Z.t_times(V) + nl * D
  end
  local gram = Z.sampled_gram(o.sample)
  local precondition = on_ranks(lambda, p, function(l)                    -- P⁻¹A
    local factor = kbcd.chol(gram:clone():add_diagonal(nl[l]))
    return function(A) return factor:solve(A) end
  end)
  local cg = kbcd.conjugate_steps(run, { x = w, times = times, precondition = precondition })
  local function restart()
    cg.R:copy(Z.t_times(E) - nl * w)
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
end, { least_squares = true })
