-- leave_one_out against a refit for each row that is left out, by direct dense solves.

local kbcd = require "kbcd"
local spec = require "spec"
local problem = require "small_problem"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, close, fails = spec.test, spec.close, spec.fails
local n, targets, X, Y, rbf, K = problem.n, problem.targets, problem.X, problem.Y, problem.rbf, problem.K
local whole = problem.whole

local lambdas = { 1e-1, 1e-3 }

-- Scores of every row i by w(rows, Y of these rows): coefficients of the columns F, from all rows but i.
local function refits(F, solve)
  local scores = Matrix.zeros(n, targets.ncols)
  for i = 1, n do
    local others = Index.range(1, n):without(Index{ i })
    scores:rows(i, i):copy(F:rows(i, i) * solve(F:take(others), targets:take(others), others, i))
  end
  return scores
end

local function check(result, l, expected, what)
  close(whole(result.scores[l]), expected, 1e-8, what)
  close(whole(result.residuals[l]), targets - expected, 1e-8, what .. ", residuals")
end

test("the full kernel", function()
  local result = kbcd.leave_one_out(X, Y, { kernel = rbf, lambda = lambdas })
  for l, lambda in ipairs(lambdas) do
    local scores = Matrix.zeros(n, targets.ncols)
    for i = 1, n do
      local others = Index.range(1, n):without(Index{ i })
      local A = K:take(others):t():take(others):clone():add_diagonal(n * lambda)
      scores:rows(i, i):copy(K:rows(i, i):t():take(others):t() * kbcd.local_solve(A, targets:take(others)))
    end
    check(result, l, scores, "lambda = " .. lambda)
    local H = kbcd.local_solve(K:clone():add_diagonal(n * lambda), K)
    close(whole(result.leverages):cols(l), spec.make(n, 1, function(i) return H(i, i) end), 1e-9, "leverages")
  end
end)

test("Nyström, with the centres held", function()
  local J = Index{ 3, 9, 27, 44, 71, 12, 80, 1 }
  local K_J = K:t():take(J):t():clone()
  local K_JJ = K_J:take(J)
  local result = kbcd.leave_one_out(X, Y, { kernel = rbf, centers = J, lambda = lambdas })
  for l, lambda in ipairs(lambdas) do
    check(result, l, refits(K_J, function(F, T)
      return kbcd.local_solve(F:t() * F + K_JJ * (n * lambda), F:t() * T)
    end), "lambda = " .. lambda)
  end
end)

test("random features, of f64, sparse and f32 rows", function()
  for _, p in ipairs{ 15, 100 } do  -- fewer and more than rows
    local map = kbcd.features.fourier{ kernel = rbf, p = p, seed = 3 }
    local Z = whole(kbcd.RandomFeaturesBlock(X, Index.range(1, p), map):dense())
    local result = kbcd.leave_one_out(X, Y, { map = map, lambda = lambdas })
    for l, lambda in ipairs(lambdas) do
      local expected = refits(Z, function(F, T)
        return kbcd.local_solve((F:t() * F):add_diagonal(n * lambda), F:t() * T)
      end)
      check(result, l, expected, ("p = %d, lambda = %g"):format(p, lambda))
      local one = kbcd.leave_one_out(X:to_sparse(), Y, { map = map, lambda = lambda })
      check(one, 1, expected, "one lambda, sparse")
      close(whole(kbcd.leave_one_out(X:to("f32"), Y, { map = map, lambda = lambda }).scores[1]), expected, 1e-3, "f32")
    end
  end
end)

test("more rows than a slab", function()
  local many = 5000
  local big = DataSet(Matrix.randn(many, 2, { seed = 1 }))
  local T = big.rows:clone():sin():sum(2)
  local map = kbcd.features.fourier{ kernel = rbf, p = 6 }
  local Z = kbcd.RandomFeaturesBlock(big, Index.range(1, 6), map):dense()
  local H = kbcd.allreduce(Z:gram()):add_diagonal(many * 1e-4)
  local F = Z * kbcd.local_solve(H, kbcd.allreduce(Z:t() * T))
  local h = kbcd.local_solve(H, Z:t():clone()):t():clone():cmul(Z):sum(2)
  local result = kbcd.leave_one_out(big, T, { map = map, lambda = 1e-4 })
  close(result.residuals[1], (T - F):cdiv(1 - h), 1e-9, "residuals")
end)

-- Of all rows as centres, that of the row left out gets the coefficient 0.
test("all rows as centres are the full kernel, also on more ranks than rows", function()
  for _, count in ipairs{ 3, 30 } do
    local few, T = DataSet(problem.data:rows(1, count)), DataSet(targets:rows(1, count))
    local full = kbcd.leave_one_out(few, T, { kernel = rbf, lambda = 0.1 }).scores[1]
    local centres = kbcd.leave_one_out(few, T, { kernel = rbf, centers = Index.range(1, count), lambda = 0.1 }).scores[1]
    close(whole(centres), whole(full), 1e-8, count .. " rows")
  end
end)

test("what it refuses", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 5 }
  fails(function() kbcd.leave_one_out(X, Y, { lambda = 1 }) end, "leave_one_out", "a kernel or a map")
  fails(function() kbcd.leave_one_out(X, Y, { lambda = 1, kernel = rbf, map = map }) end, "not both")
  fails(function() kbcd.leave_one_out(X, Y, { lambda = 1, map = map, centers = Index{ 1 } }) end, "centers")
  fails(function() kbcd.leave_one_out(X, Y, { lambda = 0, map = map }) end, "lambda", "> 0")
  fails(function() kbcd.leave_one_out(X, Y, { kernel = rbf }) end, "lambda")
  local budget = kbcd.memory_budget()
  kbcd.memory_budget(1e5)
  fails(function() kbcd.leave_one_out(X, Y, { lambda = 1, kernel = rbf }) end, "80 rows", "--memory", "centers")
  kbcd.memory_budget(budget)
end)

spec.finish()
