-- cdpp and greedy against direct dense solves, and their steps against the formulas on dense matrices.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local X, Y, K, n, k, targets = problem.X, problem.Y, problem.K, problem.n, problem.k, problem.targets
local whole, last = problem.whole, problem.last

local small = { b = 2, epochs = 300, tol = 1e-13 }
checks.full(kbcd.cdpp, { lambda = { 0.1, 0.01 }, b = 50, epochs = 1000, tol = 1e-12 }, small)
checks.full(kbcd.greedy, { lambda = { 0.1, 0.01 }, b = 50, epochs = 1000, tol = 1e-12 }, small)

local lambda, b = 1e-4, 30
local A = K:clone():add_diagonal(n * lambda)
local function square(I) return A:take(I):t():take(I):clone() end

spec.test("cdpp: the steps are those of the formula", function()
  local alpha, z, zeta, epochs = Matrix.zeros(n, k), Matrix.zeros(n, k), 0, 8
  local m, early, late, t, zetas = math.ceil(n / b) + 1, 0, 0, 0, 0
  for epoch = 1, epochs do
    local blocks = Index.permutation(n, { seed = 5, stream = 2 * epoch }):partition(b)
    local order = Index.permutation(#blocks, { seed = 5, stream = 2 * epoch + 1 })
    for i = 1, #blocks do
      local I = blocks[order[i]]
      local R = (targets - A * alpha):take(I)
      local D = Matrix.zeros(n, k)
      D:add_rows(I, kbcd.local_solve(square(I), R))
      z = (z - D) * zeta
      alpha = alpha + D - z * (b / (2 * n))
      t = t + 1
      if t <= m then early = early + R:norm() ^ 2 else late = late + R:norm() ^ 2 end
      if t == 2 * m then
        local left = (late / early) ^ (1 / m)
        zeta, t, early, late = late < early and left / (2 - left) or 0, 0, 0, 0
        zetas = zetas + 1
        assert(zeta > 0 and zeta < 1, "momentum")
      end
    end
  end
  assert(zetas >= 2, "tuned more than once")
  local step = last(kbcd.cdpp(X, Y, checks.with{ lambda = lambda, b = b, epochs = epochs, partition = "fresh" }))
  spec.close(whole(step.model[1].coefficients), alpha, 1e-8)
  assert(step.residual[1] > 0, "the residual is reported")
end)

spec.test("greedy: the block with the largest residual is next", function()
  local alpha, blocks = Matrix.zeros(n, k), Index.permutation(n, { seed = 5, stream = 0 }):partition(b)
  local R = targets:clone()
  for _ = 1, 4 * #blocks do
    local best, largest = 0, -1
    for i, I in ipairs(blocks) do
      if R:take(I):norm() > largest then best, largest = i, R:take(I):norm() end
    end
    alpha:add_rows(blocks[best], kbcd.local_solve(square(blocks[best]), R:take(blocks[best])))
    R = targets - A * alpha
  end
  local step = last(kbcd.greedy(X, Y, checks.with{ lambda = lambda, b = b, epochs = 4 }))
  spec.close(whole(step.model[1].coefficients), alpha, 1e-8)
  spec.close(step.residual[1], R:norm() / targets:norm(), 1e-8, "residual")
end)

checks.fresh(kbcd.cdpp, { b = 50, epochs = 1000, tol = 1e-12 })

spec.test("bad options", function()
  spec.fails(function() kbcd.greedy(X, Y, checks.with{ partition = "regrouped" }) end, "greedy", "partition")
  for _, method in ipairs{ kbcd.cdpp, kbcd.greedy } do
    spec.fails(function() method(X, Y, checks.with{ b = 81 }) end, method.name, "b = 81")
    spec.fails(function() method(X, Y, checks.with{ zeta = 1 }) end, "unknown option 'zeta'")
  end
end)

spec.finish()
