-- landmarks against direct dense solves and against its formula on dense matrices; ragged blocks, blocks of landmarks alone.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local Index = kbcd.Index
local X, Y, K, n, targets = problem.X, problem.Y, problem.K, problem.n, problem.targets
local whole, last = problem.whole, problem.last

checks.full(kbcd.landmarks, { b = 25, d = 30, epochs = 300, tol = 1e-13 }, { b = 2, d = 1, epochs = 300, tol = 1e-13 })

-- The step as the paper has it: the Schur complement of the landmarks.
spec.test("an epoch is block Gauss–Seidel on the Schur complement", function()
  local lambda, b, d = 1e-3, 25, 30
  local A = K:clone():add_diagonal(n * lambda)
  local S = Index.sample(n, d, { seed = 5, stream = 1 })
  local function part(I, J) return A:take(I):t():take(J):t():clone() end
  local alpha = kbcd.Matrix.zeros(n, problem.k)
  alpha:add_rows(S, kbcd.local_solve(part(S, S), targets:take(S)))
  local L = kbcd.chol(part(S, S)).lower
  for epoch = 1, 2 do
    local blocks = Index.permutation(n, { seed = 5, stream = 2 * epoch }):partition(b)
    local order = Index.permutation(#blocks, { seed = 5, stream = 2 * epoch + 1 })
    for i = 1, #blocks do
      local J = blocks[order[i]]:without(S)
      local W = L:trsolve(part(S, J))
      local Delta = kbcd.local_solve(part(J, J) - W:t() * W, (targets - A * alpha):take(J))
      alpha:add_rows(J, Delta)
      alpha:add_rows(S, L:trsolve(W * Delta, { transpose = true }):scale(-1))
    end
    local step = last(kbcd.landmarks(X, Y, checks.with{ lambda = lambda, b = b, d = d, epochs = epoch }))
    spec.close(whole(step.model[1].coefficients), alpha, 1e-9, "epoch " .. epoch)
  end
end)

spec.test("residuals: of blocks before their steps, in a fixed partition, too; of the equations after an epoch", function()
  local function residual(o) return last(kbcd.landmarks(X, Y, checks.with(o))).residual[1] end
  local o = { lambda = 1e-3, b = 25, d = 10, epochs = 6, partition = "fixed" }
  local alpha
  for step in kbcd.landmarks(X, Y, checks.with(o)) do
    if step.epoch == 5 and step.epoch_end then alpha = whole(step.model[1].coefficients):clone() end
    if step.epoch == 6 and step.block == 1 then                     -- the first block of epoch 6, and its part of Y
      local blocks = Index.permutation(n, { seed = 5, stream = 0 }):partition(25)
      local J = blocks[Index.permutation(4, { seed = 5, stream = 1 })[1]]
      local R = targets - K * alpha - n * 1e-3 * alpha
      spec.close(step.residual_before[1], R:take(J):norm() / targets:take(J):norm(), 1e-6, "residual of the block")
      spec.equal(step.residual, nil, "within an epoch")
    end
    if step.epoch_end then
      local now = whole(step.model[1].coefficients)
      local R = targets - K * now - n * 1e-3 * now
      spec.close(step.residual[1], R:norm() / targets:norm(), 1e-9, "residual of the equations")
    end
  end
  assert(residual(o) < residual{ lambda = 1e-3, b = 25, d = 10, epochs = 2, partition = "fixed" }, "it falls")
end)

spec.test("landmarks beat plain block descent in one epoch", function()
  local function distance(method, o)
    local exact = kbcd.local_solve(K:clone():add_diagonal(n * 1e-3), targets)
    return (K * (whole(last(method(X, Y, checks.with(o))).model[1].coefficients) - exact)):norm() / (K * exact):norm()
  end
  local plain = distance(kbcd.full_kernel, { lambda = 1e-3, b = 10 })
  local more = distance(kbcd.landmarks, { lambda = 1e-3, b = 10, d = 20 })
  assert(more < 0.7 * plain, ("%g is not far below %g"):format(more, plain))
end)

spec.test("as many landmarks as rows, and bad options", function()
  local step = last(kbcd.landmarks(X, Y, checks.with{ lambda = 0.1, b = 25, d = n }))
  local exact = kbcd.local_solve(K:clone():add_diagonal(n * 0.1), targets)
  spec.close(whole(step.model[1].coefficients), exact, 1e-10, "d = n is a direct solve")
  spec.close(whole(last(kbcd.landmarks(X, Y, checks.with{ lambda = 0.1, b = 1, d = n - 1 })).model[1].coefficients), exact,
    1e-9, "one row is left")
  spec.fails(function() kbcd.landmarks(X, Y, checks.with{ d = n + 1 }) end, "d = 81", "n = 80")
  spec.fails(function() kbcd.landmarks(X, Y, checks.with{ partition = "regrouped" }) end, "landmarks", "partition")
  spec.fails(function() kbcd.landmarks(X, Y, checks.with{ d = 0 }) end, "d", "from 1 up")
  spec.fails(function() kbcd.landmarks(X, Y, checks.with{ b = 81 }) end, "b = 81")
end)

spec.finish()
