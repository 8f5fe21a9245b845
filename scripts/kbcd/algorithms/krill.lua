-- krill: Nyström's normal equations of p centres J by conjugate gradients, after Díaz, Epperly, Frangella, Tropp and Webber
-- (2023). With K = K([n], J), M = K(J, J) and a sparse sign sketch Φ of 2p x n, eight entries ±1/√8 in a column,
--
--     H α = KᵀY,     H = KᵀK + nλ M ≈ P = (ΦK)ᵀ(ΦK) + nλ M + ε tr(KᵀK) I.
--
-- P is within a constant factor of H for any centres and any λ, so that an iteration leaves about 0.7 of the error or less.
-- falkon's P, which takes KᵀK for (n/p) M², can be far off, but is cheaper: this one costs 2 p³ for the Gram and p³ / 3 for
-- each λ. The iteration is that of falkon.lua.

local kbcd = require "kbcd"

local function sketched(X, o, K, M)
  local S = kbcd.allreduce(K:sketch(kbcd.sparse_sign(2 * o.p, X.n, { seed = o.seed })))
  local G = S:gram()
  S:release()
  G:add_diagonal(2 ^ -52 * G:trace())
  return function(l)
    local P = kbcd.chol(G:clone():add(M, X.n * o.lambda[l]), { jitter = true })
    return function(A) return P:solve(A) end
  end
end

return kbcd.algorithm("krill", {
  "KRILL: kernel regression on p of the rows as centres, by conjugate gradients preconditioned by a sketch",
  kernel = "kernel", b = false, epochs = 20, p = kbcd.falkon.declared.p,
}, function(X, Y, o, run) return kbcd.falkon.setup(X, Y, o, run, sketched) end, { least_squares = true })
