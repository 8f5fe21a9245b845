-- nystrom: the paper's Algorithm 2, corrected. Block coordinate descent on the normal equations of p Nyström centres J,
-- (K_JᵀK_J + nλ K_JJ + nλγ I) α = K_JᵀY: for a block B of J, with K_b = K([n], J_B) and S_b the selector of its rows,
--
--     solve (K_bᵀK_b + nλ K_bb + nλγ I) Δ = K_bᵀE − nλγ α_b,     α_b ← α_b + Δ,     E ← E − (K_b + nλ S_b) Δ
--
-- where E = Y − (K_J + nλ S_J) α is kept. α is p x k on every rank; E is n x k, each rank holds its own rows. The Gram is in
-- f64: in f32 it costs accuracy.

local kbcd = require "kbcd"
local Selector = kbcd.Selector

return kbcd.algorithm("nystrom", {
  "Nyström: kernel regression on p of the rows as centres, by block descent (the paper's Algorithm 2)",
  kernel = "kernel",
  p = { "count", "the number of centres", default = function(X) return math.min(8192, X.n) end },
  gamma = { "not_negative", "the stabiliser", default = 0 },
}, function(X, Y, o, run)
  local n, lambda = X.n, o.lambda
  local nl, nlg = n * lambda, n * lambda * o.gamma
  local J = run.centers(o.p, o.kernel)
  local alpha = run.kernel_model(o.kernel, J).coefficients       -- f(x) = K(x, J) α
  local E = run.distributed("E", lambda:each(Y))

  local function gradient(B, P) return P - nlg * alpha:take(B) end

  return {
    residual = E, gradient = gradient,
    system = function(K_b) return K_b:gram "f64" + nl * K_b:square() + nlg end,
    step = function(B, K_b, solve, P)                            -- P = K_bᵀE
      local S_b = Selector(n, J:take(B))
      local Delta = solve(gradient(B, P))
      alpha:add_rows(B, Delta)
      E:sub(K_b * Delta):sub(S_b * (nl * Delta))
      return Delta
    end,
    fitted = function(R) return lambda:each(Y) - R - Selector(n, J) * (nl * alpha) end,
  }
end, { least_squares = true, suits = function() return 1, "too many rows to keep their kernel in memory" end })
