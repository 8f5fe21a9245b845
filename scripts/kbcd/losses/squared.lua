-- squared: ℓ(f, y) = |f − y|², of least squares. It is the loss of every method that is given no other, and needs no ADMM.

return {
  about = "|f - y|^2: least squares", task = "any", params = {},
  make = function()
    return {
      value = function(F, Y) return (F - Y):norm() ^ 2 end,
      gradient = function(F, Y) return 2 * (F - Y) end,
      prox = function(V, Y, t) return (V + (2 * t) * Y):scale(1 / (1 + 2 * t)) end,
      penalty = function() return 1 end,
      hessian = function() return function(D) return 2 * D end end,
      curvature = function() return 2 end,
    }
  end,
}
