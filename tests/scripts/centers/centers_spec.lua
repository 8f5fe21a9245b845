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
  for _, name in ipairs{ "uniform", "rpcholesky", "leverage", "kmeanspp" } do
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
  fails(function() return kbcd.centers.best end, "best", "kmeanspp, leverage, rpcholesky, uniform")
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

-- The squared distance of rows i and j of A.
local function squared(A, i, j)
  local sum = 0
  for c = 1, A.ncols do sum = sum + (A(i, c) - A(j, c)) ^ 2 end
  return sum
end

test("k-means++ draws in proportion to the squared distance", function()
  -- Every order of three of four points, as one draw after the other gives it, by blocks of one and of many draws.
  local points, linear = Matrix{ { 0, 0 }, { 1, 0 }, { 0, 2 }, { 2.5, 2 } }, kbcd.kernel.linear()
  local X, draws = DataSet(points), 1500
  local function distance(i, before)
    local least = math.huge
    for _, c in ipairs(before) do least = math.min(least, squared(points, i, c)) end
    return least
  end
  local function probability(i, before)
    local all = 0
    for j = 1, 4 do all = all + distance(j, before) end
    return distance(i, before) / all
  end
  for _, b in ipairs{ 1, 5 } do
    local counts = {}
    for seed = 1, draws do
      local J = kbcd.centers.kmeanspp(X, 3, linear, { seed = seed, b = b })
      local key = J[1] .. J[2] .. J[3]
      counts[key] = (counts[key] or 0) + 1 / draws
    end
    for i = 1, 4 do
      for j = 1, 4 do
        for k = 1, 4 do
          local expected = i ~= j and j ~= k and i ~= k and probability(j, { i }) * probability(k, { i, j }) / 4 or 0
          local got = counts[i .. j .. k] or 0
          assert(math.abs(got - expected) <= 4 * math.sqrt(expected / draws),
            ("b = %d, order %d%d%d: %g of the draws, %g expected"):format(b, i, j, k, got, expected))
        end
      end
    end
  end
end)

test("k-means++ in the kernel's feature space", function()
  for _, X in ipairs{ DataSet(data), DataSet(data):to("f32"), DataSet(data):to_sparse() } do
    local J, D = kbcd.centers.kmeanspp(X, 30, kernel, { seed = 1 })
    check(J, 30)
    close(kbcd.gather(D), make(n, 1, function(i)
      local least = math.huge
      for c = 1, 30 do least = math.min(least, 2 - 2 * math.exp(-squared(data, i, J[c]) / 2)) end
      return least
    end), 1e-5, "squared distances")
  end
  local function missing(J)
    local sum = 0
    for i = 1, n do
      local least = math.huge
      for c = 1, #J do least = math.min(least, squared(data, i, J[c])) end
      sum = sum + least
    end
    return sum
  end
  local own, other = 0, 0
  for seed = 1, 5 do
    own = own + missing((kbcd.centers.kmeanspp(DataSet(data), 40, kernel, { seed = seed })))
    other = other + missing(kbcd.centers.uniform(DataSet(data), 40, kernel, { seed = seed }))
  end
  assert(own < other / 1.5, ("%g from the centres, %g from uniform rows"):format(own, other))
  -- Of rows of three kinds, one of each comes first, and the rest is filled up.
  local kinds = make(60, 2, function(i, j) return i % 3 * j end)
  for _, dtype in ipairs{ "f32", "f64" } do
    local J = kbcd.centers.kmeanspp(DataSet(kinds):to(dtype), 20, kernel, { seed = 2, b = 4 })
    check(J, 20)
    local seen = {}
    for i = 1, 3 do seen[J[i] % 3] = true end
    assert(seen[0] and seen[1] and seen[2], "one of each kind")
  end
end)

spec.finish()
