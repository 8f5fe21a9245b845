-- features_cg against direct solves in f64, for one λ and a path, few and many rows in the preconditioner, weights, other
-- maps, sparse rows; and resumed to the bit.

local kbcd = require "kbcd"
local spec = require "spec"
local problem = require "small_problem"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local n, targets, X, Y, rbf = problem.n, problem.targets, problem.X, problem.Y, problem.rbf
local whole, mine, last = problem.whole, problem.mine, problem.last

local p, lambdas = 41, { 1e-1, 1e-3, 1e-5 }

local function scale(A) return math.max(1, A:clone():abs():max()) end

-- Z, and (Zᵀ W Z + nλI)⁻¹ Zᵀ W Y.
local function direct(map, lambda, weights)
  local Z = whole(kbcd.RandomFeaturesBlock(X, Index.range(1, p), map):dense())
  local WZ = weights and Z:clone():cmul(weights) or Z
  return Z, kbcd.local_solve((Z:t() * WZ):add_diagonal(n * lambda), WZ:t() * targets)
end

test("it solves the equations of random features, for a path", function()
  for _, name in ipairs{ "fourier", "sorf", "qmc" } do
    local map = kbcd.features[name]{ kernel = rbf, p = p, seed = 2 }
    for _, sample in ipairs{ 20, 60, n } do
      local o = { map = map, lambda = lambdas, epochs = 150, tol = 1e-13, sample = sample }
      local step = last(kbcd.features_cg(X, Y, o))
      for l, lambda in ipairs(lambdas) do
        local Z, w = direct(map, lambda)
        close(step.model[l].coefficients, w, 1e-8 * scale(w), ("%s, lambda = %g"):format(name, lambda))
        close(whole(step.model[l]:predict(X)), Z * w, 1e-8, "predictions")
        close(whole(step.model:fitted()[l]), Z * w, 1e-8, "fitted values")
        close(step.residual[l], (targets - Z * w):norm() / targets:norm(), 1e-8, "residual")
      end
      if sample == n then assert(step.epoch <= 5, "with all rows, the preconditioner is the system") end
    end
  end
end)

test("a path is separate runs", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = p, seed = 2 }
  local path = last(kbcd.features_cg(X, Y, { map = map, lambda = lambdas, epochs = 6, sample = 30 })).model
  for l, lambda in ipairs(lambdas) do
    local single = last(kbcd.features_cg(X, Y, { map = map, lambda = lambda, epochs = 6, sample = 30 })).model[1]
    close(path[l].coefficients, single.coefficients, 1e-10 * scale(single.coefficients), tostring(lambda))
  end
end)

test("weights, a start, sparse rows and f32", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = p, seed = 2 }
  local weights = Matrix.rand(n, 1, { seed = 8 }):add(0.5)
  local o = { map = map, lambda = 1e-2, epochs = 60, weights = mine(weights) }
  local _, w = direct(map, 1e-2, weights)
  close(last(kbcd.features_cg(X, Y, o)).model[1].coefficients, w, 1e-8, "weights")
  o.weights = nil
  local Z, plain = direct(map, 1e-2)
  local exact = last(kbcd.features_cg(X, Y, o)).model
  o.start, o.epochs = exact, 1
  close(last(kbcd.features_cg(X, Y, o)).model[1].coefficients, plain, 1e-8, "from a start")
  o.start, o.epochs = nil, 60
  close(last(kbcd.features_cg(X:to_sparse(), Y, o)).model[1].coefficients, plain, 1e-8, "sparse")
  close(whole(last(kbcd.features_cg(X:to("f32"), Y, o)).model[1]:predict(X:to("f32"))), Z * plain, 1e-3, "f32")
end)

test("it resumes to the bit", function()
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
  local o = { map = kbcd.features.sorf{ kernel = rbf, p = p }, lambda = lambdas, epochs = 9, sample = 25 }
  local expected = last(kbcd.features_cg(X, Y, o)).model.coefficients:clone()
  o.checkpoint = kbcd.checkpoint(path, { every = 0, resume = false })
  local count = 0
  for _ in kbcd.features_cg(X, Y, o) do
    count = count + 1
    if count == 6 then break end
  end
  o.checkpoint = kbcd.checkpoint(path, { every = 0, resume = true })
  local again = last(kbcd.features_cg(X, Y, o)).model.coefficients
  assert(o.checkpoint.resumed)
  equal((again - expected):abs():max(), 0)
  o.checkpoint:remove()
end)

test("what it refuses", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = p }
  fails(function() kbcd.features_cg(X, Y, { map = map, lambda = 1, sample = 0 }) end, "sample")
  fails(function() kbcd.features_cg(X, Y, { map = map, lambda = 1, sample = n + 1 }) end, "sample", tostring(n))
  fails(function() kbcd.features_cg(X, Y, { map = map, lambda = 1, b = 5 }) end, "unknown option 'b'")
end)

spec.finish()
