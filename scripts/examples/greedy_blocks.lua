-- A variant of an algorithm, as a researcher writes it: block coordinate descent on random features that visits the block
-- with the largest gradient next (greedy, Gauss–Southwell) instead of a random one. Over the same primitives:
--
--     g_b = Z_bᵀE − nλ w_b for every b,     i = argmax ‖g_b‖,     solve (Z_iᵀZ_i + nλI) Δ = g_i

local kbcd = require "kbcd"
local Matrix, Index = kbcd.Matrix, kbcd.Index
kbcd.arguments("examples/greedy_blocks", "Random blocks against those with the largest gradient."):parse(arg)

local n, d, p, b, lambda = 2000, 10, 512, 64, 1e-6
local X = kbcd.DataSet.generate(n, d, function(first, last)
  return Matrix.randn(last - first + 1, d, { seed = 1, first_row = first })
end)
local Y = X.rows:cols(1):clone():sin():cmul(X.rows:cols(2):clone():cos())
local map = kbcd.features.fourier{ kernel = kbcd.kernel.rbf{ sigma = 2 }, p = p }
local blocks = Index.range(1, p):partition(b)

-- Every block, its factor and its place in w, kept: this example is small.
local Z, factor = {}, {}
for i, I in ipairs(blocks) do
  Z[i] = kbcd.RandomFeaturesBlock(X, I, map)
  factor[i] = kbcd.chol(kbcd.allreduce(Z[i]:gram()):to("f64"):add_diagonal(n * lambda))
end

local function descend(choose, updates)
  local w, E = Matrix.zeros(p, 1), Y:clone()
  for t = 1, updates do
    local i, g = choose(t, function(j) return kbcd.allreduce(Z[j]:t() * E):add(w:take(blocks[j]), -n * lambda) end)
    local Delta = factor[i]:solve(g)
    w:add_rows(blocks[i], Delta)
    E:sub(Z[i] * Delta)
  end
  return math.sqrt(kbcd.allreduce(E:norm() ^ 2) / n)
end

local function random(t, gradient)
  local i = Index.permutation(#blocks, { stream = math.ceil(t / #blocks) })[(t - 1) % #blocks + 1]
  return i, gradient(i)
end

local function greedy(_, gradient)
  local best, g = 0, nil
  for j = 1, #blocks do
    local candidate = gradient(j)
    if not g or candidate:norm() > g:norm() then best, g = j, candidate end
  end
  return best, g
end

kbcd.say("%8s %14s %14s", "updates", "random RMSE", "greedy RMSE")
for _, updates in ipairs{ 8, 16, 32, 64 } do
  kbcd.say("%8d %14.5f %14.5f", updates, descend(random, updates), descend(greedy, updates))
end
