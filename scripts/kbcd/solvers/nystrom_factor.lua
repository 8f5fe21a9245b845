-- nystrom_factor(K_Omega, Omega, dtype, sum): the factor F of a random Nyström sketch of a positive semidefinite K, F Fᵀ ≈ K,
-- from KΩ and Ω (Frangella, Tropp and Udell 2023):
--
--     F = (KΩ + νΩ) C⁻ᵀ,     Ωᵀ(KΩ + νΩ) = C Cᵀ,
--
-- where ν lifts K above the rounding of products in dtype. KΩ is overwritten. sum: kbcd.allreduce where the matrices are this
-- rank's rows of distributed ones; then so is F.

local kbcd = require "kbcd"

return function(K_Omega, Omega, dtype, sum)
  sum = sum or function(...) return ... end
  local nu = (dtype == "f32" and 1e-6 or 1e-14) * math.sqrt(sum(K_Omega:norm() ^ 2) / sum(Omega:norm() ^ 2))
  K_Omega:add(Omega, nu)
  local C = kbcd.chol(sum(Omega:t() * K_Omega), { jitter = true }).lower
  return C:trsolve(K_Omega:t()):t():clone()
end
