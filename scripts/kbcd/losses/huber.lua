-- huber: ℓ(f, y) = Σ r² where |r| ≤ δ, and δ (2|r| − δ) beyond, r = f − y: least squares that outliers do not lead away. It
-- is |f − y|² for large δ, so λ means the same as there. With c(r) = r clipped to [−δ, δ], the gradient is 2 c(r), and the
-- proximal operator o = v − 2t c((v − y) / (1 + 2t)).

return {
  about = "(f - y)^2 up to |f - y| = delta, and linear beyond: regression with outliers", task = "regress",
  params = { { name = "delta", kind = "positive", default = 1, expected = "a number > 0",
    help = "the |f - y| from which the loss is linear, in the units of y" } },
  make = function(params)
    local delta = params.delta
    local function clipped(R) return R:clamp(-delta, delta) end
    return {
      value = function(F, Y)
        local R = F - Y
        local C = clipped(R:clone())
        return 2 * R:dot(C) - C:norm() ^ 2
      end,
      gradient = function(F, Y) return clipped(F - Y):scale(2) end,
      prox = function(V, Y, t) return V - clipped((V - Y):scale(1 / (1 + 2 * t))):scale(2 * t) end,
      penalty = function() return 1 end,
      hessian = function(F, Y)
        local R = F - Y
        local W = 2 * (1 - (R - clipped(R:clone())):abs():sign())       -- 2 where |r| ≤ δ, 0 elsewhere
        return function(D) return D:clone():cmul(W) end
      end,
      curvature = function() return 2 end,
    }
  end,
}
