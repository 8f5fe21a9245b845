-- features_cg: the problem of random_features as a whole, by preconditioned conjugate gradients. With Z = z(X), n x p,
--
--     H w = ZᵀY,     H = ZᵀZ + nλ I ≈ P = (n/m) Z_SᵀZ_S + nλ I,     S: m rows of X, drawn uniformly.
--
-- The factors of P cost m p² + p³/3, where the Gram of all rows costs n p²; an iteration costs two products with Z, which is
-- kept. Every column has a step length of its own (conjugate_steps).

local kbcd = require "kbcd"
local Matrix, Index, allreduce = kbcd.Matrix, kbcd.Index, kbcd.allreduce

return kbcd.algorithm("features_cg", {
  "random features by CG: regression on p random features of a kernel, by preconditioned conjugate gradients",
  map = "map",
  sample = { "count", "rows that the preconditioner is made of",
    default = function(X, o) return math.min(X.n, o.map and 2 * o.map.p or 8192) end },
  b = false, epochs = 20,
}, function(X, Y, o, run)
  local lambda, p, n, m, nl = o.lambda, o.map.p, X.n, o.sample, X.n * o.lambda
  if m > n then error(("features_cg: sample = %d is larger than n = %d"):format(m, n), 0) end
  local model = run.feature_model(o.map, 8 * p ^ 2 * (3 + lambda.count / kbcd.size()))
  local w, blocks = model.coefficients, {}                                -- f(x) = z(x)ᵀ w
  for i, B in ipairs(Index.range(1, p):partition(2048)) do blocks[i] = { at = B, Z = model:block(B) } end
  local E = run.distributed("E", lambda:each(Y))                          -- Y − Z w
  local function t_times(A)                                               -- ZᵀA
    local parts = {}
    for i, block in ipairs(blocks) do parts[i] = block.Z:t() * A end
    return allreduce(Matrix.vcat(parts))
  end
  local V = Matrix.zeros(X.local_n, run.columns)                          -- Z D
  local function times(D)
    V:fill(0)
    for _, block in ipairs(blocks) do V:add(block.Z * D:take(block.at)) end
    return t_times(V) + nl * D
  end

  -- P of each λ, on one rank; rounding in f32 leaves the Gram about 1e-7 n short of positive.
  local factors, Z_S = {}, model:block(Index.range(1, p), Index.sample(n, m, { seed = o.seed, stream = 1 }))
  local gram = allreduce(Z_S:gram()):to("f64"):scale(n / m)
  Z_S:release()
  for l = kbcd.rank() + 1, lambda.count, kbcd.size() do
    factors[l] = kbcd.chol(gram:clone():add_diagonal(nl[l] + (X.dtype == "f32" and 1e-7 * n or 0)))
  end
  local function precondition(A)                                          -- P⁻¹A
    local C = Matrix.zeros(p, run.columns)
    for l, factor in pairs(factors) do lambda:columns(C, l):copy(factor:solve(lambda:columns(A, l))) end
    return allreduce(C)
  end
  local cg = kbcd.conjugate_steps(run, { x = w, times = times, precondition = precondition })
  local function restart()
    cg.R:copy(t_times(E) - nl * w)
    cg.restart()
  end

  return {
    residual = E, weights = true, targets_changed = restart,
    iterate = function(t)
      if t == 1 then restart() end
      local a = cg.step()
      E:sub(V:cmul(a))
    end,
    fitted = function(A) return lambda:each(Y) - A end,
  }
end, { least_squares = true })
