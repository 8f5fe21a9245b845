-- The contract of algorithms: methods that iterate, steps that change all coefficients, state, what a user's own declaration
-- gets, and the messages when it is wrong. References are direct dense solves.

local kbcd = require "kbcd"
local spec = require "spec"
local problem = require "small_problem"
local Matrix = kbcd.Matrix
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local n, k, targets, X, Y, rbf, K = problem.n, problem.k, problem.targets, problem.X, problem.Y, problem.rbf, problem.K
local whole, mine, last = problem.whole, problem.mine, problem.last
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

-- Each rank adds a number of its own to the state that `wrong` names, at step `at`.
local function uneven(wrong, at)
  return kbcd.algorithm("uneven", { "uneven: a state that differs by rank", kernel = "kernel", p = 20 },
    function(X_, _, o, run)
      local alpha = run.kernel_model(o.kernel, run.centers(o.p, o.kernel)).coefficients
      local states = { coefficients = alpha, m = run.replicated("m", Matrix.ones(3, 2)),
        r = run.distributed("r", Matrix.full(X_.local_n, 1, kbcd.rank())) }
      return { dense = true, step = function()
        states.m:scale(1 + 1e-12 * kbcd.rank())  -- as by rounding
        if run.t == at then states[wrong]:add(kbcd.rank() / 10) end
      end }
    end)
end

test("a replicated state that differs by rank is an error that names it", function()
  local o = { kernel = rbf, lambda = 1, p = 20, b = 5, epochs = 3 }
  if kbcd.size() == 1 then return last(uneven("m", 6)(X, Y, o)) end
  last(uneven("r", 6)(X, Y, o))
  fails(function() last(uneven("m", 6)(X, Y, o)) end, "uneven: replicated state 'm' is not the same on all ranks",
    "end of epoch 2", ("rank %d's"):format(kbcd.size() - 1), "contract_spec.lua:")
  fails(function() last(uneven("coefficients", 12)(X, Y, o)) end, "'coefficients'", "end of epoch 3", "run.distributed")
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
  o.checkpoint = kbcd.checkpoint(path, { every = 0 })
  fails(function() last(uneven("m", 6)(X, Y, o)) end, "'m'", "before the checkpoint of block 2 of epoch 2")
  o.checkpoint:remove()
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

test("a method refuses weights, and targets that change, where they are not its problem", function()
  local function robust(extra)
    return kbcd.algorithm("robust", { "robust: a loss of its own", kernel = "kernel", p = 20 }, function(X_, Y_, o, run)
      local method = kbcd.nystrom.setup(X_, Y_, setmetatable({ gamma = 0 }, { __index = o }), run)
      for name, value in pairs(extra) do method[name] = value end
      return method
    end)
  end
  local w = Matrix.full(X.local_n, 1, 2)
  local function change() return nil end
  last(robust{}(X, Y, { kernel = rbf, lambda = 1, b = 20, weights = w, targets = change }))
  fails(function() robust{ weights = false }(X, Y, { kernel = rbf, lambda = 1, b = 20, weights = w }) end,
    "robust: option weights", "does not take weights", "contract_spec.lua")
  fails(function() robust{ targets = false }(X, Y, { kernel = rbf, lambda = 1, b = 20, targets = change }) end,
    "robust: option targets", "does not take targets", "contract_spec.lua")
end)

test("K_bᵀE is not computed for a step that does not take it", function()
  local function products(step)
    local count = 0
    local counting = kbcd.algorithm("counting", { "counting", kernel = "kernel" }, function(_, Y_, o, run)
      local model = run.kernel_model(o.kernel)
      return {
        dense = true, residual = run.distributed("E", o.lambda:each(Y_)), step = step,
        fitted = function() return Matrix.zeros(Y_.nrows, run.columns) end,
        block = function(B)
          return { release = function() end, t = function() count = count + 1 return model:block(B):t() end }
        end,
      }
    end)
    last(counting(X, Y, { kernel = rbf, lambda = 1, b = 20 }))
    return count
  end
  equal(products(function() end), 0)
  equal(products(function(_, _, _, P) equal(P.nrows, 20) end), 4)
end)

test("systems of functions, and the advice where one is not positive definite", function()
  local function relaxed(system)
    return kbcd.algorithm("relaxed", { "relaxed", kernel = "kernel", p = 20, b = 1000 }, function(X_, Y_, o, run)
      local method = kbcd.nystrom.setup(X_, Y_, setmetatable({ gamma = 0 }, { __index = o }), run)
      method.system = function(K_b) return system(K_b, X_.n * o.lambda) end
      return method
    end)
  end
  local function identity(B) return Matrix.eye(#B) end
  local function coefficients(system)
    return last(relaxed(system)(X, Y, { kernel = rbf, lambda = { 1, 2 } })).model.coefficients
  end
  local expected = coefficients(function(_, nl) return nl + 1 end)
  close(coefficients(function(_, nl) return nl + identity end), expected, 1e-12)
  close(coefficients(function(_, nl) return identity + nl end), expected, 1e-12)
  close(coefficients(function(K_b, nl) return K_b:square() + identity + nl end),
    coefficients(function(K_b, nl) return K_b:square() + 1 + nl end), 1e-12)
  local singular = kbcd.DataSet.local_part(n, Matrix.ones(X.local_n, 2))
  fails(function() last(kbcd.full_kernel(singular, Y, { kernel = rbf, lambda = 1e-300, b = 20 })) end,
    "not positive definite", "; raise lambda, or use jitter", "--jitter")  -- it has no gamma
  fails(function() last(kbcd.nystrom(singular, Y, { kernel = rbf, lambda = 1e-300, p = 20 })) end, "raise lambda or gamma")
  fails(function()
    last(kbcd.nystrom(X, Y, { kernel = rbf, lambda = 1, p = 20, choose = function(c) return c.blocks[1]:slice(1, 0) end }))
  end, "nystrom: choose", "empty Index")
end)

spec.finish()
