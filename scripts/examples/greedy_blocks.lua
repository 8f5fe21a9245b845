-- How the blocks are chosen, as a hook of the shipped methods: random features that visit the blocks in random order, that
-- with the largest gradient next (greedy, Gauss–Southwell), and blocks of features drawn in proportion to their gradients.

local kbcd = require "kbcd"
local Matrix, Index = kbcd.Matrix, kbcd.Index
kbcd.arguments("examples/greedy_blocks", "Random blocks, greedy ones and weighted ones."):parse(arg)

local n, d, p, b = 2000, 10, 512, 64
local X = kbcd.DataSet.generate(n, d, function(first, last)
  return Matrix.randn(last - first + 1, d, { seed = 1, first_row = first })
end)
local Y = X.rows:cols(1):clone():sin():cmul(X.rows:cols(2):clone():cos())
local map = kbcd.features.fourier{ kernel = kbcd.kernel.rbf{ sigma = 2 }, p = p }

-- The block with the largest gradient.
local function greedy(c)
  local best, size = 1, -1
  for i = 1, c.steps do
    local norm = c:gradient(i):norm()
    if norm > size then best, size = i, norm end
  end
  return best
end

-- b features, each with a probability in proportion to its own gradient.
local function weighted(c)
  local weights = Matrix.zeros(p, 1)
  for i, I in ipairs(c.blocks) do weights:add_rows(I, c:gradient(i):square():add(1e-12)) end
  return Index.weighted(weights, b, { stream = (c.epoch - 1) * c.steps + c.step })
end

-- The errors after each epoch.
local function errors(choose)
  local list = {}
  for step in kbcd.random_features(X, Y, { map = map, lambda = 1e-6, b = b, epochs = 8, choose = choose }) do
    if step.epoch_end then list[step.epoch] = step.residual[1] * math.sqrt(kbcd.allreduce(Y:norm() ^ 2) / n) end
  end
  return list
end

local random, largest, drawn = errors(nil), errors(greedy), errors(weighted)
kbcd.say("%8s %14s %14s %14s", "updates", "random RMSE", "greedy RMSE", "weighted RMSE")
for _, epoch in ipairs{ 1, 2, 4, 8 } do
  kbcd.say("%8d %14.5f %14.5f %14.5f", epoch * p / b, random[epoch], largest[epoch], drawn[epoch])
end
