-- rfm and metrics: gradients against finite differences, models against direct solves in the metric, widths of columns
-- against rows that were scaled before, files, resume, bad input.

local kbcd = require "kbcd"
local spec, problem = require "spec", require "small_problem"
local X, n, d, data, last, whole = problem.X, problem.n, problem.d, problem.data, problem.last, problem.whole
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet

local kernels = { kbcd.kernel.rbf{ sigma = 1.3 }, kbcd.kernel.laplacian{ sigma = 2 } }
for _, nu in ipairs{ 0.5, 1.5, 2.5 } do kernels[#kernels + 1] = kbcd.kernel.matern{ nu = nu, sigma = 1.5 } end

-- y depends on column 1 alone, and has a mean.
local targets = spec.make(n, 2, function(i, j) return 5 + j * math.sin(2 * data(i, 1)) + 0.1 * data(i, 2) end)
local Y = DataSet(targets)

local function temporary(f)
  local name = os.tmpname()
  local code = Matrix.zeros(1, 64)
  if kbcd.rank() == 0 then for i = 1, #name do code:set(1, i, name:byte(i)) end end
  kbcd.allreduce(code)
  local text = {}
  for i = 1, 64 do if code(1, i) > 0 then text[#text + 1] = string.char(code(1, i)) end end
  if kbcd.rank() ~= 0 then os.remove(name) end
  local path = table.concat(text)
  f(path)
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end

spec.test("gradients are those of finite differences", function()
  local alpha, h, m = Matrix.randn(n, 2, { seed = 9 }), 1e-5, 7
  local at = Matrix.randn(m, d, { seed = 10 })
  for _, kernel in ipairs(kernels) do
    local model = kbcd.Model{ kernel = kernel, X = X, coefficients = problem.mine(alpha):clone() }
    local gradients = kbcd.kernel_gradient(X, problem.mine(alpha):clone(), DataSet(at), kernel)
    for c = 1, 2 do
      for e = 1, d do
        local step = spec.make(m, d, function(_, j) return j == e and h or 0 end)
        local up, down = model[1]:predict(DataSet(at + step)), model[1]:predict(DataSet(at - step))
        local slope = (whole(up) - whole(down)):cols(c):clone():scale(1 / (2 * h))
        spec.close(gradients[c]:cols(e):clone(), slope, 1e-6, tostring(kernel) .. ", column " .. e)
      end
    end
  end
end)

spec.test("a gradient at a centre is finite", function()
  local alpha = problem.mine(Matrix.randn(n, 1, { seed = 9 })):clone()
  for _, kernel in ipairs(kernels) do
    assert(kbcd.kernel_gradient(X, alpha, X, kernel)[1]:finite(), tostring(kernel))
  end
  spec.fails(function() kbcd.kernel_gradient(X, alpha, X, kbcd.kernel.linear()) end, "Euclidean or Manhattan")
  spec.fails(function() kbcd.kernel.polynomial{}:slope() end, "polynomial", "rbf")
end)

-- (K + nλI)⁻¹(Y − mean) of rows x L, by a dense solve with a kernel by plain loops.
local function direct(model, lambda)
  local L = model.metric
  local U = L.ncols == 1 and data:clone():cmul(L:t()) or data * L
  local K = kbcd.gather(kbcd.KernelBlock(DataSet(U), Index.range(1, n), model.kernel):dense())
  local mean = targets:mean(1)
  return kbcd.local_solve(K:clone():add_diagonal(n * lambda), targets:clone():sub(mean)), K, mean
end

spec.test("the model solves its equations in the metric that it learned", function()
  for _, o in ipairs{ {}, { kernel = kbcd.kernel.rbf{ sigma = 1 } }, { kernel = kernels[3], diagonal = true, root = false },
    { sample = 40, accuracy = 1e-12, iterations = 400, kernel = kernels[4] } } do
    o.lambda, o.epochs = { 1e-2, 1e-3 }, 2
    local step = last(kbcd.rfm(X, Y, o))
    for l, lambda in ipairs(o.lambda) do
      local alpha, K, mean = direct(step.model, lambda)
      spec.close(whole(step.model[l].coefficients), alpha, 1e-8, "coefficients")
      spec.close(whole(step.model[l]:predict(X)), (K * alpha):add(mean), 1e-8, "scores")
      spec.close(whole(step.model:fitted()[l]), (K * alpha):add(mean), 1e-8, "fitted values")
    end
    local M = kbcd.metric.diagonal(step.model.metric)
    assert(M(1, 1) > 2 * M(3, 1), "column 1 counts more than column 3")
    spec.equal(#step.own_error, 2, "errors")
  end
end)

spec.test("leave-one-out errors are those of models without a row", function()
  local lambda = 1e-2
  local step = last(kbcd.rfm(X, Y, { lambda = lambda, epochs = 1 }))
  local _, K, mean = direct(step.model, lambda)
  local sum, Z = 0, targets:clone():sub(mean)
  for i = 1, n do
    local others = {}
    for j = 1, n do if j ~= i then others[#others + 1] = j end end
    local I = Index(others)
    local A = K:take(I):t():clone():take(I):add_diagonal(n * lambda)
    local f = K:rows(i):clone():t():clone():take(I):t() * kbcd.local_solve(A, Z:take(I))
    sum = sum + (f - Z:rows(i)):norm() ^ 2
  end
  spec.close(step.own_error[1], math.sqrt(sum / (2 * n)), 1e-8, "error")
end)

spec.test("p centres", function()
  local step = last(kbcd.rfm(X, Y, { lambda = 1e-3, epochs = 2, p = 25, kernel = kernels[4] }))
  local _, K, mean = direct(step.model, 1e-3)
  local J = step.model.centers
  local K_J = K:t():clone():take(J):t():clone()
  local H = K_J:t() * K_J + K_J:take(J) * (n * 1e-3)
  local alpha = kbcd.local_solve(H, K_J:t() * targets:clone():sub(mean))
  spec.close(whole(step.model[1]:predict(X)), (K_J * alpha):add(mean), 1e-7, "scores")
end)

spec.test("a width for each column is that of rows divided by the widths", function()
  local widths = { 0.5, 1, 4 }
  local scaled = spec.make(n, d, function(i, j) return data(i, j) / widths[j] end)
  local o = { lambda = 1e-3, b = 30, epochs = 3 }
  local function scores(rows, kernel, metric)
    o.kernel, o.metric, o.test = kernel, metric, DataSet(rows)
    local step = last(kbcd.full_kernel(DataSet(rows), Y, o))
    spec.close(whole(step.test_scores[1]), whole(step.model[1]:predict(DataSet(rows))), 1e-10, "test scores")
    return whole(step.model[1]:predict(DataSet(rows)))
  end
  local expected = scores(scaled, kbcd.kernel.rbf{ sigma = 1 })
  spec.close(scores(data, kbcd.kernel.rbf{ sigma = widths }), expected, 1e-10, "sigma as a list")
  spec.close(scores(data, kbcd.kernel.rbf{ sigma = 1 }, Matrix{ { 2 }, { 1 }, { 0.25 } }), expected, 1e-10, "factors")
  spec.close(scores(data, kbcd.kernel.rbf{ sigma = 1 }, Matrix{ { 2, 0, 0 }, { 0, 1, 0 }, { 0, 0, 0.25 } }), expected,
    1e-10, "a matrix")
end)

spec.test("a file gives the same scores, and is checked", function()
  temporary(function(path)
    for _, o in ipairs{ { kernel = kernels[4] }, { kernel = kernels[2] }, { kernel = kernels[4], p = 20 } } do
      o.lambda, o.epochs = 1e-3, 2
      local model = last(kbcd.rfm(X, Y, o)).model
      model:save(path)
      local loaded = kbcd.model_file.load(path)
      spec.close(whole(loaded[1]:predict(X)), whole(model[1]:predict(X)), 1e-14, "scores")
      spec.close(loaded.metric, model.metric, 0, "metric")
    end
  end)
end)

spec.test("a run that resumes has the same bits", function()
  temporary(function(path)
    local function run(resume, stop)
      local o = { lambda = { 1e-2, 1e-4 }, epochs = 4, sample = 50,
        checkpoint = kbcd.checkpoint(path .. ".checkpoint", { every_blocks = 1, resume = resume }) }
      local step
      for s in kbcd.rfm(X, Y, o) do
        step = s
        if s.epoch == stop then break end
      end
      if not stop then o.checkpoint:remove() end
      return step
    end
    local expected = run(false).model
    run(false, 3)
    local resumed = run(true).model
    assert(resumed.coefficients:equals(expected.coefficients, 0) and resumed.metric:equals(expected.metric, 0), "bits")
  end)
end)

spec.test("bad input", function()
  local function refused(o, ...)
    local all = { lambda = 1e-3, kernel = problem.rbf }
    for name, value in pairs(o) do all[name] = value end
    spec.fails(function() last(kbcd.full_kernel(X, Y, all)) end, ...)
  end
  refused({ kernel = kbcd.kernel.rbf{ sigma = { 1, 2 } } }, "each of the 3 columns", "got 2")
  refused({ metric = Matrix.eye(4) }, "metric", "3 rows expected", "4x4")
  refused({ metric = Matrix.full(3, 1, 0 / 0) }, "metric", "finite")
  refused({ kernel = kbcd.kernel.rbf{ sigma = { 1, 2, 3 } }, metric = Matrix.eye(3) }, "one of them")
  spec.fails(function() kbcd.kernel.rbf{ sigma = {} } end, "empty list")
  spec.fails(function() kbcd.kernel.rbf{ sigma = { 1, -1, 2 } } end, "sigma", "> 0")
  spec.fails(function() kbcd.KernelBlock(X, Index.range(1, 2), kbcd.kernel.rbf{ sigma = { 1, 2, 3 } }) end, "each column")
  spec.fails(function() last(kbcd.rfm(X, Y, { weights = Matrix.full(X.local_n, 1, 1) })) end, "weights")
  spec.fails(function() last(kbcd.rfm(X, Y, { kernel = kbcd.kernel.linear() })) end, "linear")
end)

spec.finish()
