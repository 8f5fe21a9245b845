-- eigenpro: EigenPro 2 (Ma and Belkin 2019), gradient steps on batches of rows, preconditioned by the top eigenvectors of a
-- sample; here with a ridge. With A = K + nλI, a sample S of s rows, and the q largest eigenpairs (σ_i, e_i) of K_SS / s,
-- E = [e_1 … e_q] / √s, a step on a batch B of b rows is
--
--     g = A_B: α − Y_B,     α_B ← α_B − ηg,     α_S ← α_S + ηE diag(d_i / σ_i) Eᵀ K_SB g,
--     d_i = 1 − ((σ_{q+1} + λ) / (σ_i + λ))^0.95,     η = 2 / (β + max(β, (b − 1)(σ_{q+1} + λ))),     β = max A_ii.
--
-- The published method is λ = 0. The ridge follows with A in place of K: its eigenvalues are n(σ + λ), its eigenvectors those
-- of K, and g is 0 for every batch at (K + nλI)⁻¹Y, which is therefore where the steps lead. Each λ has its own d and η. A
-- step costs b columns of K and solves no system, but at small λ many epochs are needed.

local kbcd = require "kbcd"
local Matrix, Index, Selector, allreduce = kbcd.Matrix, kbcd.Index, kbcd.Selector, kbcd.allreduce

return kbcd.algorithm("eigenpro", {
  "EigenPro: the exact kernel machine by gradient steps on batches, preconditioned by top eigenvectors (EigenPro 2)",
  kernel = "kernel", partition = "regrouped", epochs = 20, b = function(X) return math.min(1024, X.n) end,
  s = { "count", "rows of the sample", default = function(X) return math.min(2000, X.n) end },
  q = { "count", "eigenvectors", default = function(_, o) return math.min(160, o.s) end },
}, function(X, Y, o, run)
  local n, lambda, nl, s, q = X.n, o.lambda, X.n * o.lambda, o.s, o.q
  if s > n then error(("eigenpro: s = %d is larger than n = %d"):format(s, n), 0) end
  if q > s then error(("eigenpro: q = %d is larger than s = %d"):format(q, s), 0) end
  local model = run.kernel_model(o.kernel, nil, 8 * 4 * s ^ 2)
  local alpha = model.coefficients
  local S = Index.sample(n, s, { seed = o.seed, stream = 1 })
  local S_S = Selector(n, S)
  local sigma, E = model:block(S):square():to("f64"):scale(1 / s):eig{ top = math.min(q + 1, s) }
  sigma:clamp((X.dtype == "f32" and 1e-7 or 1e-14) * sigma(1, 1), math.huge)    -- rounding leaves no less
  E = E:cols(1, q):scale(s ^ -0.5)
  local diagonal = model:matrix("none"):diagonal()
  local largest = kbcd.allreduce_max(diagonal.nrows > 0 and diagonal:max() or 0)
  local tail, eta, d = sigma(sigma.nrows, 1), Matrix.zeros(1, run.columns), Matrix.zeros(q, run.columns)
  for l = 1, lambda.count do
    local beta, least = largest + nl[l], tail + lambda[l]
    lambda:columns(eta, l):fill(2 / (beta + math.max(beta, (o.b - 1) * least)))
    for i = 1, q do
      lambda:columns(d, l):rows(i):fill((1 - (least / (sigma(i, 1) + lambda[l])) ^ 0.95) / sigma(i, 1))
    end
  end

  return {
    dense = true,
    step = function(B, K_b)
      local S_b = Selector(n, B)
      local g, alpha_b, Y_b = allreduce(K_b:t() * alpha, S_b:t() * alpha, S_b:t() * Y)
      g:add(nl * alpha_b):sub(lambda:each(Y_b)):cmul(eta)                       -- η g
      alpha:sub(S_b * g)
      local K_SB = (o.partition == "regrouped" and model:block(B) or K_b):rows(S)
      alpha:add(S_S * (E * (E:t() * (K_SB * g)):cmul(d)))
    end,
  }
end, { least_squares = true })
