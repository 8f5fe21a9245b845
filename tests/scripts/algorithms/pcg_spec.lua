-- pcg against direct dense solves, with each preconditioner; f32 data and a small λ.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local X, Y, K, n, targets, rbf, last = problem.X, problem.Y, problem.K, problem.n, problem.targets, problem.rbf, problem.last

checks.full(kbcd.pcg, { epochs = 120, rank = 20 }, { epochs = 10, rank = 2 })

spec.test("every preconditioner gives the solution, the better ones in fewer iterations", function()
  local taken = {}
  for _, name in ipairs{ "rpcholesky", "nystrom", "none" } do
    local step = last(kbcd.pcg(X, Y, checks.with{ lambda = 1e-3, preconditioner = name, rank = 40, epochs = 300,
      tol = 1e-10 }))
    local alpha = kbcd.local_solve(K:clone():add_diagonal(n * 1e-3), targets)
    spec.close(problem.whole(step.model[1].coefficients), alpha, 1e-8, name)
    taken[name] = step.epoch
  end
  assert(taken.rpcholesky < 0.5 * taken.none and taken.nystrom < 0.5 * taken.none,
    ("%d, %d, %d"):format(taken.rpcholesky, taken.nystrom, taken.none))
end)

spec.test("f32 data, a small λ: the residual is the true one, and falls", function()
  local lambda = 1e-6
  local step = last(kbcd.pcg(X:to "f32", Y, checks.with{ lambda = lambda, rank = 60, epochs = 200 }))
  local alpha = problem.whole(step.model[1].coefficients)
  local R = targets - K * alpha - n * lambda * alpha
  spec.close(R:norm() / targets:norm(), step.residual[1], 0.5, "residual")
  assert(step.residual[1] < 1e-2, "residual " .. step.residual[1])
end)

spec.test("bad options", function()
  local function refused(o, ...)
    spec.fails(function() kbcd.pcg(X, Y, checks.with(o)) end, ...)
  end
  refused({ rank = n + 1 }, "rank = 81", "n = 80")
  refused({ rank = 0 }, "rank", "from 1 up")
  refused({ preconditioner = "ssor" }, "preconditioner", "'rpcholesky', 'nystrom', 'none'")
  refused({ b = 10 }, "unknown option 'b'")
  spec.fails(function() kbcd.pcg(X, Y, { kernel = rbf }) end, "lambda is missing")
end)

spec.finish()
