-- growing_factor(p): the Cholesky factor L of a positive definite matrix H that gets more rows and columns, up to p. The
-- factor of fewer is the upper left block of that of more. Of the new rows and columns, number 2,
--
--     L₂₁ = (L₁₁⁻¹ H₁₂)ᵀ,     L₂₂ = chol(H₂₂ − L₂₁L₂₁ᵀ).
--
-- factor:add(C): C = (H₁₂; H₂₂), the new columns of H. factor:solve(B): H⁻¹B of the H so far. In f64, on this rank. Where
-- rounding leaves H₂₂ − L₂₁L₂₁ᵀ short of positive definite, a multiple of I is added to it, which grows from rounding errors
-- of H's diagonal, not from those of the difference, which may be tiny beside it.

local kbcd = require "kbcd"

local most = 1e-4  -- of the mean of H's diagonal: more is no rounding error

-- The factor of S, with as much of I added as it needs; size: of the numbers that S is a difference of.
local function lifted(S, size)
  local good, factor = pcall(kbcd.chol, S)
  local ridge = 2 ^ -52 * S.nrows * size
  while not good do
    good, factor = pcall(kbcd.chol, S:clone():add_diagonal(ridge))
    if not good and ridge > most * size then error(factor, 0) end
    ridge = 10 * ridge
  end
  return factor.lower
end

local GrowingFactor = {}
GrowingFactor.__index = GrowingFactor

function GrowingFactor:add(C)
  local q, size = self.size, C.nrows
  local S = C:rows(q + 1, size)
  local mean = S:trace() / S.nrows
  if q > 0 then
    local L_21 = self.L:block(1, q, 1, q):trsolve(C:rows(1, q)):t()
    self.L:block(q + 1, size, 1, q):copy(L_21)
    S = S - L_21 * L_21:t()
  end
  self.L:block(q + 1, size, q + 1, size):copy(lifted(S, mean))
  self.size = size
end

function GrowingFactor:solve(B)
  local L = self.L:block(1, self.size, 1, self.size)
  return L:trsolve(L:trsolve(B), { transpose = true })
end

return function(p) return setmetatable({ L = kbcd.Matrix.zeros(p, p), size = 0 }, GrowingFactor) end
