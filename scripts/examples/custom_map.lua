-- A feature map of your own, without compiling: random ReLU features z_j(x) = √(2/p) max(0, ω_j·x), which approximate the
-- arc-cosine kernel. Feature j is made from (seed, j) alone, so that every rank and every block agrees on it.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix
kbcd.arguments("examples/custom_map", "Random features written in Lua: ReLU."):parse(arg)

local n, d, p = 1500, 8, 400
local relu = kbcd.features.custom{
  name = "relu", p = p,
  map = function(X, I)
    local omega = {}
    for i = 1, #I do omega[i] = Matrix.randn(1, X.ncols, { seed = 7, first_row = I[i], dtype = X.dtype }) end
    return (X * Matrix.vcat(omega):t()):clamp(0, math.huge):scale(math.sqrt(2 / p))
  end,
}

local function data(rows, seed)
  return kbcd.DataSet.generate(rows, d, function(first, last)
    return Matrix.randn(last - first + 1, d, { seed = seed, first_row = first })
  end)
end
local function target(X) return X.rows:clone():abs():sum(2) end

local X, Xtest, model = data(n, 1), data(500, 2), nil
for step in kbcd.random_features(X, target(X), { map = relu, lambda = 1e-5, b = 100, epochs = 8 }) do
  model = step.model[1]
end
local miss = kbcd.allreduce((model:predict(Xtest) - target(Xtest)):norm() ^ 2)
local mean = kbcd.allreduce(target(Xtest):sum()) / Xtest.n
local deviation = math.sqrt(kbcd.allreduce((target(Xtest) - mean):norm() ^ 2) / Xtest.n)
kbcd.say("%s: test RMSE %.4f, where the target varies by %.4f", tostring(relu), math.sqrt(miss / Xtest.n), deviation)
