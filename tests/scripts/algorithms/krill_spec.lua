-- krill and falkon against direct dense solves of Nyström's equations.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local X, Y, n, rbf, last = problem.X, problem.Y, problem.n, problem.rbf, problem.last

checks.nystrom(kbcd.krill, { epochs = 60 })
checks.nystrom(kbcd.falkon, { epochs = 60 })

spec.test("krill's rate depends on neither the centres nor λ", function()
  local Z = Matrix.randn(400, 3, { seed = 6 })
  local X_400, Y_400 = DataSet(Z), DataSet(Z:clone():sin():sum(2))
  local J = kbcd.centers.rpcholesky(X_400, 60, rbf, { seed = 1 })
  local K = kbcd.KernelBlock(X_400, J, rbf)
  for _, lambda in ipairs{ 1e-4, 1e-6, 1e-8 } do
    local H, right = kbcd.allreduce(K:gram(), K:t() * Y_400.rows)
    local exact = problem.whole(K * kbcd.local_solve(H:add(K:square(), 400 * lambda), right, { jitter = true }))
    local function distance(method)
      local step = last(method(X_400, Y_400, { kernel = rbf, lambda = lambda, p = 60, centers = J, epochs = 20 }))
      return (problem.whole(step.model[1]:predict(X_400)) - exact):norm() / exact:norm()
    end
    local krill, falkon = distance(kbcd.krill), distance(kbcd.falkon)
    assert(krill < 5e-4 and krill < 0.1 * falkon, ("lambda = %g: %g, falkon %g"):format(lambda, krill, falkon))
  end
end)

spec.test("ΦK of a KernelMatrix is the product with its columns", function()
  local J = kbcd.Index.sample(n, 20, { seed = 5 })
  local Phi = kbcd.sparse_sign(30, n, { seed = 2 })
  local K = kbcd.KernelMatrix(X, J, rbf, { b = 7 })
  local expected = kbcd.allreduce(Phi * problem.mine(problem.kernel_matrix(problem.data, problem.data:take(J))))
  spec.close(kbcd.allreduce(K:sketch(Phi)), expected, 1e-12)
  spec.equal(kbcd.allreduce(K.kept), 20 * n, "kept")
  spec.fails(function() kbcd.KernelMatrix(X, nil, rbf):sketch(Phi) end, "columns J")
end)

spec.test("columns of very different sizes each converge", function()
  local Z = problem.targets:clone()
  Z:cols(2):scale(1e-6)
  for _, method in ipairs{ kbcd.krill, kbcd.falkon } do
    local step = last(method(X, DataSet(Z), { kernel = rbf, lambda = 0.01, p = 20, seed = 5, epochs = 60 }))
    local F = problem.whole(step.model[1]:predict(X))
    local alpha, K_J = problem.nystrom_solution(kbcd.Index.sample(n, 20, { seed = 5, stream = 1 }), Z, 0.01)
    for j = 1, 2 do spec.close(F:cols(j), (K_J * alpha):cols(j), 1e-7, method.name .. ", column " .. j) end
  end
end)

spec.test("bad options", function()
  spec.fails(function() kbcd.krill(X, Y, checks.with{ p = 81 }) end, "p = 81", "n = 80")
  spec.fails(function() kbcd.krill(X, Y, checks.with{ p = 20, b = 5 }) end, "unknown option 'b'")
  spec.equal(last(kbcd.krill(X, DataSet(Matrix.ones(n, 1)), checks.with{ p = 1, epochs = 3 })).epoch, 3, "one centre")
end)

spec.finish()
