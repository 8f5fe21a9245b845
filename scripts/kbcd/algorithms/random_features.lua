-- random_features: the paper's Algorithm 3. Block coordinate descent on (ZᵀZ + nλI) w = ZᵀY with Z = z(X), n x p: for a
-- block B of features, with Z_b = Z([n], B),
--
--     solve (Z_bᵀZ_b + nλ I) Δ = Z_bᵀE − nλ w_b,     w_b ← w_b + Δ,     E ← E − Z_b Δ
--
-- where the residual E = Y − Z w is kept. w is p x k on every rank; E is n x k, each rank holds its own rows.

local kbcd = require "kbcd"

return kbcd.algorithm("random_features", {
  "random features: regression on p random features of a kernel, by block descent (the paper's Algorithm 3)",
  map = "map",
}, function(X, Y, o, run)
  local lambda = o.lambda
  local nl = X.n * lambda
  local w = run.feature_model(o.map).coefficients                -- f(x) = z(x)ᵀ w
  local E = run.distributed("E", lambda:each(Y))

  local function gradient(B, P) return P - nl * w:take(B) end

  return {
    residual = E, gradient = gradient,
    system = function(Z_b) return Z_b:t() * Z_b + nl end,
    step = function(B, Z_b, solve, P)                            -- P = Z_bᵀE
      local Delta = solve(gradient(B, P))
      w:add_rows(B, Delta)
      E:sub(Z_b * Delta)
      return Delta
    end,
    fitted = function(R) return lambda:each(Y) - R end,
  }
end, { least_squares = true })
