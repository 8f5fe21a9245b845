-- A kernel of your own, without compiling: the rational quadratic kernel (1 + |x − y|²/(2aℓ²))^−a, as a function of a
-- whole Matrix of squared distances. Fits a wave on [0, 1] and compares it with rbf.

local kbcd = require "kbcd"
kbcd.arguments("examples/custom_kernel", "A kernel written in Lua beside rbf, on a noisy wave."):parse(arg)

local a, l = 1, 0.1
local rational_quadratic = kbcd.kernel.custom{
  name = "rational quadratic", metric = "sqeuclidean",
  kappa = function(D) return (1 + D / (2 * a * l ^ 2)):pow(-a) end,
}

local n = 600
local X = kbcd.DataSet(kbcd.Matrix.rand(n, 1, { seed = 1 }))
local Xtest = kbcd.DataSet(kbcd.Matrix.rand(200, 1, { seed = 2 }))
local function wave(data) return (data.rows * (4 * math.pi)):sin() end
local Y = wave(X) + 0.1 * kbcd.Matrix.randn(X.rows.nrows, 1, { seed = 3, first_row = X.first })

for _, kernel in ipairs{ rational_quadratic, kbcd.kernel.rbf{ sigma = l } } do
  local model
  for step in kbcd.full_kernel(X, Y, { kernel = kernel, lambda = 1e-4, b = 200, epochs = 10 }) do
    model = step.model[1]
  end
  local squares = kbcd.allreduce((model:predict(Xtest) - wave(Xtest)):norm() ^ 2)
  kbcd.say("%-20s test RMSE %.4f (the noise is 0.1)", kernel.name, math.sqrt(squares / Xtest.n))
end
