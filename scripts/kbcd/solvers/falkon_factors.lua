-- falkon_factors(M, n, dtype): falkon's preconditioner of p centres, M = K(J, J): a function of λ that gives P⁻¹A of
--
--     P = (n/p) M² + nλ M = n M (M/p + λ I)  ≈  KᵀK + nλ M.
--
-- Rounding leaves M short of positive by about 1e-7 p in f32: a multiple of I lifts it, and smaller λ share its factor, since
-- they are less than what is known of M.

local kbcd = require "kbcd"

return function(M, n, dtype)
  local p, least, factors = M.nrows, dtype == "f32" and 1e-6 or 1e-12, {}
  local function factor(lambda)
    local ridge = math.max(lambda, least) * p
    factors[ridge] = factors[ridge] or kbcd.chol(M:clone():add_diagonal(ridge), { jitter = true })
    return factors[ridge]
  end
  return function(lambda)
    local first, second = factor(0), factor(lambda)
    return function(A) return second:solve(first:solve(A)):scale(p / n) end
  end
end
