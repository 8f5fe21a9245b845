-- feature_matrix(model, o): Z = z(X), n x p, of a run's model of random features, in blocks that are kept as the options say:
--
--     Z * D                this rank's rows of Z D
--     Z.t_times(A)         ZᵀA, on every rank
--     Z.sampled_gram(m)    (n/m) Z_SᵀZ_S of m rows S, drawn uniformly, plus what rounding in f32 leaves it short of positive

local kbcd = require "kbcd"
local Matrix, Index = kbcd.Matrix, kbcd.Index

return function(model, o)
  local X, p, blocks, Z = model.X, model.count, {}, {}
  for i, B in ipairs(Index.range(1, p):partition(2048)) do blocks[i] = { at = B, Z = model:block(B) } end

  function Z.t_times(A)
    local parts = {}
    for i, block in ipairs(blocks) do parts[i] = block.Z:t() * A end
    return kbcd.allreduce(Matrix.vcat(parts))
  end

  function Z.sampled_gram(m)
    if m > X.n then error(("sample = %d is larger than n = %d"):format(m, X.n), 0) end
    local Z_S = model:block(Index.range(1, p), Index.sample(X.n, m, { seed = o.seed, stream = 1 }))
    local G = kbcd.allreduce(Z_S:gram()):to("f64"):scale(X.n / m)
    Z_S:release()
    return G:add_diagonal(X.dtype == "f32" and 1e-7 * X.n or 0)
  end

  return setmetatable(Z, { __mul = function(_, D)
    local V = Matrix.zeros(X.local_n, D.ncols)
    for _, block in ipairs(blocks) do V:add(block.Z * D:take(block.at)) end
    return V
  end })
end
