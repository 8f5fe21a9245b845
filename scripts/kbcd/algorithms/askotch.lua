-- askotch: accelerated approximate block descent on A α = Y, A = K + nλI, after Rathore, Frangella, Yang, Dereziński and
-- Udell (2025). For a random block B of rows, with a random Nyström sketch F Fᵀ ≈ K_BB of rank r and least eigenvalue s_r,
--
--     P = F Fᵀ + (s_r + nλ) I,     η = 1 / λmax(P⁻¹ A_BB),     D = η P⁻¹ (A_B: z − Y_B),
--     α = z − D,     v ← β v + (1 − β) z − γ D,     z ← a v + (1 − a) α        (D in rows B, 0 elsewhere)
--
-- with β = 1 − √(μ/ν), γ = 1 / √(μν), a = 1 / (1 + γν), ν = n/b and μ = nλ, but μν ≤ 1: beyond that the theory has no γ.
-- No b³ is paid, so blocks can be large. P⁻¹ is applied through the Cholesky factor of FᵀF + (s_r + nλ) I in f64. Each λ has
-- its own P, η, μ and momentum. α, v and z are n x k, each rank holds its own rows.

local kbcd = require "kbcd"
local nystrom_factor = require "kbcd.solvers.nystrom_factor"
local Matrix, Selector, allreduce = kbcd.Matrix, kbcd.Selector, kbcd.allreduce

-- A function that gives η P⁻¹R of this ridge; x: where the power iteration for λmax begins.
local function scaled_inverse(K_BB, F, G, least, ridge, x)
  local rho = math.max(least, 0) + ridge
  local small = kbcd.chol(G:clone():add_diagonal(rho))
  local function inverse(R) return (R - F * small:solve(F:t() * R)):scale(1 / rho) end
  local largest = 1
  for _ = 1, 10 do
    local y = K_BB * x + ridge * x                               -- A_BB x
    local Py = inverse(y)
    largest = y:dot(Py) / x:dot(y)                               -- of P⁻¹ A_BB, in the scalar product of A_BB
    x = Py:scale(1 / Py:norm())
  end
  return function(R) return inverse(R):scale(1 / largest) end
end

return kbcd.algorithm("askotch", {
  "ASkotch: the exact kernel machine by accelerated block descent with sketched preconditioners",
  kernel = "kernel", partition = "regrouped", epochs = 20,
  b = function(X) return math.min(X.n, math.max(256, math.ceil(X.n / 100))) end,
  rank = { "count", "the rank of the sketch", default = function(X, o) return math.min(100, o.b or 256, X.n) end },
}, function(X, Y, o, run)
  local n, lambda, nl = X.n, o.lambda, X.n * o.lambda
  local alpha = run.kernel_model(o.kernel).coefficients
  if o.rank > o.b then error(("askotch: rank = %d is larger than b = %d"):format(o.rank, o.b), 0) end
  local v = run.distributed("v", Matrix.zeros(X.local_n, run.columns))
  local z = run.distributed("z", Matrix.zeros(X.local_n, run.columns))
  local nu = n / o.b
  local mu = lambda:row():scale(n):clamp(0, 1 / nu)              -- 1 x kL, as are the others
  local beta = mu:clone():scale(1 / nu):sqrt():scale(-1):add(1)
  local gamma = mu:clone():scale(nu):pow(-0.5)
  local a = gamma:clone():scale(nu):add(1):pow(-1)

  return {
    dense = true,
    step = function(B, K_b)
      if run.t == 1 then z:copy(alpha) v:copy(alpha) end         -- a start, if one was given
      local S_b = Selector(n, B)
      local D, z_b, Y_b = allreduce(K_b:t() * z, S_b:t() * z, S_b:t() * Y)
      D:add(nl * z_b):sub(lambda:each(Y_b))
      local K_BB, r = K_b:square():to("f64"), math.min(o.rank, #B)
      local random = Matrix.randn(#B, r + 1, { seed = o.seed, stream = 3 * 2 ^ 30 + run.t })
      local Omega = random:cols(1, r):qr()
      local F = nystrom_factor(K_BB * Omega, Omega, X.dtype)
      local G = F:gram()
      local least = G:eig()(1, 1)                                -- s_r
      for l, D_l in ipairs(lambda:split(D)) do
        D_l:copy(scaled_inverse(K_BB, F, G, least, nl[l], random:cols(r + 1))(D_l))
      end
      D = S_b * D
      alpha:copy(z):sub(D)
      v:sub(z):cmul(beta):add(z):sub(D:cmul(gamma))
      z:copy(alpha):add((v - alpha):cmul(a))
    end,
  }
end, { least_squares = true })
