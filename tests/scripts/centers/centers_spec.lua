-- The ways to choose centres: distinct rows, the same on every rank; pivots and scores against dense algebra.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close, fails, make = spec.test, spec.equal, spec.close, spec.fails, spec.make

-- Half of the rows in a narrow heap, the others far around it.
local n, d = 240, 2
local data = make(n, d, function(i, j)
  local x = Matrix.randn(1, d, { seed = 5, first_row = i })(1, j)
  return i <= n / 2 and 0.02 * x or 4 * x
end)
local kernel = kbcd.kernel.rbf{ sigma = 1 }

local function check(J, p)
  equal(#J, p)
  local seen = {}
  for i = 1, p do
    assert(J[i] >= 1 and J[i] <= n and not seen[J[i]], "distinct rows")
    seen[J[i]] = true
    equal(kbcd.allreduce_max(J[i]), J[i], "the same on every rank")
    equal(kbcd.allreduce_min(J[i]), J[i], "the same on every rank")
  end
end

-- |K - K_J K_JJ^-1 K_J'| in the trace.
local function missed(K, J)
  local K_J = K:take(J):t():clone()
  local L = K_J:take(J):to("f64"):add_diagonal(1e-10):chol()
  return K:trace() - L:trsolve(K_J:t()):square():sum()
end

test("every way gives p distinct rows on every rank", function()
  for _, name in ipairs{ "uniform", "rpcholesky", "leverage" } do
    for _, X in ipairs{ DataSet(data), DataSet(data):to("f32"), DataSet(data):to_sparse() } do
      for _, p in ipairs{ 1, 7, 40 } do
        local J = kbcd.centers[name](X, p, kernel, { seed = 3 })
        check(J, p)
        equal(kbcd.centers[name](X, p, kernel, { seed = 3 }), J, "the same from the same seed")
      end
      assert(kbcd.centers[name](X, 20, kernel, { seed = 4 }) ~= kbcd.centers[name](X, 20, kernel, { seed = 3 }), name)
    end
    fails(function() kbcd.centers[name](DataSet(data), n + 1, kernel) end, tostring(n))
    fails(function() kbcd.centers[name](DataSet(data), 3, kernel, { sead = 1 }) end, name, "'sead'")
  end
  fails(function() return kbcd.centers.best end, "best", "leverage, rpcholesky, uniform")
end)

test("randomly pivoted Cholesky", function()
  local X = DataSet(data)
  local K = kbcd.KernelMatrix(X, nil, kernel):square()
  for _, b in ipairs{ 1, 8, 64 } do
    local J, F = kbcd.centers.rpcholesky(X, 60, kernel, { seed = 1, b = b, factor = true })
    check(J, 60)
    F = kbcd.gather(F)
    equal(F.ncols, 60)
    local R = K - F * F:t()
    assert(R:take(J):abs():max() < 1e-9, "exact in rows J")
    close(R:trace(), missed(K, J), 1e-3, "the Nyström approximation of J")
    assert(R:trace() >= -1e-9)
  end
  -- Better than uniform rows, of which half lie in the heap.
  local own, other = 0, 0
  for seed = 1, 5 do
    own = own + missed(K, (kbcd.centers.rpcholesky(X, 50, kernel, { seed = seed })))
    other = other + missed(K, kbcd.centers.uniform(X, 50, kernel, { seed = seed }))
  end
  assert(own < other / 1.5, ("%g of K missed, %g by uniform rows"):format(own, other))
  -- Of a matrix of rank 2 the rest is filled up, and F stays as it is.
  local J, F = kbcd.centers.rpcholesky(X, 9, kbcd.kernel.linear(), { factor = true })
  check(J, 9)
  close(kbcd.gather(F) * kbcd.gather(F):t(), data * data:t(), 1e-9, "rank 2")
end)

test("the first pivot is drawn in proportion to the diagonal", function()
  local X, linear = DataSet(Matrix{ { 1 }, { 2 }, { 3 }, { 1 } }), kbcd.kernel.linear()
  local counts, draws = { 0, 0, 0, 0 }, 600
  for seed = 1, draws do
    local J = kbcd.centers.rpcholesky(X, 1, linear, { seed = seed })
    counts[J[1]] = counts[J[1]] + 1 / draws
  end
  for i, expected in ipairs{ 1 / 15, 4 / 15, 9 / 15, 1 / 15 } do
    assert(math.abs(counts[i] - expected) < 0.07, ("row %d: %g of the draws"):format(i, counts[i]))
  end
end)

test("leverage scores", function()
  local X, lambda = DataSet(data), 1e-3
  local K = kbcd.KernelMatrix(X, nil, kernel):square()
  local inverse = kbcd.local_solve(K:clone():add_diagonal(n * lambda), K)
  local exact = make(n, 1, function(i) return inverse(i, i) end)
  local J, scores = kbcd.centers.leverage(X, 60, kernel, { lambda = lambda, seed = 2, q = 4, most = n })
  check(J, 60)
  scores = kbcd.gather(scores)
  for i = 1, n do
    local ratio = scores(i, 1) / exact(i, 1)
    assert(ratio > 0.5 and ratio < 2, ("row %d: score %g, exact %g"):format(i, scores(i, 1), exact(i, 1)))
  end
  local far = 0
  for i = 1, 60 do far = far + (J[i] > n / 2 and 1 or 0) end
  assert(far > 45, "few are drawn from the heap")
  local own = missed(K, (kbcd.centers.leverage(X, 50, kernel, { seed = 1 })))
  local other = missed(K, kbcd.centers.uniform(X, 50, kernel, { seed = 1 }))
  assert(own < other, ("%g of K missed, %g by uniform rows"):format(own, other))
  fails(function() kbcd.centers.leverage(X, 3, kernel, { lambda = 0 }) end, "lambda", "> 0")
  fails(function() kbcd.centers.leverage(X, 3, kernel, { step = 1 }) end, "step", "> 1")
end)

spec.finish()
