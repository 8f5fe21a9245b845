-- Hooks of the shipped algorithms: choose, centers, start, targets, weights; falkon, and targets that are zero. References
-- are direct dense solves.

local kbcd = require "kbcd"
local spec = require "spec"
local problem = require "small_problem"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local n, targets, X, Y, rbf, K = problem.n, problem.targets, problem.X, problem.Y, problem.rbf, problem.K
local data, nystrom_solution = problem.data, problem.nystrom_solution
local lambda = 1e-2
local whole, mine, last = problem.whole, problem.mine, problem.last
test("falkon solves Nyström's equations, for a path", function()
  local lambdas = { 1e-1, 1e-2 }
  local step = last(kbcd.falkon(X, Y, { kernel = rbf, p = 20, lambda = lambdas, epochs = 60, seed = 5 }))
  local J = Index.sample(n, 20, { seed = 5, stream = 1 })
  for l, lam in ipairs(lambdas) do
    local alpha, K_J = nystrom_solution(J, targets, lam)
    close(whole(step.model[l]:predict(X)), K_J * alpha, 1e-6, "lambda = " .. lam)
    close(whole(step.model:fitted()[l]), K_J * alpha, 1e-6, "fitted values")
    close(step.residual[l], (targets - K_J * alpha):norm() / targets:norm(), 1e-6, "residual")
  end
  fails(function() kbcd.falkon(X, Y, { kernel = rbf, p = 20, lambda = 1, b = 5 }) end, "unknown option 'b'")
end)

test("choose: greedy and weighted blocks converge to the same solution", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 20, seed = 2 }
  local Z = whole(kbcd.RandomFeaturesBlock(X, Index.range(1, 20), map):dense())
  local w = kbcd.local_solve((Z:t() * Z):add_diagonal(n * lambda), Z:t() * targets)
  local o = { map = map, b = 6, lambda = lambda, epochs = 500 }
  local visits = {}
  function o.choose(c)
    equal(#c.blocks, 4)
    equal(c.steps, 4)
    local best, size = 1, -1
    for i = 1, 4 do
      local norm = c:gradient(i):norm()
      if norm > size then best, size = i, norm end
    end
    visits[best] = (visits[best] or 0) + 1
    return best
  end
  close(last(kbcd.random_features(X, Y, o)).model[1].coefficients, w, 1e-6, "greedy")
  assert(visits[1] and visits[2] and visits[3] and visits[4], "every block is visited")
  function o.choose(c)
    return Index.weighted(Matrix.ones(20, 1), 6, { seed = c.epoch, stream = c.step })
  end
  close(last(kbcd.random_features(X, Y, o)).model[1].coefficients, w, 1e-6, "drawn anew")
  -- The full kernel takes any order in which each block comes once an epoch.
  local full = { kernel = rbf, b = 17, lambda = 0.1, epochs = 60, partition = "fixed" }
  function full.choose(c)
    for i = #c.blocks, 1, -1 do if not c.visited[i] then return i end end
  end
  local exact = kbcd.local_solve(K:clone():add_diagonal(n * 0.1), targets)
  close(whole(last(kbcd.full_kernel(X, Y, full)).model[1].coefficients), exact, 1e-6, "full kernel, backwards")
  full.choose = function() return 1 end
  fails(function() last(kbcd.full_kernel(X, Y, full)) end, "once an epoch", "block 1")
  o.choose = function() return 9 end
  fails(function() last(kbcd.random_features(X, Y, o)) end, "random_features", "1..4", "9")
end)

test("centers: an Index, or drawn by a method", function()
  local J = Index{ 3, 9, 27, 44, 71, 12 }
  local alpha, K_J = nystrom_solution(J, targets, lambda)
  local o = { kernel = rbf, p = 6, b = 6, lambda = lambda, centers = J }
  close(whole(last(kbcd.nystrom(X, Y, o)).model[1]:predict(X)), K_J * alpha, 1e-7, "an Index")
  for _, way in ipairs{ "uniform", "rpcholesky", "leverage", "kmeanspp" } do
    o.centers, o.p, o.b = way, 10, 10
    local step = last(kbcd.nystrom(X, Y, o))
    local centers = step.model.centers
    equal(#centers, 10, way)
    local solution, K_C = nystrom_solution(centers, targets, lambda)
    close(whole(step.model[1]:predict(X)), K_C * solution, 1e-5, way)
  end
  o.centers = "best"
  fails(function() kbcd.nystrom(X, Y, o) end, "centers", "'rpcholesky'")
  o.centers, o.p = J, 7
  fails(function() kbcd.nystrom(X, Y, o) end, "centers", "7", "6")
end)

test("start: a run begins from another model, also when the data has grown", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 12, seed = 2 }
  local runs = {
    { kbcd.full_kernel, { kernel = rbf, b = 80, partition = "fixed" } }, { kbcd.nystrom, { kernel = rbf, p = 20, b = 20 } },
    { kbcd.random_features, { map = map, b = 12 } },
  }
  for i, run in ipairs(runs) do
    local method, o = unpack(run)
    o.lambda = { 0.1, 0.01 }
    local first = last(method(X, Y, o)).model
    o.start = first
    local again = last(method(X, Y, o))
    for l = 1, 2 do
      assert(again.change[l] < 1e-6, ("method %d: nothing is left to change, got %g"):format(i, again.change[l]))
      close(whole(again.model[l]:predict(X)), whole(first[l]:predict(X)), 1e-6, "method " .. i)
    end
    equal(again.model == first, false, "a model of its own")
  end
  -- 60 rows first, then all 80: the first residual is below that of a start from zero.
  local few = X:subset(Index.range(1, 60))
  local Y_few = Y:subset(Index.range(1, 60))
  local small = last(kbcd.full_kernel(few, Y_few, { kernel = rbf, b = 20, lambda = 0.1, epochs = 50 })).model
  local o = { kernel = rbf, b = 20, lambda = 0.1 }
  local cold = last(kbcd.full_kernel(X, Y, o)).residual[1]
  o.start = small
  local warm = last(kbcd.full_kernel(X, Y, o)).residual[1]
  assert(warm < 0.8 * cold, ("%g is not below %g"):format(warm, cold))
  o.start, o.epochs, o.tol = small, 400, 1e-12
  local exact = kbcd.local_solve(K:clone():add_diagonal(n * 0.1), targets)
  close(whole(last(kbcd.full_kernel(X, Y, o)).model[1].coefficients), exact, 1e-8, "to the same solution")
  fails(function() kbcd.random_features(X, Y, { map = map, lambda = 1, start = small }) end, "start", "features")
  fails(function() kbcd.full_kernel(DataSet(data + 1), Y, { kernel = rbf, lambda = 1, start = small }) end, "none of its 60")
  fails(function() kbcd.full_kernel(X, Y, { kernel = rbf, lambda = 1, start = 3 }) end, "start", "Model")
end)

test("targets that change between epochs", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 12, seed = 2 }
  local runs = {
    { kbcd.full_kernel, { kernel = rbf, b = 30, partition = "fixed" } }, { kbcd.nystrom, { kernel = rbf, p = 20, b = 20 } },
    { kbcd.random_features, { map = map, b = 5 } }, { kbcd.falkon, { kernel = rbf, p = 20 } },
    { kbcd.features_cg, { map = map } },
  }
  for i, run in ipairs(runs) do
    local method, o, seen = run[1], run[2], {}
    o.lambda, o.epochs, o.seed = 0.1, 300, 5
    local expected = whole(last(method(X, DataSet(targets * 2), o)).model[1]:predict(X))
    function o.targets(epoch, fitted)
      seen[epoch] = true
      if epoch == 2 then
        equal(fitted()[1].nrows, X.local_n)
        return mine(targets * 2)
      end
    end
    local step = last(method(X, Y, o))
    assert(seen[2] and seen[3] and not seen[1], "asked before every epoch but the first")
    close(whole(step.model[1]:predict(X)), expected, 1e-4, "method " .. i)
  end
end)

test("weights of rows", function()
  local w = Matrix.rand(n, 1, { seed = 8 }):add(0.2)
  local sqrt_w = w:clone():sqrt()
  -- Full kernel: (K + nλ W⁻¹) α = Y.
  local inverse = w:clone():pow(-1):scale(n * 0.1)
  local alpha = kbcd.local_solve(K:clone():add_diagonal(inverse), targets)
  local o = { kernel = rbf, lambda = 0.1, b = 30, epochs = 200, tol = 1e-13, weights = mine(w) }
  local step = last(kbcd.full_kernel(X, Y, o))
  close(whole(step.model[1]:predict(X)), K * alpha, 1e-6, "full kernel")
  close(whole(step.model[1].coefficients), alpha, 1e-5, "coefficients")
  close(whole(step.model:fitted()[1]), K * alpha, 1e-4, "fitted values")
  local J = Index.sample(n, 20, { seed = 5, stream = 1 })
  local solution, K_J = nystrom_solution(J, targets, 0.1, w)
  for _, method in ipairs{ kbcd.nystrom, kbcd.falkon } do
    local p = { kernel = rbf, lambda = 0.1, p = 20, seed = 5, weights = DataSet(w) }
    if method == kbcd.falkon then p.epochs = 60 end
    close(whole(last(method(X, Y, p)).model[1]:predict(X)), K_J * solution, 1e-5, method.name)
  end
  local map = kbcd.features.fourier{ kernel = rbf, p = 12, seed = 2 }
  local Z = whole(kbcd.RandomFeaturesBlock(X, Index.range(1, 12), map):dense())
  local Z_w = Z:clone():cmul(sqrt_w)
  local v = kbcd.local_solve((Z_w:t() * Z_w):add_diagonal(n * 0.1), Z_w:t() * targets:clone():cmul(sqrt_w))
  close(whole(last(kbcd.random_features(X, Y, { map = map, lambda = 0.1, weights = mine(w) })).model[1]:predict(X)), Z * v,
    1e-6, "random features")
  fails(function() kbcd.full_kernel(X, Y, { kernel = rbf, lambda = 1, weights = mine(w) * 0 }) end, "weights", "> 0")
  fails(function() kbcd.full_kernel(X, Y, { kernel = rbf, lambda = 1, weights = Matrix.ones(n + 9, 1) }) end,
    "weights", "x 1")
end)

test("targets that are all zero give a model that is zero", function()
  local zero = DataSet(Matrix.zeros(n, 1))
  local map = kbcd.features.fourier{ kernel = rbf, p = 12 }
  for _, steps in ipairs{
    kbcd.full_kernel(X, zero, { kernel = rbf, lambda = 1, b = 30, epochs = 2 }),
    kbcd.nystrom(X, zero, { kernel = rbf, lambda = 1, p = 20, epochs = 2 }),
    kbcd.random_features(X, zero, { map = map, lambda = 1, epochs = 2 }),
    kbcd.falkon(X, zero, { kernel = rbf, lambda = 1, p = 20, epochs = 2 }),
    kbcd.features_cg(X, zero, { map = map, lambda = 1, epochs = 2 }),
  } do
    local step = last(steps)
    equal(step.model[1].coefficients:norm(), 0)
    equal(step.residual[1], 0)
  end
end)

spec.finish()
