-- The contract of algorithms: hooks of the shipped ones (choose, centers, start, targets, weights), methods that iterate,
-- what a user's own declaration gets, and the messages when it is wrong. References are direct dense solves.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails

local n, d, k, lambda = 80, 3, 2, 1e-2
local data, targets = Matrix.randn(n, d, { seed = 3 }), Matrix.randn(n, k, { seed = 4 })
local X, Y = DataSet(data), DataSet(targets)
local rbf = kbcd.kernel.rbf{ gamma = 0.3 }

local function kernel_matrix(A, B)
  return spec.make(A.nrows, B.nrows, function(i, j)
    local s = 0
    for c = 1, d do s = s + (A(i, c) - B(j, c)) ^ 2 end
    return math.exp(-0.3 * s)
  end)
end
local K = kernel_matrix(data, data)
local function whole(rows) return kbcd.gather(rows) end
local function mine(A) return A:rows(X.first, X.first + X.local_n - 1) end  -- this rank's rows
local function last(steps)
  local step
  for s in steps do step = s end
  return step
end
-- The coefficients of Nyström on centres J, by a direct solve.
local function nystrom_solution(J, Z, lam, W)
  local K_J = kernel_matrix(data, data:take(J))
  local weighted = W and spec.make(n, #J, function(i, j) return W(i, 1) * K_J(i, j) end) or K_J
  local H = weighted:t() * K_J + kernel_matrix(data:take(J), data:take(J)) * (n * lam)
  return kbcd.local_solve(H, weighted:t() * Z, { jitter = true }), K_J
end

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
  for _, way in ipairs{ "uniform", "rpcholesky", "leverage" } do
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
  } do
    local step = last(steps)
    equal(step.model[1].coefficients:norm(), 0)
    equal(step.residual[1], 0)
  end
end)

-- Gradient descent on the full kernel's equations, which changes all coefficients in a step: α ← α + t (Y − (K + nλI) α).
local function richardson(extra)
  return kbcd.algorithm("richardson", {
    "Richardson: gradient descent on all rows", kernel = "kernel", b = false, rate = { "positive", "step", default = 0.01 },
  }, function(X_, Y_, o, run)
    local alpha = run.kernel_model(o.kernel).coefficients
    local A = kbcd.KernelMatrix(X_, nil, o.kernel)
    local method = {
      iterate = function() alpha:add(o.lambda:each(Y_) - A * alpha - X_.n * o.lambda * alpha, o.rate) end,
    }
    for name, value in pairs(extra or {}) do method[name] = value end
    return method
  end)
end

test("a method that iterates gets paths, test scores, tolerance and a model", function()
  local step, epochs = nil, 0
  local o = { kernel = rbf, lambda = { 1, 0.5 }, epochs = 400, tol = 1e-9, test = X, rate = 0.01 }
  for s in richardson()(X, Y, o) do
    step, epochs = s, epochs + 1
    equal(s.epoch, epochs)
    equal(s.epoch_end, true)
  end
  assert(epochs < 400, "tol stops it")
  for l, lam in ipairs(o.lambda) do
    local alpha = kbcd.local_solve(K:clone():add_diagonal(n * lam), targets)
    close(whole(step.model[l].coefficients), alpha, 1e-6, "lambda = " .. lam)
    close(whole(step.test_scores[l]), K * alpha, 1e-6, "test scores")
    close(whole(step.model:fitted()[l]), K * alpha, 1e-6, "fitted values")
  end
end)

-- Block descent on the full kernel with momentum, which moves all coefficients in a step.
local drifting = kbcd.algorithm("drifting", {
  "drifting: full-kernel blocks with momentum on all rows", kernel = "kernel", partition = "fresh",
}, function(X_, Y_, o, run)
  local nl = X_.n * o.lambda
  local alpha = run.kernel_model(o.kernel).coefficients
  local V = run.distributed("V", Matrix.zeros(X_.local_n, run.columns))
  return {
    dense = true,
    system = function(K_b) return K_b:square() + nl end,
    step = function(B, K_b, solve)
      local S_b = kbcd.Selector(X_.n, B)
      local R, Y_b, alpha_b = kbcd.allreduce(K_b:t() * alpha, S_b:t() * Y_, S_b:t() * alpha)
      V:scale(0.2):add(S_b * solve(o.lambda:each(Y_b) - R - nl * alpha_b))
      alpha:add(V)
    end,
  }
end)

test("a step that changes all coefficients: scores at the end of an epoch, and resume to the bit", function()
  local o = { kernel = rbf, lambda = { 0.5, 0.1 }, b = 17, epochs = 60, tol = 0, test = X }
  local whole_run
  for s in drifting(X, Y, o) do
    whole_run = s
    equal(s.test_scores ~= nil, s.epoch_end, "test scores at the end of an epoch alone")
    equal(s.change ~= nil, s.epoch_end, "change")
  end
  for l, lam in ipairs(o.lambda) do
    local alpha = kbcd.local_solve(K:clone():add_diagonal(n * lam), targets)
    close(whole(whole_run.model[l].coefficients), alpha, 1e-6, "lambda = " .. lam)
    close(whole(whole_run.test_scores[l]), K * alpha, 1e-6, "test scores")
  end
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
  local function resumable(resume) return kbcd.checkpoint(path, { every = 0, resume = resume }) end
  for _, method in ipairs{ { drifting, o }, { kbcd.falkon, { kernel = rbf, lambda = { 0.5, 0.1 }, p = 20, epochs = 9 } } } do
    local algorithm, settings = unpack(method)
    settings.checkpoint = nil
    local expected = last(algorithm(X, Y, settings)).model.coefficients:clone()
    settings.checkpoint = resumable(false)
    local count = 0
    for _ in algorithm(X, Y, settings) do
      count = count + 1
      if count == 7 then break end
    end
    settings.checkpoint = resumable(true)
    local steps = algorithm(X, Y, settings)
    assert(settings.checkpoint.resumed, algorithm.name .. " resumes")
    local again = last(steps).model.coefficients
    equal(kbcd.allreduce_max(again.nrows > 0 and (again - expected):abs():max() or 0), 0, algorithm.name .. ", to the bit")
    settings.checkpoint:remove()
  end
end)

test("a model of a kernel or map written in Lua is saved by name, parameters and source", function()
  local function cauchy(width)
    return kbcd.kernel.custom{ name = "cauchy", metric = "sqeuclidean", params = { width = width },
      kappa = function(D) return (1 + D / width):pow(-1) end }
  end
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".h5"
  local model = last(kbcd.full_kernel(X, Y, { kernel = cauchy(2), lambda = { 1, 0.1 } })).model
  model:save(path)
  local expected = whole(model[2]:predict(X))
  fails(function() kbcd.model_file.load(path) end, path, "'cauchy'", "written in Lua", "--with")
  fails(function() kbcd.model_file.load(path, { with = cauchy(3) }) end, "width = 2", "3")
  fails(function() kbcd.model_file.load(path, { with = rbf }) end, "'cauchy' expected", "rbf")
  local other = kbcd.kernel.custom{ name = "cauchy", metric = "sqeuclidean", params = { width = 2 },
    kappa = function(D) return (1 + D / 2):pow(-2) end }
  fails(function() kbcd.model_file.load(path, { with = other }) end, "source", "differs")
  fails(function() kbcd.model_file.load(path, { with = 3 }) end, "with", "a kernel or a feature map")
  local loaded = kbcd.model_file.load(path, { with = cauchy(2) })
  close(whole(loaded[2]:predict(X)), expected, 1e-12)
  equal(loaded.form, "kernel")
  local function relu()
    return kbcd.features.custom{ name = "relu", p = 12, map = function(A, I)
      local W = {}
      for i = 1, #I do W[i] = Matrix.randn(1, A.ncols, { seed = 7, first_row = I[i], dtype = A.dtype }) end
      return (A * Matrix.vcat(W):t()):clamp(0, math.huge)
    end }
  end
  local features = last(kbcd.random_features(X, Y, { map = relu(), lambda = 1 })).model
  features:save(path)
  fails(function() kbcd.model_file.load(path) end, "feature map 'relu'", "--with")
  close(whole(kbcd.model_file.load(path, { with = relu() })[1]:predict(X)), whole(features[1]:predict(X)), 1e-12, "map")
  -- What load would refuse, save refuses.
  fails(function() model:save(path, { task = "classify" }) end, "names")
  fails(function() model:save(path, { names = { "one" } }) end, "names", "2 expected")
  fails(function() model:save(path, { best = 3 }) end, "best", "1..2")
  fails(function() model:save(path, { taks = "regress" }) end, "'taks'", "task")
  local own = kbcd.Model{ kernel = rbf, X = X, coefficients = mine(targets), lambda = 1 }
  close(whole(own:predict(X)[1]), K * targets, 1e-10, "a model of one's own coefficients")
  own:save(path)
  close(whole(kbcd.model_file.load(path)[1]:predict(X)), K * targets, 1e-10, "saved and loaded")
  own.coefficients:fill(0 / 0)
  fails(function() own:save(path) end, "NaN")
  fails(function() kbcd.Model{ kernel = rbf, X = X, coefficients = Matrix.zeros(n + 1, 1) } end, "coefficients", "rows")
  fails(function() kbcd.Model{ X = X, coefficients = mine(targets) } end, "a kernel or a map")
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end)

test("what is wrong with a declaration is named, with its place", function()
  local function declare(options, setup) return function() return kbcd.algorithm("mine", options, setup) end end
  local function run(setup, options)
    options = options or { kernel = "kernel" }
    return function() return kbcd.algorithm("mine", options, setup)(X, Y, { kernel = rbf, lambda = 1 }) end
  end
  fails(declare({ p = "number_of_things" }, function() end), "option p", "'number_of_things'", "count")
  fails(declare(3, function() end), "mine", "options")
  fails(declare({}, 3), "mine", "setup")
  fails(function() kbcd.algorithm("my method", {}, function() end) end, "name")
  fails(run(function() end), "mine", "step or iterate", "contract_spec.lua:")
  fails(run(function() return { step = function() end } end), "kernel_model", "contract_spec.lua:")
  fails(run(function(_, _, o, r) r.kernel_model(o.kernel) return { stepp = print } end), "unknown field 'stepp'", "iterate",
    "contract_spec.lua:")
  fails(run(function(_, _, o, r) r.kernel_model(o.kernel) return { step = 3 } end), "step", "function expected")
  fails(run(function(_, _, o, r) r.kernel_model(o.kernel) return { iterate = print } end), "no step")
  fails(run(function(_, _, o, r) r.kernel_model(o.kernel) return { step = print, residual = Matrix.zeros(n + 1, k),
    fitted = print } end), "residual", "columns")
  fails(run(function(_, _, o, r) r.kernel_model(o.kernel) r.kernel_model(o.kernel) end), "two models")
  fails(function()
    last(run(function(_, _, o, r) r.kernel_model(o.kernel) return { step = function() end } end)())
  end, "step must return", "dense = true", "contract_spec.lua:")
  fails(function()
    last(run(function(_, _, o, r)
      r.kernel_model(o.kernel)
      return { system = function(K_b) return K_b end, step = function() end }
    end)())
  end, "system")
  fails(function()
    last(run(function(_, _, o, r)
      r.kernel_model(o.kernel)
      return { dense = true, step = function(_, _, solve) solve(Matrix.zeros(3, k)) end }
    end)())
  end, "solve", "no system", "contract_spec.lua:")
  fails(function()
    last(run(function(_, _, o, r) r.kernel_model(o.kernel) return { step = function() return 3 end } end)())
  end, "step must return", "a Matrix, got number")
  fails(run(function(_, _, o, r) r.kernel_model(o.kernel) return { step = print, iterate = print } end), "step and iterate")
  fails(run(function(_, _, _, r)
    r.distributed("s", Matrix.zeros(X.local_n, 1))
    r.replicated("s", Matrix.zeros(1, 1))
  end), "state 's' already", "contract_spec.lua:")
  fails(run(function(_, _, _, r) r.distributed("s", Matrix.zeros(n + 1, 1)) end), "X.local_n", "contract_spec.lua:")
  fails(run(function(_, _, _, r) r.replicated("s", 3) end), "a Matrix expected, got number")
  fails(declare({ partition = "frehs" }, function() end), "partition", "'fresh'", "frehs")
  fails(function()
    drifting(X, Y, { kernel = rbf, lambda = 1, jitter = "no" })
  end, "jitter", "true or false")
  fails(function() richardson{ wrong = 1 }(X, Y, { kernel = rbf, lambda = 1 }) end, "unknown field 'wrong'")
  fails(function() richardson()(X, Y, { kernel = rbf, lambda = 1, rate = -1 }) end, "richardson", "rate", "> 0")
end)

test("lambda: numbers for each model", function()
  local new_lambda = require "kbcd.descent.lambda"
  local l = new_lambda({ 2, 3 }, 2)
  local A = spec.make(2, 4, function(i, j) return 10 * i + j end)
  close(l * A, spec.make(2, 4, function(i, j) return (10 * i + j) * (j <= 2 and 2 or 3) end), 0)
  equal((5 * l)[2], 15)
  equal((l * l + 1 - l / 2)[1], 4)
  equal((-l)[2], -3)
  equal((l ^ 2)[2], 9)
  close(l:each(A:cols(1, 2)), Matrix.hcat{ A:cols(1, 2), A:cols(1, 2) }, 0)
  close(l:row(), Matrix{ { 2, 2, 3, 3 } }, 0)
  fails(function() return l * A:cols(1, 3) end, "4 columns", "2x3")
  fails(function() return l + A end, "lambda", "Matrix")
end)

-- How often control passes from one Lua file to another in a step.
local function boundaries(steps)
  local file, count = nil, 0
  steps()  -- the first step also makes what a run needs once
  debug.sethook(function()
    local source = debug.getinfo(2, "S").source
    if source:sub(1, 1) == "@" and not source:find("_spec.lua", 1, true) then
      if file and source ~= file then count = count + 1 end
      file = source
    end
  end, "l")
  steps()
  debug.sethook()
  return count
end

test("one block step crosses at most 12 file boundaries", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 20 }
  jit.off()
  for i, steps in ipairs{
    kbcd.nystrom(X, Y, { kernel = rbf, lambda = { 1, 2 }, p = 20, b = 7, epochs = 2 }),
    kbcd.random_features(X, Y, { map = map, lambda = { 1, 2 }, b = 7, epochs = 2 }),
    kbcd.full_kernel(X, Y, { kernel = rbf, lambda = { 1, 2 }, b = 30, epochs = 2 }),
  } do
    local count = boundaries(steps)
    assert(count <= 12, ("method %d: %d"):format(i, count))
  end
  jit.on()
end)

spec.finish()
