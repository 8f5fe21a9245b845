-- growing_factor(p [, epsilon]): the Cholesky factor L of a positive definite matrix H that gets more rows and columns, up to
-- p. The factor of fewer is the upper left block of that of more. Of the new rows and columns, number 2,
--
--     L₂₁ = (L₁₁⁻¹ H₁₂)ᵀ,     L₂₂ = chol(H₂₂ − L₂₁L₂₁ᵀ).
--
-- factor:add(C): C = (H₁₂; H₂₂), the new columns of H. factor:solve(B): H⁻¹B of the H so far. In f64, on this rank. The
-- factor is that of H + δI with δ of the size of rounding errors of H, ε tr(H), ε = 2⁻⁵² unless given: without it, rounding
-- may leave H₂₂ − L₂₁L₂₁ᵀ short of positive definite.

local kbcd = require "kbcd"

local GrowingFactor = {}
GrowingFactor.__index = GrowingFactor

function GrowingFactor:add(C)
  local q, size = self.size, C.nrows
  local S = C:rows(q + 1, size):clone()
  S:add_diagonal(self.epsilon * self.L.nrows / S.nrows * S:trace())
  if q > 0 then
    local L_21 = self.L:block(1, q, 1, q):trsolve(C:rows(1, q)):t()
    self.L:block(q + 1, size, 1, q):copy(L_21)
    S = S - L_21 * L_21:t()
  end
  self.L:block(q + 1, size, q + 1, size):copy(kbcd.chol(S, { jitter = true }).lower)
  self.size = size
end

function GrowingFactor:solve(B)
  local L = self.L:block(1, self.size, 1, self.size)
  return L:trsolve(L:trsolve(B), { transpose = true })
end

return function(p, epsilon)
  return setmetatable({ L = kbcd.Matrix.zeros(p, p), size = 0, epsilon = epsilon or 2 ^ -52 }, GrowingFactor)
end
