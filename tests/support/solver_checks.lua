-- solver_checks.full(method, o), solver_checks.nystrom(method, o): what every solver of the exact kernel machine, or of
-- Nyström's equations, must do, with options o that make it converge: the direct dense solve for a path of λ, each λ as if it
-- were alone, the fitted values, weights, a start, targets that change, zero targets, more ranks than rows, resume

local kbcd = require "kbcd"
local spec, problem = require "spec", require "small_problem"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close = spec.test, spec.equal, spec.close
local n, targets, X, Y, rbf, K = problem.n, problem.targets, problem.X, problem.Y, problem.rbf, problem.K
local whole, mine, last = problem.whole, problem.mine, problem.last
local lambdas = { 0.1, 1e-3 }
local p = 20

-- The options of a run: those of o, changed.
local function with(o, changes)
  local all = { kernel = rbf, lambda = lambdas, seed = 5 }
  for _, more in ipairs{ o, changes or {} } do for name, value in pairs(more) do all[name] = value end end
  return all
end

local function weights() return Matrix.rand(n, 1, { seed = 8 }):add(0.2) end

-- What the problem's solution is: scores(lambda, targets [, weights]) of the training rows.
local function full_scores(lambda, Z, w)
  local ridge = w and w:clone():pow(-1):scale(n * lambda) or n * lambda
  return K * kbcd.local_solve(K:clone():add_diagonal(ridge), Z)
end

local function nystrom_scores(lambda, Z, w)
  local alpha, K_J = problem.nystrom_solution(kbcd.Index.sample(n, p, { seed = 5, stream = 1 }), Z, lambda, w)
  return K_J * alpha
end

local function resumes(method, o, steps)
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
  local expected = last(method(X, Y, with(o))).model.coefficients:clone()
  local function settings(resume) return with(o, { checkpoint = kbcd.checkpoint(path, { every = 0, resume = resume }) }) end
  local count = 0
  for _ in method(X, Y, settings(false)) do
    count = count + 1
    if count == steps then break end
  end
  local again = settings(true)
  local run = method(X, Y, again)
  assert(again.checkpoint.resumed, "it resumes")
  local A = last(run).model.coefficients
  equal(kbcd.allreduce_max(A.nrows > 0 and (A - expected):abs():max() or 0), 0, "resume, to the bit")
  again.checkpoint:remove()
end

local function check(method, o, scores, tolerance)
  local name, path = method.name, o.lambda or lambdas
  test(name .. ": the direct solve, for a path of λ, each as if it were alone", function()
    local step = last(method(X, Y, with(o, { test = X })))
    for l, lambda in ipairs(path) do
      local expected = scores(lambda, targets)
      close(whole(step.model[l]:predict(X)), expected, tolerance, "scores, lambda = " .. lambda)
      close(whole(step.test_scores[l]), expected, tolerance, "test scores")
      close(whole(step.model:fitted()[l]), expected, 100 * tolerance, "fitted values")
      local alone = last(method(X, Y, with(o, { lambda = lambda }))).model[1]
      close(alone.coefficients, step.model[l].coefficients, 1e-6, "alone")
    end
  end)
  test(name .. ": weights, targets that change, a start, zero targets", function()
    local w = weights()
    local weighted = last(method(X, Y, with(o, { weights = mine(w), lambda = 0.1 }))).model[1]
    close(whole(weighted:predict(X)), scores(0.1, targets, w), tolerance, "weights")
    local changed = with(o, { lambda = 0.1, targets = function(epoch) return epoch == 2 and mine(targets * 2) or nil end })
    close(whole(last(method(X, Y, changed)).model[1]:predict(X)), scores(0.1, targets * 2), tolerance, "targets")
    local start = last(method(X, Y, with(o, { lambda = 0.1, epochs = 2 }))).model
    close(whole(last(method(X, Y, with(o, { lambda = 0.1, start = start }))).model[1]:predict(X)), scores(0.1, targets),
      tolerance, "start")
    local zero = last(method(X, DataSet(Matrix.zeros(n, 1)), with(o, { epochs = 2 })))
    equal(zero.model.coefficients:norm(), 0, "zero targets")
  end)
  test(name .. ": resume to the bit", function() resumes(method, with(o, { epochs = 9 }), 7) end)
end

local checks = { with = with, lambdas = lambdas }

function checks.full(method, o, small)
  check(method, o, full_scores, 1e-8)
  test(method.name .. ": more ranks than rows", function()
    local few = kbcd.Index.range(1, 3)
    local step = last(method(X:subset(few), Y:subset(few), with(small or o, { lambda = 0.1 })))
    local K_3 = K:block(1, 3, 1, 3):clone()
    close(whole(step.model[1].coefficients), kbcd.local_solve(K_3:add_diagonal(0.3), targets:rows(1, 3)), 1e-8)
  end)
end

-- The other partitions of a method whose default is that of kept tiles.
function checks.fresh(method, o)
  test(method.name .. ": partitions", function()
    equal(method.schema.partition[2], "regrouped", "default")
    for _, partition in ipairs{ "fresh", "fixed" } do
      local step = last(method(X, Y, with(o, { partition = partition, lambda = 0.1 })))
      close(whole(step.model[1]:predict(X)), full_scores(0.1, targets), 1e-8, partition)
    end
  end)
end

function checks.nystrom(method, o)
  o = with(o, { p = p })
  check(method, o, nystrom_scores, 1e-7)
  test(method.name .. ": more ranks than rows", function()
    local few = kbcd.Index.range(1, 3)
    local step = last(method(X:subset(few), Y:subset(few), with(o, { lambda = 0.1, p = 3 })))
    local K_3 = K:block(1, 3, 1, 3):clone()
    local exact = K_3 * kbcd.local_solve(K_3:clone():add_diagonal(0.3), targets:rows(1, 3))
    close(whole(step.model[1]:predict(X:subset(few))), exact, 1e-6)
  end)
end

return checks
