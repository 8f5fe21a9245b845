-- quantile: ℓ(f, y) = Σ τ max(0, r) + (1 − τ) max(0, −r), r = y − f: the minimum is the τ-quantile of y given x, the median
-- for τ = 1/2. The proximal operator moves v towards y by at most τt from below and (1 − τ)t from above.

local kbcd = require "kbcd"

return {
  about = "tau max(0, y - f) + (1 - tau) max(0, f - y): the tau-quantile of y", task = "regress",
  params = { { name = "tau", kind = "fraction", default = 0.5, expected = "a number above 0 and below 1",
    help = "which quantile; 0.5 is the median" } },
  make = function(params)
    local tau = params.tau
    return {
      value = function(F, Y)
        local R = Y - F
        return (tau - 0.5) * R:sum() + 0.5 * R:abs():sum()
      end,
      gradient = function(F, Y) return (F - Y):sign():add(1 - 2 * tau):scale(0.5) end,
      prox = function(V, Y, t) return V + (Y - V):clamp(-(1 - tau) * t, tau * t) end,
      penalty = function(Y, n)                                          -- 1 / (2 |y − mean|), whatever the units of y are
        local mean = kbcd.allreduce(Y:sum()) / (n * Y.ncols)
        local spread = kbcd.allreduce((Y - mean):abs():sum()) / (n * Y.ncols)
        return 0.5 / math.max(spread, 1e-300)
      end,
    }
  end,
}
