-- growing against direct dense solves for every p, on nested centres; λ paths, weights, targets, resume, ragged sizes, slabs.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local growing_factor = require "kbcd.solvers.growing_factor"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local X, Y, n, targets, rbf = problem.X, problem.Y, problem.n, problem.targets, problem.rbf
local whole, mine, last = problem.whole, problem.mine, problem.last
local lambdas, sizes = { 0.1, 1e-3, 1e-2, 1, 1e-4 }, { 3, 10, 11, 20 }
local J = Index.sample(n, 20, { seed = 5, stream = 1 })

local function with(changes) return checks.with({ lambda = lambdas, sizes = sizes }, changes) end

spec.test("every p has the solution of a direct solve on the first p centres", function()
  local seen = 0
  for step in kbcd.growing(X, Y, with{ test = X }) do
    seen = seen + 1
    spec.equal(step.p, sizes[seen], "p")
    spec.equal(step.epochs, #sizes, "epochs")
    for l, lambda in ipairs(lambdas) do
      local alpha, K_J = problem.nystrom_solution(J:slice(1, step.p), targets, lambda)
      local what = ("p = %d, lambda = %g"):format(step.p, lambda)
      spec.close(whole(step.model[l]:predict(X)), K_J * alpha, 1e-8, what)
      spec.close(whole(step.test_scores[l]), K_J * alpha, 1e-8, what .. ", test scores")
      spec.close(whole(step.model:fitted()[l]), K_J * alpha, 1e-8, what .. ", fitted values")
      spec.close(step.residual[l], (targets - K_J * alpha):norm() / targets:norm(), 1e-8, what .. ", misfit")
    end
  end
  spec.equal(seen, #sizes)
end)

spec.test("weights, targets that change, more ranks than rows", function()
  local w = Matrix.rand(n, 1, { seed = 8 }):add(0.2)
  local function scores(Z, weights)
    local alpha, K_J = problem.nystrom_solution(J, Z, 0.1, weights)
    return K_J * alpha
  end
  spec.close(whole(last(kbcd.growing(X, Y, with{ lambda = 0.1, weights = mine(w) })).model[1]:predict(X)),
    scores(targets, w), 1e-8, "weights")
  local changed = with{ lambda = 0.1, targets = function(epoch) return epoch == 3 and mine(targets * 2) or nil end }
  spec.close(whole(last(kbcd.growing(X, Y, changed)).model[1]:predict(X)), scores(targets * 2), 1e-8, "targets")
  local few = Index.range(1, 3)
  local step = last(kbcd.growing(X:subset(few), Y:subset(few), { kernel = rbf, lambda = 0.1, p = 3 }))
  local K_3 = problem.K:block(1, 3, 1, 3):clone()
  spec.close(whole(step.model[1]:predict(X:subset(few))),
    K_3 * kbcd.local_solve(K_3:clone():add_diagonal(0.3), targets:rows(1, 3)), 1e-8, "three rows")
end)

spec.test("many rows in several slabs, in f32, are those of block descent with one block", function()
  local Z = Matrix.randn(9000, 3, { seed = 6 })
  local X_f32, T = DataSet(Z):to "f32", DataSet(Z:clone():sin():sum(2))
  local o = { kernel = rbf, lambda = 1e-3, p = 40, seed = 2 }
  local expected = last(kbcd.nystrom(X_f32, T, o)).model[1]
  spec.close(last(kbcd.growing(X_f32, T, o)).model[1]:predict(X_f32), expected:predict(X_f32), 1e-4)
end)

spec.test("centres that f32 can hardly tell apart: nearly the scores of f64", function()
  local Z = Matrix.randn(300, 2, { seed = 7 })
  local T = DataSet(Z:clone():sin():sum(2))
  local o = { kernel = kbcd.kernel.rbf{ sigma = 2 }, lambda = 1e-3, sizes = { 10, 30, 90 }, seed = 2 }
  local exact = last(kbcd.growing(DataSet(Z), T, o)).model[1]:predict(DataSet(Z))
  local X_f32 = DataSet(Z):to "f32"
  spec.close(last(kbcd.growing(X_f32, T, o)).model[1]:predict(X_f32), exact, 2e-3)
end)

spec.test("resume to the bit", function()
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
  local expected = last(kbcd.growing(X, Y, with())).model.coefficients:clone()
  local count = 0
  for _ in kbcd.growing(X, Y, with{ checkpoint = kbcd.checkpoint(path, { every = 0 }) }) do
    count = count + 1
    if count == 3 then break end
  end
  local checkpoint = kbcd.checkpoint(path, { every = 0, resume = true })
  local run = kbcd.growing(X, Y, with{ checkpoint = checkpoint })
  spec.equal(checkpoint.resumed.epoch, 2, "resumes after")
  spec.equal((last(run).model.coefficients - expected):abs():max(), 0, "bits")
  checkpoint:remove()
end)

spec.test("a factor that grows is the factor of the whole", function()
  local A = Matrix.randn(30, 12, { seed = 3 })
  local H, factor = A:t() * A, growing_factor(12)
  for _, size in ipairs{ 1, 5, 12 } do
    factor:add(H:block(1, size, factor.size + 1, size))
    local B = Matrix.randn(size, 2, { seed = size })
    spec.close(factor:solve(B), kbcd.local_solve(H:block(1, size, 1, size), B), 1e-10, "size " .. size)
  end
end)

spec.test("options", function()
  local function seen(o)
    local list = {}
    for step in kbcd.growing(X, Y, checks.with(o)) do list[#list + 1] = step.p end
    return table.concat(list, " ")
  end
  spec.equal(seen{ p = 20 }, "3 5 10 20", "p/8, p/4, p/2, p")
  spec.equal(seen{ p = 1 }, "1")
  spec.equal(seen{ sizes = { 4, 9, 30 }, epochs = 2 }, "4 9", "fewer epochs")
  spec.equal(seen{ sizes = { 4, 9 }, epochs = 8 }, "4 9", "more epochs than sizes")
  for _, case in ipairs{ { sizes = { 9, 4 } }, { sizes = { 4, 4 } }, { sizes = { 4, 9 }, p = 10 } } do
    spec.fails(function() seen(case) end, "sizes", "small to large")
  end
  spec.fails(function() seen{ sizes = { 2.5 } } end, "sizes", "whole numbers")
  spec.fails(function() seen{ sizes = {} } end, "sizes", "whole numbers")
  spec.fails(function() seen{ sizes = { 10, 81 } } end, "p = 81", "n = 80")
end)

spec.finish()
