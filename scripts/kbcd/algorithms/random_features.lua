-- random_features: the paper's Algorithm 3. Block coordinate descent on (ZᵀZ + nλI) w = ZᵀY with Z = z(X), n x p: for a
-- block I of features, with Z_b = Z([n], I),
--
--     solve (Z_bᵀZ_b + nλ I_b) Δ = Z_bᵀE − nλ w_b,     w_b ← w_b + Δ,     E ← E − Z_b Δ
--
-- where the residual E = Y − Z w is kept. w is p x k on every rank; E is n x k, each rank holds its own rows. With several
-- λ the models lie side by side and share every block and Gram.

local kbcd = require "kbcd"
local new_factors = require "kbcd.descent.factors"
local kept_blocks = require "kbcd.descent.kept_blocks"
local path = require "kbcd.descent.path"
local relative_norms = require "kbcd.descent.relative_norms"
local repeat_columns = require "kbcd.descent.repeat_columns"
local require_room = require "kbcd.descent.require_room"
local targets = require "kbcd.descent.targets"
local runtime = require "kbcd.runtime"
local options, steps = require "kbcd.descent.options", require "kbcd.descent.steps"
local Matrix = kbcd.Matrix

runtime.docs.random_features = [[random_features(X, Y, options)
An iterator of block steps of random feature regression (Algorithm 3). options: map (as from features.fourier{kernel, p});
lambdas (a number or a list); b = min(2048, p) (block size); epochs = 1; partition = "fixed" or "fresh"; cache = "f32", "f16"
or "none" (how the blocks of a fixed partition are kept from epoch to epoch); tol = 0;
jitter = false; seed (of the order of blocks; the features have the map's); test (a DataSet: step.test_scores follows every
block); checkpoint (help "checkpoint"). step.residual: |Y - Z w| / |Y|.]]

return function(X, Y, given)
  Y = targets("random_features", X, Y)
  local p = type(given) == "table" and kbcd.type(given.map) == "FeatureMap" and given.map.p or 1
  local o = options.algorithm("random_features", given, p, "p", "fixed", { map = { options.map } })
  local n, k, L = X.n, Y.ncols, #o.lambdas
  require_room("random_features", X, o, { columns = k * L, count = p, spread = 4, same = 3, systems = 1 })
  local w, E = Matrix.zeros(p, k * L), repeat_columns(Y, L)

  local function own(A, l) return A:cols((l - 1) * k + 1, l * k) end  -- the columns of λ_l

  local blocks = kept_blocks(o, function(block, keep)
    return kbcd.RandomFeaturesBlock(X, block.I, o.map, { keep = keep })
  end)
  local P  -- Z_bᵀE of the step at hand, where it came with the Gram
  local factors = new_factors{
    lambdas = o.lambdas, k = k, jitter = o.jitter, keep = o.partition == "fixed" and o.epochs > 1,
    ahead = blocks.ahead(X, o.b),
    begin = function(block, root, now)
      local Z_b = blocks.get(block)
      local G
      if now then G, P = Z_b:normal(E) else G = Z_b:gram() end
      local sum = kbcd.ireduce_symmetric(G, root)
      return function() sum:wait() return G end
    end,
    system = function(G, lambda) return G:to("f64"):add_diagonal(n * lambda) end,
  }

  local function update(block)
    local I, Z_b = block.I, blocks.get(block)
    factors.prepare(block)
    local right, w_b = kbcd.allreduce(P or Z_b:t() * E), w:take(I)
    P = nil
    for l, lambda in ipairs(o.lambdas) do own(right, l):add(own(w_b, l), -n * lambda) end
    local Delta = factors.solve(block, right)
    w:add_rows(I, Delta)
    E:sub(Z_b * Delta)
    blocks.done(block)
    return Delta, w_b, relative_norms(E, Y, L)
  end

  -- f(x) = z(x)ᵀ w
  return steps("random_features", o, p, update, path{
    lambdas = o.lambdas, k = k, d = X.d, coefficients = w, count = p, b = o.b, test = o.test,
    options = o,
    block = function(Z, I, keep) return kbcd.RandomFeaturesBlock(Z, I, o.map, { keep = keep }) end,
    rows = function(C, I) return C:take(I) end,
    fitted = function() return repeat_columns(Y, L):sub(E) end,
    check = { X = X, Y = Y, exact = function(Z, I) return kbcd.RandomFeaturesBlock(Z, I, o.map) end },
  }, { spread = { E = E }, same = { w = w } })
end
