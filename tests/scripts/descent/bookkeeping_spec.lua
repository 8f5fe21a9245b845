-- A residual that does not match the coefficients is an error after the first epoch, in f32 and f64, that names the file of
-- the method; rounding, however large, is none.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Selector = kbcd.Matrix, kbcd.Selector
local test, fails = spec.test, spec.fails

local X = kbcd.DataSet.generate(150, 3, function(first, last)
  return Matrix.randn(last - first + 1, 3, { seed = 1, first_row = first })
end)
local Y = X.rows:clone():sin():sum(2)
local rbf = kbcd.kernel.rbf{ sigma = 1 }

local function last(steps)
  local step
  for s in steps do step = s end
  return step
end

-- Nyström with a mistake.
local function nystrom_with(mistake)
  return kbcd.algorithm("mistaken", { "mistaken", kernel = "kernel", p = 40 }, function(X_, Y_, o, run)
    local n, nl = X_.n, X_.n * o.lambda
    local J = run.centers(o.p, o.kernel)
    local alpha = run.kernel_model(o.kernel, J).coefficients
    local E = run.distributed("E", o.lambda:each(Y_))
    return {
      residual = E,
      system = function(K_b) return K_b:gram "f64" + nl * K_b:square() end,
      step = function(B, K_b, solve, P)
        local Delta = solve(P)
        if mistake ~= "coefficients" then alpha:add_rows(B, Delta) end
        local change = K_b * Delta + Selector(n, J:take(B)) * (nl * Delta)
        if mistake == "new matrix" then E = E - change else E:sub(change) end
        return Delta
      end,
      fitted = function(R)
        return o.lambda:each(Y_) - R - (mistake == "fitted" and 0 or 1) * (Selector(n, J) * (nl * alpha))
      end,
    }
  end)
end

local options = { kernel = rbf, lambda = { 1e-2, 1e-9 }, b = 15, epochs = 2, jitter = true }

test("a residual that does not match the coefficients is an error, in f32 and f64", function()
  for _, precision in ipairs{ "f32", "f64" } do
    local Z = X:to(precision)
    for _, mistake in ipairs{ "coefficients", "new matrix", "fitted" } do
      fails(function() last(nystrom_with(mistake)(Z, Y, options)) end, "mistaken", "the residual does not match",
        "add_rows", "E:sub", "bookkeeping_spec.lua")
    end
    last(nystrom_with()(Z, Y, options))
  end
end)

-- Far from the origin, distances of f32 rows are lost; with a tiny λ the coefficients are huge.
test("rounding is no such mistake", function()
  for _, offset in ipairs{ 0, 3000 } do
    local Z = kbcd.DataSet.local_part(X.n, X.rows + offset)
    for _, lambda in ipairs{ 1e-3, 1e-30 } do
      for _, precision in ipairs{ "f32", "f64" } do
        local o = { kernel = rbf, lambda = lambda, p = 40, b = 15, epochs = 2, jitter = true }
        last(kbcd.nystrom(Z:to(precision), Y, o))
        last(kbcd.random_features(Z:to(precision), Y, { map = kbcd.features.fourier{ kernel = rbf, p = 40, seed = 1 },
          lambda = lambda, b = 15, epochs = 2, jitter = true }))
      end
    end
  end
  last(kbcd.nystrom(X, Matrix.zeros(X.local_n, 1), options))
end)

spec.finish()
