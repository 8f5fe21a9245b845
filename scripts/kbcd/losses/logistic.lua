-- logistic: the multinomial logistic loss of k classes, with q = (y + 1) / 2 (1 for the row's class and 0 elsewhere),
--
--     ℓ(f, y) = log Σ_c exp f_c − qᵀf,     ∂ℓ/∂f = p − q,     W = diag(p) − p pᵀ,     p = softmax(f).
--
-- The proximal operator is a damped Newton iteration for every row at once: with A = diag(p) + I/t, the step
-- Δ = (A − p pᵀ)⁻¹ (q − p + (v − o)/t) has a closed form, and Δ / (1 + d/2), d = max Δ − min Δ, leads to the minimum from any
-- start, since the loss is self-concordant in the generalised sense (Sun and Tran-Dinh 2019).

local softmax = require "kbcd.data.softmax"

local most_steps, enough = 100, 1e-12

local function prox(V, Y, t, O)
  local Q = (Y + 1):scale(0.5)
  O = (O or V):clone()
  for _ = 1, V.nrows > 0 and most_steps or 0 do
    local P = softmax(O)
    local R = (V - O):scale(1 / t):add(Q):sub(P)
    local A = (P + 1 / t):pow(-1)
    local Step, B = R:cmul(A), P:clone():cmul(A)                        -- A⁻¹r and A⁻¹p
    local along = P:clone():cmul(Step):sum(2)
    Step:add(B:clone():cmul(along:cdiv(1 - P:cmul(B):sum(2))))          -- Sherman–Morrison
    local damping = (Step:max(2) + (-1 * Step):max(2)):scale(0.5):add(1)
    Step:cdiv(damping)
    O:add(Step)
    if Step:abs():max() <= enough * (1 + O:norm() / math.sqrt(O.nrows)) then break end
  end
  return O
end

return {
  about = "log sum exp(f_c) - f_y: multinomial logistic regression", task = "classify", params = {},
  make = function()
    return {
      value = function(F, Y) return softmax.log_sum(F):sum() - (F:dot(Y) + F:sum()) / 2 end,
      gradient = function(F, Y) return softmax(F):sub((Y + 1):scale(0.5)) end,
      prox = prox,
      penalty = function() return 0.03 end,
      hessian = function(F)
        local P = softmax(F)
        return function(D)
          local WD = P:clone():cmul(D)
          return WD:sub(P:clone():cmul(WD:sum(2)))
        end
      end,
      curvature = function(k) return (k - 1) / k ^ 2 end,
      probabilities = softmax,
      fault = function(Y)
        if Y.ncols < 2 then return "targets of at least two classes expected (labels.one_vs_all), got one column" end
        if Y.nrows == 0 then return nil end
        local off = (Y:sum(2):add(Y.ncols - 2)):abs():max()
        if Y:max() > 1 or Y:min() < -1 or off > 1e-9 then
          return "targets 1 for the row's class and -1 elsewhere expected (labels.one_vs_all)"
        end
      end,
    }
  end,
}
