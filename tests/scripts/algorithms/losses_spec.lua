-- Losses: each one's gradient, second derivatives and proximal operator against finite differences and the conditions of the
-- minimum; runs by ADMM and by Newton against dense references of Lua's own, for paths of λ; resume; refusals.

local kbcd = require "kbcd"
local spec, problem = require "spec", require "small_problem"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local n, X, rbf, K = problem.n, problem.X, problem.rbf, problem.K
local whole, mine, last = problem.whole, problem.mine, problem.last

-- Three classes, and targets with outliers.
local classes = spec.make(n, 1, function(i)
  return (problem.data(i, 1) + 0.3 * problem.data(i, 2) > 0 and 1 or 0) + (problem.data(i, 3) > 0.5 and 1 or 0)
end)
local labels = kbcd.labels.one_vs_all(DataSet(classes))
local all_labels = whole(labels)
local all_targets = spec.make(n, 1, function(i) return 2 * problem.data(i, 1) + (i % 7 == 0 and 5 or 0) end)
local targets = DataSet(all_targets)
local lambdas = { 0.05, 3e-3 }

local made = { squared = {}, logistic = {}, hinge = {}, huber = { delta = 0.7 }, quantile = { tau = 0.3 } }
local function loss_of(name) return kbcd.losses[name](made[name]) end
local function given(loss) return loss.task == "classify" and labels or targets end
local function everything(loss) return loss.task == "classify" and all_labels or all_targets end

test("gradients and second derivatives against differences of the values", function()
  for name in pairs(made) do
    local loss = loss_of(name)
    local Y = everything(loss)
    local F, D = Matrix.randn(n, Y.ncols, { seed = 6 }), Matrix.randn(n, Y.ncols, { seed = 7 })
    local h = 1e-6
    local slope = (loss.value(F + h * D, Y) - loss.value(F - h * D, Y)) / (2 * h)
    close(loss.gradient(F, Y):dot(D), slope, 1e-6, name .. ": gradient")
    if loss.hessian then
      local change = (loss.gradient(F + h * D, Y) - loss.gradient(F - h * D, Y)) * (1 / (2 * h))
      close(loss.hessian(F, Y)(D), change, 1e-6, name .. ": second derivatives")
    end
  end
end)

-- o = prox of t ℓ at v: (v − o) / t is a subgradient at o: ℓ(o + d) >= ℓ(o) + ⟨(v − o)/t, d⟩ for every d, row by row.
test("proximal operators: the condition of the minimum", function()
  for name in pairs(made) do
    local loss = loss_of(name)
    local Y = everything(loss)
    for _, t in ipairs{ 0.01, 1, 30 } do
      local V = 3 * Matrix.randn(n, Y.ncols, { seed = 8 })
      local O = loss.prox(V, Y, t)
      local G = (V - O) * (1 / t)
      for i = 1, n, 5 do
        local o, y, g = O:rows(i), Y:rows(i), G:rows(i)
        local at = loss.value(o, y)
        for trial = 1, 6 do
          local d = Matrix.randn(1, Y.ncols, { seed = 10 * i + trial }):scale(10 ^ (1 - trial % 4))
          assert(loss.value(o + d, y) >= at + g:dot(d) - 1e-9 * (1 + math.abs(at)), name .. ": prox, t = " .. t)
        end
      end
      close(loss.prox(V, Y, t, O + 1), O, 1e-9, name .. ": from another guess")
    end
  end
end)

-- The objective of the kernel machine with coefficients α, (1/n) Σ ℓ(Kα) + λ tr(αᵀKα).
local function objective(loss, alpha, lambda)
  local F = K * alpha
  return loss.value(F, everything(loss)) / n + lambda * alpha:dot(F)
end

-- Dense Newton steps with halvings on one matrix A (n x p) and penalty M, all k columns as one system: the scores.
local function dense_newton(loss, A, M, lambda)
  local Y, p = everything(loss), A.ncols
  local k = Y.ncols
  local w = Matrix.zeros(p, k)
  local function value(v) return loss.value(A * v, Y) / n + lambda * v:dot(M * v) end
  for _ = 1, 60 do
    local G = (A:t() * loss.gradient(A * w, Y)):scale(1 / n) + (2 * lambda) * (M * w)
    if G:norm() < 1e-13 then break end
    local W, H = loss.hessian(A * w, Y), Matrix.zeros(p * k, p * k)
    for c = 1, k do                                              -- the columns of W for a one in column c of D
      local D = Matrix.zeros(n, k)
      D:cols(c):fill(1)
      local Wc = W(D)
      for e = 1, k do
        local part = (A:t() * A:clone():cmul(Wc:cols(e):clone())):scale(1 / n)
        if e == c then part:add(M, 2 * lambda) end
        H:block((e - 1) * p + 1, e * p, (c - 1) * p + 1, c * p):copy(part)
      end
    end
    local flat, D = {}, Matrix.zeros(p, k)
    for c = 1, k do flat[c] = G:cols(c):clone() end
    local step = kbcd.local_solve(H:add_diagonal(1e-13 * H:trace() / (p * k)), Matrix.vcat(flat), { jitter = true })
    for c = 1, k do D:cols(c):copy(step:rows((c - 1) * p + 1, c * p)) end
    local theta, before = 1, value(w)
    while theta > 1e-6 and value(w - theta * D) > before do theta = theta / 2 end
    w = w - theta * D
  end
  return A * w
end

local function run(method, name, more)
  local o = { kernel = not more.map and rbf or nil, loss = loss_of(name), lambda = lambdas, seed = 5 }
  for key, value in pairs(more) do o[key] = value end
  return last(kbcd[method](X, given(o.loss), o))
end

local function alone_too(method, name, step, more)
  for l, lambda in ipairs(lambdas) do
    local options = { lambda = lambda }
    for key, value in pairs(more) do options[key] = value end
    local alone = run(method, name, options).model[1]
    close(alone:predict(X), step.model[l]:predict(X), 1e-6, ("%s, %s: lambda = %g alone"):format(method, name, lambda))
    equal(step.model[l].lambda, lambda, "lambda")
  end
end

test("smooth losses by ADMM over the full kernel: a dense Newton method", function()
  for _, name in ipairs{ "logistic", "huber" } do
    for _, case in ipairs{ { "full_kernel", b = 40 }, { "pcg", rank = 40 } } do
      local method, more = case[1], { epochs = 900, tol = 1e-9, b = case.b, rank = case.rank }
      local step = run(method, name, more)
      for l, lambda in ipairs(lambdas) do
        close(whole(step.model[l]:predict(X)), dense_newton(loss_of(name), K, K, lambda), 1e-6,
          ("%s, %s, lambda = %g"):format(method, name, lambda))
      end
      assert(step.residual[1] <= 1e-9 and step.residual[2] <= 1e-9 and step.epoch < 900, "it ends by tol")
      if method == "full_kernel" and name == "huber" then alone_too(method, name, step, more) end
    end
  end
end)

local p = 20
local J = kbcd.Index.sample(n, p, { seed = 5, stream = 1 })
local K_J = problem.kernel_matrix(problem.data, problem.data:take(J))
local K_JJ = problem.kernel_matrix(problem.data:take(J), problem.data:take(J))

test("Nyström: Newton's method and ADMM; random features", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 15, seed = 3 }
  local everyone = DataSet(problem.data)
  local Z = whole(kbcd.RandomFeaturesBlock(everyone, kbcd.Index.range(1, 15), map):dense())
  for _, name in ipairs{ "logistic", "huber" } do
    local newton = run("newton", name, { p = p, epochs = 30, inner = 200, tol = 1e-12 })
    local by_features = run("features_newton", name, { map = map, epochs = 30, inner = 200, tol = 1e-12 })
    local admm = run("falkon", name, { p = p, epochs = 900, tol = 1e-11 })
    for l, lambda in ipairs(lambdas) do
      local expected = dense_newton(loss_of(name), K_J, K_JJ, lambda)
      close(whole(newton.model[l]:predict(X)), expected, 1e-6, "newton, " .. name)
      close(whole(newton.model:fitted()[l]), expected, 1e-6, "newton's fitted values, " .. name)
      close(whole(admm.model[l]:predict(X)), expected, 1e-6, "falkon, " .. name)
      close(whole(by_features.model[l]:predict(X)), dense_newton(loss_of(name), Z, Matrix.eye(15), lambda), 1e-6,
        "features_newton, " .. name)
    end
    assert(newton.residual[2] < 1e-9, "the gradient vanishes")
    alone_too("newton", name, newton, { p = p, epochs = 30, inner = 200, tol = 1e-12 })
  end
end)

-- The dual of the kernel machine: with f = Kα and 2nλ α = −g, g_i a subgradient at f_i, α is the solution. Here the
-- multipliers of the exact solution are found by coordinate ascent on the dual, each in closed form:
--   hinge     max Σ β − (1/4nλ) βᵀ(y y' ∘ K)β, 0 <= β <= 1,             2nλ α = y β
--   quantile  max Σ y β − (1/4nλ) βᵀKβ,        τ − 1 <= β <= τ,         2nλ α = β
local function dual(loss, lambda)
  local Y, c = everything(loss), 1 / (2 * n * lambda)
  local hinge = loss.name == "hinge"
  local alpha = Matrix.zeros(n, Y.ncols)
  for j = 1, Y.ncols do
    local beta, f, y, rows = {}, {}, {}, K:totable()
    for i = 1, n do beta[i], f[i], y[i] = 0, 0, Y(i, j) end
    for _ = 1, 4000 do
      local most = 0
      for i = 1, n do
        local gap, low, high = y[i] - f[i], loss.params.tau and loss.params.tau - 1, loss.params.tau
        if hinge then low, high = y[i] > 0 and 0 or -1, y[i] > 0 and 1 or 0 end
        local new = math.max(low, math.min(high, beta[i] + gap / (c * rows[i][i])))
        local step = new - beta[i]
        if step ~= 0 then
          local row = rows[i]
          for r = 1, n do f[r] = f[r] + c * step * row[r] end
          beta[i] = new
          most = math.max(most, math.abs(step))
        end
      end
      if most < 1e-13 then break end
    end
    for i = 1, n do alpha:set(i, j, c * beta[i]) end
  end
  return K * alpha, alpha
end

test("hinge and quantile by ADMM: the dual, and its conditions", function()
  for _, name in ipairs{ "hinge", "quantile" } do
    local loss, path = loss_of(name), { 0.3, 0.05 }
    local step = run("full_kernel", name, { lambda = path, b = 40, epochs = 3000, tol = 1e-8 })
    for l, lambda in ipairs(path) do
      local expected, exact = dual(loss, lambda)
      local F, alpha = whole(step.model[l]:predict(X)), whole(step.model[l].coefficients)
      close(F, expected, 1e-6, name .. ": scores, lambda = " .. lambda)
      close(objective(loss, alpha, lambda), objective(loss, exact, lambda), 1e-9, name .. ": objective")
      -- −2nλ α is a subgradient at f: ℓ(f + d) >= ℓ(f) − 2nλ⟨α, d⟩.
      for trial = 1, 20 do
        local D = Matrix.randn(n, F.ncols, { seed = trial }):scale(10 ^ -(trial % 3))
        local rise = loss.value(F + D, everything(loss)) - loss.value(F, everything(loss))
        assert(rise >= -2 * n * lambda * alpha:dot(D) - 1e-6, name .. ": a subgradient")
      end
    end
  end
end)

test("a start, resume to the bit", function()
  local o = { b = 40, epochs = 900, tol = 1e-10, lambda = 0.05 }
  local even = run("full_kernel", "huber", o)
  o.start = even.model
  local again = run("full_kernel", "huber", o)
  assert(again.epoch < 20, "a start at the solution")
  close(again.model[1]:predict(X), even.model[1]:predict(X), 1e-8, "start")
  for _, case in ipairs{ { "full_kernel", { b = 23, epochs = 9 } }, { "nystrom", { p = p, b = 7, epochs = 9 } },
    { "falkon", { p = p, epochs = 9 } }, { "newton", { p = p, epochs = 5, inner = 4 } } } do
    local method, more = unpack(case)
    local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
    local expected = run(method, "logistic", more).model.coefficients:clone()
    local function settings(resume)
      local all = { checkpoint = kbcd.checkpoint(path, { every = 0, resume = resume }) }
      for key, value in pairs(more) do all[key] = value end
      return all
    end
    local count, options = 0, settings(false)
    options.kernel, options.loss, options.lambda, options.seed = rbf, "logistic", lambdas, 5
    for _ in kbcd[method](X, labels, options) do
      count = count + 1
      if count == (more.b and 14 or 4) then break end
    end
    local resumed = settings(true)
    local A = run(method, "logistic", resumed).model.coefficients
    assert(resumed.checkpoint.resumed, method .. ": it resumes")
    equal(kbcd.allreduce_max(A.nrows > 0 and (A - expected):abs():max() or 0), 0, method .. ": resume, to the bit")
    resumed.checkpoint:remove()
  end
end)

test("weights are copies of rows", function()
  local twice = kbcd.Index.concat{ kbcd.Index.range(1, n), kbcd.Index.range(1, 30) }
  local w = spec.make(n, 1, function(i) return i <= 30 and 2 or 1 end)
  local o = { kernel = rbf, loss = loss_of("huber"), lambda = 0.05, b = 40, epochs = 900, tol = 1e-9 }
  local copies = last(kbcd.full_kernel(X:subset(twice), targets:subset(twice), o)).model[1]
  o.weights, o.lambda = mine(w), 0.05 * (n + 30) / n
  close(last(kbcd.full_kernel(X, targets, o)).model[1]:predict(X), copies:predict(X), 1e-6)
end)

test("more ranks than rows, and refusals", function()
  local few = kbcd.Index.range(1, 3)
  local y = DataSet(classes):subset(few)
  local Y3 = kbcd.labels.one_vs_all(y, { classes = 3, first = 0 })
  for _, method in ipairs{ "full_kernel", "newton" } do
    local step = last(kbcd[method](X:subset(few), Y3, { kernel = rbf, loss = "logistic", lambda = 0.1, epochs = 50,
      p = method == "newton" and 3 or nil }))
    assert(kbcd.allreduce_min(step.model[1]:predict(X):finite() and 1 or 0) == 1)
  end
  local function with(more)
    more.kernel, more.lambda = rbf, 0.1
    return more
  end
  fails(function() kbcd.full_kernel(X, targets, with{ loss = "logistic" }) end, "logistic", "two classes")
  fails(function() kbcd.full_kernel(X, targets, with{ loss = "hinge" }) end, "hinge", "one_vs_all")
  fails(function() kbcd.full_kernel(X, targets, with{ loss = "absolute" }) end, "option loss", "huber", "quantile")
  fails(function() kbcd.full_kernel(X, targets, with{ admm_penalty = 1 }) end, "admm_penalty", "squared")
  fails(function() kbcd.full_kernel(X, targets, with{ loss = "huber", targets = function() end }) end, "targets", "huber")
  fails(function() kbcd.newton(X, targets, with{ loss = "quantile", p = 5 }) end, "second derivatives")
  fails(function() kbcd.losses.huber{ delta = -1 } end, "delta", "> 0")
  fails(function() kbcd.losses.quantile{ tua = 0.5 } end, "tua", "known: tau")
  fails(function() return kbcd.losses.absolute end, "no loss 'absolute'", "quantile")
  local plain = kbcd.algorithm("plain", { "plain", kernel = "kernel", b = false }, function(_, _, options, r)
    r.kernel_model(options.kernel)
    return { iterate = function() end }
  end)
  fails(function() plain(X, targets, with{ loss = "huber" }) end, "option loss", "targets that change")
end)

spec.finish()
