-- askotch against direct dense solves, and its first steps against the formula on dense matrices.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local X, Y, K, n, k, targets = problem.X, problem.Y, problem.K, problem.n, problem.k, problem.targets

checks.full(kbcd.askotch, { b = 40, rank = 30, epochs = 600, tol = 1e-12 }, { b = 2, rank = 1, epochs = 600, tol = 1e-13 })

-- With a sketch of full rank P is A_BB + s_r I but for rounding, so that the steps can be written down.
spec.test("the steps are those of the formula", function()
  local lambda, b = 2e-3, 16
  local A = K:clone():add_diagonal(n * lambda)
  local z, v, w = Matrix.zeros(n, k), Matrix.zeros(n, k), nil
  local nu, mu = n / b, math.min(n * lambda, b / n)
  local beta, gamma = 1 - math.sqrt(mu / nu), 1 / math.sqrt(mu * nu)
  local a = 1 / (1 + gamma * nu)
  assert(mu == n * lambda, "not clamped")
  for epoch = 1, 2 do
    local blocks = Index.permutation(n, { seed = 5, stream = 2 * epoch }):partition(b)
    local order = Index.permutation(#blocks, { seed = 5, stream = 2 * epoch + 1 })
    for i = 1, #blocks do
      local B = blocks[order[i]]
      local A_BB = A:take(B):t():take(B):clone()
      local P = A_BB:clone():add_diagonal((A_BB:eig())(1, 1) - n * lambda)
      local values = kbcd.local_solve(P, A_BB)                     -- its eigenvalues σ / (σ + s_r) are those of P^-½ A P^-½
      local x = Matrix.ones(b, 1)
      for _ = 1, 500 do
        x = values * x
        x:scale(1 / x:norm())
      end
      local D = Matrix.zeros(n, k)
      D:add_rows(B, kbcd.local_solve(P, (A * z - targets):take(B)):scale(1 / (x:t() * values * x)(1, 1)))
      w = z - D
      v = beta * v + (1 - beta) * z - gamma * D
      z = a * v + (1 - a) * w
    end
  end
  local step = problem.last(kbcd.askotch(X, Y, checks.with{ lambda = lambda, b = b, rank = b, epochs = 2,
    partition = "fresh" }))
  spec.close(problem.whole(step.model[1].coefficients), w, 0.02, "after two epochs")
end)

checks.fresh(kbcd.askotch, { b = 40, rank = 30, epochs = 600, tol = 1e-12 })

spec.test("bad options", function()
  spec.fails(function() kbcd.askotch(X, Y, checks.with{ b = 10, rank = 11 }) end, "rank = 11", "b = 10")
  spec.fails(function() kbcd.askotch(X, Y, checks.with{ b = 81 }) end, "b = 81")
  spec.fails(function() kbcd.askotch(X, Y, checks.with{ rank = 0.5 }) end, "rank", "from 1 up")
end)

spec.finish()
