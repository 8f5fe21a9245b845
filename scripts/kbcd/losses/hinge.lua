-- hinge: ℓ(f, y) = Σ_c max(0, 1 − y_c f_c) with y_c = ±1: support vector machines, each class against all others. With
-- m = y v, the proximal operator moves a margin below 1 up by t, at most to 1: o = y min(m + t, max(m, 1)).

-- max(0, 1 − y f) of every element.
local function slack(F, Y) return (1 - F:clone():cmul(Y)):clamp(0, math.huge) end

return {
  about = "sum max(0, 1 - y_c f_c): support vector machines, each class against all", task = "classify", params = {},
  make = function()
    return {
      value = function(F, Y) return slack(F, Y):sum() end,
      gradient = function(F, Y) return slack(F, Y):sign():cmul(Y):scale(-1) end,
      prox = function(V, Y, t) return V + slack(V, Y):clamp(0, t):cmul(Y) end,
      penalty = function() return 0.1 end,
      fault = function(Y)
        if Y.nrows > 0 and Y.ncols > 0 and (Y:clone():abs():max() ~= 1 or Y:clone():abs():min() ~= 1) then
          return "targets 1 and -1 expected (labels.one_vs_all)"
        end
      end,
    }
  end,
}
