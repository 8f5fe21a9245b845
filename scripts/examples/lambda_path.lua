-- A path of λ for little more than the cost of one: all λ share the blocks and Grams. Two classes in 20 dimensions; the
-- best λ is chosen on held-out rows.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix
kbcd.arguments("examples/lambda_path", "Six lambdas in one run, the best chosen on held-out rows."):parse(arg)

local d = 20
local function sample(n, seed)
  local X = kbcd.DataSet.generate(n, d, function(first, last)
    return Matrix.randn(last - first + 1, d, { seed = seed, first_row = first })
  end)
  -- Class 1 inside a sphere, 0 outside, and a tenth of the labels wrong.
  local y, noise = X.rows:clone():square():sum(2), Matrix.rand(X.rows.nrows, 1, { seed = seed + 1, first_row = X.first })
  for i = 1, y.nrows do y:set(i, 1, (y(i, 1) < d) == (noise(i, 1) > 0.1) and 1 or 0) end
  return X, kbcd.DataSet.local_part(n, y)
end

local X, y = sample(3000, 1)
local Xheld, yheld = sample(1000, 11)
local lambdas = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6 }

local path
for step in kbcd.nystrom(X, kbcd.labels.one_vs_all(y), {
  kernel = kbcd.kernel.rbf{ sigma = 6 }, lambda = lambdas, p = 600, b = 200, epochs = 3, jitter = true,
}) do path = step.model end

local errors, best = kbcd.labels.error_rate(path, Xheld, yheld), 1
for l, lambda in ipairs(lambdas) do
  kbcd.say("lambda = %-8g held-out error %5.2f%%", lambda, 100 * errors[l])
  if errors[l] < errors[best] then best = l end
end
kbcd.say("best: lambda = %g", lambdas[best])
