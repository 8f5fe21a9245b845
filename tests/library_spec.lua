-- The distributed parts in Lua, on any number of ranks: Index, DataSet, sums over ranks, blocks and selectors against
-- plain loops, kernels and maps written in Lua, factors, labels, timers, and files that the spec writes itself.

local ffi = require "ffi"
local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local rank, size = kbcd.rank(), kbcd.size()

local n, d = 23, 3
local data = Matrix.randn(n, d, { seed = 1 })

-- A rows x cols matrix of f(i, j).
local function make(rows, cols, f)
  local A = Matrix.zeros(rows, cols)
  for i = 1, rows do for j = 1, cols do A:set(i, j, f(i, j)) end end
  return A
end

local function is_list(index, list, what)
  equal(#index, #list, (what or "") .. " length")
  for i, value in ipairs(list) do equal(index[i], value, ("%s [%d]"):format(what or "", i)) end
end

-- Every rank must have what rank 0 has.
local function same_everywhere(index)
  local text = table.concat(index:totable(), " ")
  equal(text, kbcd.bcast(text), "the index on rank " .. rank)
end

test("Index", function()
  local P = Index.permutation(100, { seed = 3 })
  same_everywhere(P)
  is_list(P:sorted(), Index.range(1, 100):totable(), "every number once")
  equal(P == Index.permutation(100, { seed = 3 }), true)
  equal(P == Index.permutation(100, { seed = 4 }), false)
  equal(P == Index.permutation(100, { seed = 3, stream = 1 }), false)
  for _, p in ipairs{ 0, 1, 40, 99, 100 } do
    local S = Index.sample(100, p, { seed = 3 })
    same_everywhere(S)
    equal(S == P:slice(1, p), true, "a sample begins as the permutation does, p = " .. p)
  end
  local parts = P:partition(30)
  is_list(Index{ #parts, #parts[1], #parts[2], #parts[3], #parts[4] }, { 4, 30, 30, 30, 10 }, "ragged blocks")
  equal(Index.concat(parts) == P, true)
  equal(#Index.range(1, 3):partition(9), 1)
  local I = Index{ 7, 5, 9 }
  is_list(I:take(Index{ 3, 1, 1 }), { 9, 7, 7 }, "take")
  is_list(I:slice(2, 3), { 5, 9 }, "slice")
  is_list(I:sorted(), { 5, 7, 9 }, "sorted")
  is_list(Index.range(4, 3), {}, "an empty range")
  equal(tostring(I), "Index of 3: 7 5 9")
  fails(function() return Index{ 1, 0 } end, "element 2", "whole number from 1 up")
  fails(function() return Index(3) end, "Index", "table expected, got 3")
  fails(function() return I[4] end, "1..3", "4")
  fails(function() return I.length end, "Index", "'length'")
  fails(function() return Index.sample(5, 6) end, "Index.sample", "6 of 5")
  fails(function() return Index.permutation(5, { sed = 1 }) end, "Index.permutation", "'sed'", "known: seed, stream")
  fails(function() return Index.permutation(5, { seed = -1 }) end, "seed", "-1")
  fails(function() return Index.permutation("5") end, "argument 1 (n)", "whole number", "the string '5'")
  fails(function() return Index.range(0, 3) end, "Index.range", "0")
  fails(function() return Index.range(5, 3) end, "Index.range")
  fails(function() return I:partition(0) end, "partition", "0")
  fails(function() return I:take(Index{ 4 }) end, "take", "1..3", "4")
  fails(function() return I:slice(2, 4) end, "2..4", "1..3")
  fails(function() return Index.concat{ I, 3 } end, "Index.concat", "element 2")
end)

-- X must be rows `rows` of data, spread over the ranks in contiguous shares.
local function is_data(X, rows, tolerance, what)
  equal(X.n, #rows, what .. ": n")
  equal(X.d, d, what .. ": d")
  equal(kbcd.allreduce(X.rows.nrows), #rows, what .. ": the shares together")
  for i = 1, X.rows.nrows do
    for j = 1, d do
      local expected = data(rows[X.first + i - 1], j)
      assert(math.abs(X.rows(i, j) - expected) <= tolerance * math.abs(expected), what)
    end
  end
end

test("DataSet", function()
  local all, X = Index.range(1, n), DataSet(data)
  is_data(X, all, 0, "from a Matrix")
  is_data(DataSet(data:t():clone():t()), all, 0, "from a view")
  is_data(X:to("f32"), all, 1e-7, "f32")
  equal(X:to("f32").dtype, "f32")
  is_data(DataSet.local_part(n, X.rows), all, 0, "local_part")
  local asked = {}
  local G = DataSet.generate(n, d, function(first, last)
    asked[#asked + 1] = { first, last }
    return data:rows(first, last)
  end)
  is_data(G, all, 0, "generate")
  equal(#asked, 1, "a rank asks once")
  equal(asked[1][2] - asked[1][1] + 1, X.rows.nrows, "and for its own rows alone")

  local I = Index.concat{ Index{ n, 1, n, 2 }, Index.permutation(n, { seed = 8 }) }
  close(X:gather(I), data:take(I), 0, "gather")
  is_data(X:subset(I), I, 0, "subset")
  is_data(X:subset(Index{ 3, 9 }), Index{ 3, 9 }, 0, "a subset smaller than the number of ranks")
  local here = X:local_rows(I)
  local expected = {}
  for i = 1, #I do
    local place = I[i] - X.first + 1
    if place >= 1 and place <= X.rows.nrows then expected[#expected + 1] = place end
  end
  is_list(here, expected, "local_rows")
  local few = DataSet(Matrix{ { 1, 2 }, { 3, 4 } })
  close(few:gather(Index{ 2, 1 }), Matrix{ { 3, 4 }, { 1, 2 } }, 0, "more ranks than rows")

  fails(function() return DataSet(3) end, "DataSet", "Matrix expected, got 3")
  fails(function() return DataSet(Matrix.zeros(0, 2)) end, "DataSet", "0x2")
  fails(function() return DataSet(Matrix.full(n, d, 0 / 0)) end, ("row %d, column 1"):format(X.first), "nan")
  fails(function() return DataSet(Matrix.full(n, d, 1 / 0)) end, "inf")
  fails(function() return DataSet.local_part(n, Matrix.zeros(n + 1, d)) end, "DataSet.local_part", n + 1)
  local function from(f) return function() return DataSet.generate(n, d, f) end end
  fails(from(function() return Matrix.zeros(1, 9) end), "DataSet.generate", "1x9")
  fails(from(function() return 3 end), "DataSet.generate", "Matrix")
  fails(from(function() error("inside") end), "inside")
  fails(function() return X:gather(Index{ n + 1 }) end, "1.." .. n, n + 1)
  fails(function() return X:subset(Index{ n + 1 }) end, "1.." .. n, n + 1)
  fails(function() return X:local_rows(Index{ n + 1 }) end, "1.." .. n, n + 1)
  fails(function() return X.columns end, "DataSet", "'columns'")
end)

test("sums, broadcasts and gathers over the ranks", function()
  local ranks = size * (size + 1) / 2  -- the sum of rank + 1
  local A, B = Matrix.full(2, 3, rank + 1), Matrix.full(4, 1, 2 * (rank + 1), "f32")
  local C = Matrix.zeros(4, 4)
  C:block(2, 3, 2, 3):t():fill(rank + 1)
  local a, b, c = kbcd.allreduce(A, B, C:block(2, 3, 2, 3):t())
  equal(rawequal(a, A) and rawequal(b, B), true, "it returns its arguments")
  close(A, Matrix.full(2, 3, ranks), 0)
  close(B, Matrix.full(4, 1, 2 * ranks), 0, "f32")
  equal(B.dtype, "f32")
  close(c, Matrix.full(2, 2, ranks), 0, "a view")
  equal(C:sum(), 4 * ranks, "outside of the view nothing changes")
  equal(kbcd.allreduce(rank + 1), ranks)
  equal(kbcd.allreduce_max(rank), size - 1)
  equal(kbcd.allreduce_min(rank), 0)
  local large = Matrix.full(1200, 1000, rank + 1)
  kbcd.allreduce(large, large:cols(1, 0))
  equal(large:min() == ranks and large:max() == ranks, true, "a large one")
  for _, n_rows in ipairs{ 2, 1200 } do
    local twice = Matrix.full(n_rows, 1000, rank + 1)
    kbcd.allreduce(twice, twice)
    equal(twice:min() == ranks and twice:max() == ranks, true, "the same matrix given twice")
  end

  local E, F = Matrix.full(3, 2, rank + 1), Matrix.full(2, 2, rank + 1, "f32")
  local request = kbcd.iallreduce(E:t(), F)
  request:wait()
  equal(request:done(), true)
  request:wait()
  close(E, Matrix.full(3, 2, ranks), 0, "iallreduce")
  close(F, Matrix.full(2, 2, ranks), 0, "iallreduce, f32")

  local root = size - 1
  local D = Matrix.full(3, 3, rank)
  kbcd.bcast(D:cols(2), root)
  close(D:cols(2), Matrix.full(3, 1, root), 0, "bcast of a view")
  close(D:cols(1), Matrix.full(3, 1, rank), 0, "beside it nothing changes")
  equal(kbcd.bcast(rank + 0.5), 0.5)
  equal(kbcd.bcast("rank\0" .. rank, root), "rank\0" .. root)

  local G = kbcd.gather(Matrix.full(rank, 2, rank):t():clone():t())  -- rank r has r rows
  local expected = {}
  for r = 1, size - 1 do for _ = 1, r do expected[#expected + 1] = { r, r } end end
  close(G, size > 1 and Matrix(expected) or Matrix.zeros(0, 2), 0, "gather")
  kbcd.barrier()

  fails(function() return kbcd.allreduce() end, "allreduce", "Matrix expected")
  fails(function() return kbcd.allreduce(A, 2) end, "allreduce", "argument 2", "Matrix expected, got 2")
  fails(function() return kbcd.iallreduce("x") end, "iallreduce", "argument 1", "the string 'x'")
  fails(function() return kbcd.bcast({}) end, "bcast", "argument 1 (value)", "table")
  fails(function() return kbcd.bcast(1, size) end, "bcast", "0.." .. size - 1, size)
  fails(function() return kbcd.gather(1) end, "gather", "argument 1 (A)", "Matrix expected, got 1")
end)

local function distances(i, j)
  local square, manhattan, dot, x, y = 0, 0, 0, 0, 0
  for c = 1, d do
    local a, b = data(i, c), data(j, c)
    square, manhattan, dot = square + (a - b) ^ 2, manhattan + math.abs(a - b), dot + a * b
    x, y = x + a * a, y + b * b
  end
  return square, manhattan, dot, dot / math.sqrt(x * y)
end

local kernels = {  -- each with its formula of the squared and the manhattan distance, the dot product and the cosine
  { kbcd.kernel.rbf{ sigma = 2 }, function(s) return math.exp(-s / 8) end },
  { kbcd.kernel.rbf{ gamma = 0.3 }, function(s) return math.exp(-0.3 * s) end },
  { kbcd.kernel.laplacian{ sigma = 2 }, function(_, m) return math.exp(-m / 2) end },
  { kbcd.kernel.matern{ sigma = 2, nu = 0.5 }, function(s) return math.exp(-math.sqrt(s) / 2) end },
  { kbcd.kernel.matern{ sigma = 2 }, function(s)
    local t = math.sqrt(3 * s) / 2
    return (1 + t) * math.exp(-t)
  end },
  { kbcd.kernel.matern{ sigma = 2, nu = 2.5 }, function(s)
    local t = math.sqrt(5 * s) / 2
    return (1 + t + t * t / 3) * math.exp(-t)
  end },
  { kbcd.kernel.polynomial{ degree = 2, gamma = 0.5, c = 2 }, function(_, _, x) return (0.5 * x + 2) ^ 2 end },
  { kbcd.kernel.linear(), function(_, _, x) return x end },
  { kbcd.kernel.cosine(), function(_, _, _, c) return c end },
  { kbcd.kernel.custom{ metric = "sqeuclidean", kappa = function(D) return D:scale(-0.3):exp() end },
    function(s) return math.exp(-0.3 * s) end },
  { kbcd.kernel.custom{ metric = "manhattan", kappa = function(D) return (D * -0.5):exp() end, name = "mine" },
    function(_, m) return math.exp(-m / 2) end },
}

-- B (a block whose local rows are `rows` of the whole) does what the matrix `full` does.
local function acts_as(B, full, first, tolerance, what)
  local b, count = full.ncols, B.nrows
  local D, A = Matrix.randn(b, 2, { seed = 5 }), Matrix.randn(n, 2, { seed = 6 })
  local own, mine = full:rows(first, first + count - 1), A:rows(first, first + count - 1)
  local function entries(M, rows, cols, f)
    return close(M, make(rows, cols, f), tolerance, what)
  end
  entries(B * D, count, 2, function(i, j)
    local s = 0
    for c = 1, b do s = s + own(i, c) * D(c, j) end
    return s
  end)
  entries(kbcd.allreduce(B:t() * mine), b, 2, function(i, j)
    local s = 0
    for r = 1, full.nrows do s = s + full(r, i) * A(r, j) end
    return s
  end)
  for _, precision in ipairs{ "f32", "f64" } do
    local G = kbcd.allreduce(B:gram(precision))
    equal(G.dtype, precision)
    close(G, make(b, b, function(i, j)
      local s = 0
      for r = 1, full.nrows do s = s + full(r, i) * full(r, j) end
      return s
    end), math.max(tolerance, precision == "f32" and 1e-5 or 0), what .. " gram")
  end
  close(B:dense(), own, tolerance, what .. " dense")
end

test("KernelBlock is the kernel matrix", function()
  local I = Index{ 20, 3, 3, 11, 1 }
  for _, case in ipairs(kernels) do
    local kernel, formula = case[1], case[2]
    for _, dtype in ipairs{ "f64", "f32" } do
      local X, tolerance = DataSet(data):to(dtype), dtype == "f64" and 1e-12 or 3e-6
      local full = make(n, #I, function(i, j) return formula(distances(i, I[j])) end)
      local K = kbcd.KernelBlock(X, I, kernel)
      acts_as(K, full, X.first, tolerance, tostring(kernel) .. " " .. dtype)
      close(K:rows(Index{ n, 2, n }), full:take(Index{ n, 2, n }), tolerance, "rows of " .. tostring(kernel))
    end
  end
end)

test("blocks of some rows, of other centres, streamed and released", function()
  local X, kernel, I = DataSet(data), kernels[1][1], Index.range(1, 9)
  local others = Matrix.randn(12, d, { seed = 77 })
  local full = make(n, 9, function(i, j) return kernels[1][2]((distances(i, j))) end)
  local rows = Index{ 5, 22, 1, 9, 14 }
  local part = kbcd.KernelBlock(X, I, kernel, { rows = rows })
  local here = X:local_rows(rows)
  equal(part.nrows, #here)
  close(part:dense(), full:rows(X.first, X.first + X.rows.nrows - 1):take(here), 1e-12, "rows")
  local centred = kbcd.KernelBlock(X, Index{ 12, 2 }, kernel, { centers = DataSet(others) })
  close(centred:dense(), make(X.rows.nrows, 2, function(i, j)
    local s = 0
    for c = 1, d do s = s + (X.rows(i, c) - others(j == 1 and 12 or 2, c)) ^ 2 end
    return math.exp(-s / 8)
  end), 1e-12, "centers")

  local K, budget = kbcd.KernelBlock(X, I, kernel), kbcd.memory_budget()
  K:dense()
  equal(K.kept, true)
  K:release()
  equal(K.kept, false)
  acts_as(K, full, X.first, 1e-12, "after release")
  kbcd.memory_budget(1)
  local streamed = kbcd.KernelBlock(X, I, kernel)
  acts_as(streamed, full, X.first, 1e-12, "streamed")
  equal(streamed.kept, false, "nothing is kept of a block beyond the budget")
  kbcd.memory_budget(budget)

  fails(function() return part:rows(Index{ 1 }) end, "rows")
  local function made(...)
    local given = { ... }
    return function() kbcd.KernelBlock(unpack(given)):dense() end
  end
  fails(made(X, I, kernel, { row = rows }), "KernelBlock", "'row'", "rows, centers")
  fails(made(X, I, kernel, { rows = 3 }), "KernelBlock", "rows", "Index expected, got 3")
  fails(made(data, I, kernel), "argument 1 (X)", "DataSet expected, got Matrix")
  fails(made(X, I, "rbf"), "argument 3 (kernel)", "Kernel expected", "'rbf'")
  fails(made(X, Index{ n + 1 }, kernel), "KernelBlock", "1.." .. n, n + 1)
  fails(function() return K * Matrix.zeros(8, 2) end, "9", "8x2")
  fails(function() return K:t() * Matrix.zeros(n + 1, 2) end, ("%dx2"):format(n + 1))
  fails(function() return K:t() * K end, "cannot multiply transposed Block by Block")
  fails(function() return Matrix.zeros(2, 2) * K end, "cannot multiply Matrix by Block")
  local function custom(metric, kappa) return kbcd.kernel.custom{ metric = metric, kappa = kappa } end
  fails(made(X, I, custom("dot", function() return Matrix.zeros(1, 77) end)), "kernel.custom", "1x77")
  fails(made(X, I, custom("dot", function() error("from kappa") end)), "library_spec.lua", "from kappa")
  fails(function() custom("l2", print) end, "kernel.custom", "dot, cosine, sqeuclidean, manhattan", "'l2'")
  fails(function() kbcd.kernel.rbf{ width = 1 } end, "kernel.rbf", "'width'", "gamma, sigma")
  fails(function() kbcd.kernel.rbf{ sigma = 0 } end, "sigma > 0", "0")
  fails(function() kbcd.kernel.rbf{ sigma = "5" } end, "kernel.rbf", "sigma", "number")
  fails(function() kbcd.kernel.rbf{} end, "kernel.rbf", "sigma", "gamma")
end)

-- What map gives for all features, at every row of A, on every rank.
local function values(map, A)
  return kbcd.gather(kbcd.RandomFeaturesBlock(DataSet(A), Index.range(1, map.p), map):dense())
end

test("Fourier features are cosines, and the same map can be written in Lua", function()
  local p, h, gamma = 12, 0.4, 0.5
  local scale = math.sqrt(2 / p)
  local map = kbcd.features.fourier{ kernel = kbcd.kernel.rbf{ gamma = gamma }, p = p, seed = 4 }
  -- From z(0), z(h e_c) and z(-h e_c): b and ω, up to the sign of both, which the cosine does not see.
  local at_zero, omega, phase = values(map, Matrix.zeros(1, d)), Matrix.zeros(p, d), Matrix.zeros(1, p)
  for j = 1, p do phase:set(1, j, math.acos(at_zero(1, j) / scale)) end
  for c = 1, d do
    local plus, minus = values(map, Matrix.zeros(1, d):set(1, c, h)), values(map, Matrix.zeros(1, d):set(1, c, -h))
    for j = 1, p do
      local sine = (minus(1, j) - plus(1, j)) / (2 * scale * math.sin(phase(1, j)))
      local cosine = (minus(1, j) + plus(1, j)) / (2 * scale * math.cos(phase(1, j)))
      close(sine ^ 2 + cosine ^ 2, 1, 1e-8, "a cosine")
      omega:set(j, c, math.atan2(sine, cosine) / h)
    end
  end
  local mine = kbcd.features.custom{ p = p, map = function(X, I)
    return (X * omega:take(I):t()):add(phase:t():take(I):t()):cos():scale(scale)
  end }
  close(values(mine, data), values(map, data), 1e-7, "in Lua")

  local X, I = DataSet(data), Index{ 7, 2, 12 }
  local Z = kbcd.RandomFeaturesBlock(X, I, map)
  local full = make(n, 3, function(i, j)
    local t = phase(1, I[j])
    for c = 1, d do t = t + data(i, c) * omega(I[j], c) end
    return scale * math.cos(t)
  end)
  acts_as(Z, full, X.first, 1e-7, "fourier")
  acts_as(kbcd.RandomFeaturesBlock(X, I, mine), full, X.first, 1e-7, "custom")
  close(Z:rows(Index{ 9, 1 }), full:take(Index{ 9, 1 }), 1e-7, "rows")
  local rows = Index{ 2, 21 }
  equal(kbcd.allreduce(kbcd.RandomFeaturesBlock(X, I, map, { rows = rows }).nrows), 2)

  for _, name in ipairs{ "fourier", "orthogonal" } do
    for _, case in ipairs{ kernels[2], kernels[5], name == "fourier" and kernels[3] or nil } do
      local features = values(kbcd.features[name]{ kernel = case[1], p = 20000, seed = 2 }, data:rows(1, 4))
      local K = make(4, 4, function(i, j) return case[2](distances(i, j)) end)
      close(features * features:t(), K, 0.05, ("%s of %s: z(x).z(y) is near K(x, y)"):format(name, tostring(case[1])))
    end
  end
  fails(function() kbcd.RandomFeaturesBlock(X, Index{ p + 1 }, map) end, "RandomFeaturesBlock", "1..12", "13")
  fails(function() kbcd.features.fourier{ kernel = kbcd.kernel.linear(), p = 3 } end, "linear", "rbf")
  fails(function() kbcd.features.fourier{ kernel = kernels[1][1] } end, "features.fourier", "p expected")
  fails(function() kbcd.features.fourier{ kernel = kernels[1][1], p = 3, sead = 1 } end, "'sead'", "kernel, p, seed")
  fails(function() kbcd.features.orthogonal{ kernel = kernels[3][1], p = 3 } end, "features.orthogonal", "laplacian")
  local bad = kbcd.features.custom{ p = 3, map = function() return Matrix.zeros(1, 77) end }
  fails(function() kbcd.RandomFeaturesBlock(X, Index{ 1 }, bad):dense() end, "features.custom", "1x77")
end)

test("kernels and maps made in a coroutine outlive it", function()
  local X = DataSet(data)
  local function leave_garbage()
    collectgarbage()
    for _ = 1, 50 do coroutine.resume(coroutine.create(function() coroutine.yield{} end)) end
    collectgarbage()
  end
  for _ = 1, 20 do
    local kernel, map = coroutine.wrap(function()
      return kbcd.kernel.custom{ metric = "dot", kappa = function(D) return D * 2 end },
        kbcd.features.custom{ p = d, map = function(rows) return rows * 3 end }
    end)()
    leave_garbage()
    close(kbcd.KernelBlock(X, Index{ 2 }, kernel):dense(), X.rows * data:rows(2):t() * 2, 1e-14, "kernel")
    close(kbcd.RandomFeaturesBlock(X, Index.range(1, d), map):dense(), X.rows * 3, 0, "map")
  end
end)

test("Selector", function()
  local I = Index{ 9, 23, 1, 9 }
  local X, S = DataSet(data), kbcd.Selector(n, I)
  close(kbcd.allreduce(S:t() * X.rows), data:take(I), 0, "S' A")
  local D = Matrix.randn(4, 2, { seed = 2 })
  close(kbcd.gather(S * D), make(n, 2, function(i, j)
    local s = 0
    for c = 1, 4 do if I[c] == i then s = s + D(c, j) end end
    return s
  end), 1e-15, "S D")
  equal((S:t() * X:to("f32").rows).dtype, "f32")
  equal(tostring(S), "Selector 23x4")
  fails(function() return kbcd.Selector(n, Index{ n + 1 }) end, "Selector", "1.." .. n, n + 1)
  fails(function() return S * Matrix.zeros(3, 1) end, "Selector", "4", "3x1")
  fails(function() return S:t() * Matrix.zeros(n + 1, 1) end, "Selector", ("%dx1"):format(n + 1))
end)

test("factors and local_solve", function()
  local A, B = Matrix.randn(8, 5, { seed = 1 }), Matrix.randn(5, 2, { seed = 2 })
  local H = (A:t() * A):add_diagonal(1)
  local F = kbcd.chol(H)
  equal(F.n, 5)
  equal(F.jitter, 0)
  close(F.lower * F.lower:t(), H, 1e-12)
  close(H * F:solve(B), B, 1e-12, "solve")
  close(H * F:solve(B:cols(1)), B:cols(1), 1e-12, "solve again")
  close(H * kbcd.local_solve(H, B), B, 1e-12, "local_solve")
  close(H * kbcd.local_solve(H:to("f32"), B:to("f32")), B, 1e-4, "from f32")
  local flat = Matrix.ones(4, 4)  -- of rank 1
  fails(function() return kbcd.chol(flat) end, "chol", "4x4", "not positive definite", "jitter")
  local J = kbcd.chol(flat, { jitter = true })
  assert(J.jitter > 0 and J.jitter < 1e-4, "jitter")
  close(J.lower * J.lower:t(), flat + Matrix.eye(4) * J.jitter, 1e-12, "with jitter")
  fails(function() return kbcd.chol(-flat, { jitter = true }) end, "not positive definite")
  fails(function() return kbcd.chol(H, { jiter = true }) end, "chol", "'jiter'", "jitter")
  fails(function() return kbcd.chol(H, { jitter = 1 }) end, "jitter", "true or false", "1")
  fails(function() return kbcd.chol(A) end, "chol", "square", "8x5")
  fails(function() return kbcd.chol(H * (0 / 0)) end, "chol", "NaN")
  fails(function() return F:solve(Matrix.zeros(4, 1)) end, "5", "4x1")
  fails(function() return kbcd.local_solve(H, Matrix.zeros(4, 1)) end, "local_solve", "5x5", "4x1")
end)

test("labels", function()
  local y = make(n, 1, function(i) return i % 3 end)
  local Y = kbcd.gather(kbcd.labels.one_vs_all(DataSet(y)))
  close(Y, make(n, 3, function(i, j) return i % 3 == j - 1 and 1 or -1 end), 0, "from 0")
  close(kbcd.gather(kbcd.labels.one_vs_all(DataSet(y + 1))), Y, 0, "from 1")
  equal(kbcd.labels.one_vs_all(DataSet(y), { classes = 5 }).ncols, 5)
  equal(kbcd.labels.one_vs_all(DataSet(y + 1), { first = 0 }).ncols, 4)
  local X, labelled = DataSet(data), DataSet(y)
  local scores = Matrix.randn(n, 3, { seed = 9 })
  local wrong = 0
  for i = 1, n do
    local best = 1
    for j = 2, 3 do if scores(i, j) > scores(i, best) then best = j end end
    if best ~= i % 3 + 1 then wrong = wrong + 1 end
  end
  local mine = scores:rows(X.first, X.first + X.rows.nrows - 1)
  close(kbcd.labels.error_rate(mine, X, labelled), wrong / n, 1e-15, "error_rate")
  close(kbcd.labels.error_rate(mine, X, DataSet(y + 1)), wrong / n, 1e-15, "error_rate, from 1")
  local path = { predict = function() return { mine, -mine, mine } end }
  local rates = kbcd.labels.error_rate(path, X, labelled)
  equal(#rates, 3)
  close(rates[3], wrong / n, 1e-15, "a path")
  equal(kbcd.labels.error_rate({ predict = function() return kbcd.labels.one_vs_all(labelled) end }, X, labelled), 0)

  local one_vs_all = kbcd.labels.one_vs_all
  fails(function() one_vs_all(DataSet(y + 0.5)) end, ("row %d of y"):format(X.first), "whole number")
  fails(function() one_vs_all(DataSet(-1 - y)) end, "label")
  fails(function() one_vs_all(labelled, { classes = 2 }) end, "0..1")
  fails(function() one_vs_all(labelled, { clases = 2 }) end, "one_vs_all", "classes", "first", "clases")
  fails(function() one_vs_all(X) end, "one_vs_all", "one column", "23x3")
  fails(function() one_vs_all(3) end, "one_vs_all", "DataSet", "3")
  fails(function() kbcd.labels.error_rate(mine, X, DataSet(y:rows(1, 9))) end, "error_rate", "23", "9")
  fails(function() kbcd.labels.error_rate(mine, X, DataSet(y + 7), { first = 0 }) end, "error_rate", "0..2")
end)

test("timers", function()
  kbcd.timers.reset()
  for _ = 1, 3 do kbcd.allreduce(Matrix.zeros(2, 2)) end
  kbcd.KernelBlock(DataSet(data), Index.range(1, 4), kernels[1][1]):dense()
  kbcd.system.add_time("only on rank " .. rank, rank)
  local seen, last = {}, math.huge
  for _, t in ipairs(kbcd.timers.collect()) do
    assert(t.min <= t.mean + 1e-12 and t.mean <= t.max + 1e-12 and t.max <= last, t.name)
    seen[t.name], last = t, t.max
  end
  equal(seen.allreduce.calls, 3)
  equal(seen["only on rank " .. size - 1].max, size - 1)
  assert(seen.KernelBlock, "KernelBlock is timed")
  equal(kbcd.timers.count("kernel entries"), 4 * n)
  local say, lines = kbcd.say, {}
  kbcd.say = function(format, ...) lines[#lines + 1] = format:format(...) end
  kbcd.timers.report()
  kbcd.say = say
  local report = table.concat(lines, "\n")
  for _, text in ipairs{ "calls", "min", "mean", "max", "allreduce", "KernelBlock", "kernel entries" } do
    assert(report:find(text, 1, true), report)
  end
  kbcd.timers.reset()
  equal(kbcd.timers.count("kernel entries"), 0)
end)

-- f(path) with a file of these bytes, which rank 0 writes and removes.
local function with_file(bytes, f)
  local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
  if rank == 0 then
    local file = assert(io.open(path, "wb"))
    file:write(bytes)
    file:close()
  end
  kbcd.barrier()
  local good, message = pcall(f, path)
  kbcd.barrier()
  if rank == 0 then os.remove(path); os.remove(path .. ".gz") end
  if not good then error(message, 0) end
end

local function npy(descr, order, shape, bytes)
  local header = ("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }"):format(descr, order, shape)
  header = header .. (" "):rep(63 - (10 + #header) % 64) .. "\n"
  return "\147NUMPY\1\0" .. string.char(#header % 256, math.floor(#header / 256)) .. header .. bytes
end

local function numbers(c_type, list)
  local array = ffi.new(c_type .. "[?]", #list, list)
  return ffi.string(array, ffi.sizeof(array))
end

local function loaded(path, options)
  local X = kbcd.load(path, options)
  return X:gather(Index.range(1, X.n)), X
end

test("load reads .npy", function()
  local list = {}
  for i = 1, 10 do list[i] = 3 * i - 20 end
  local rows = make(5, 2, function(i, j) return list[2 * (i - 1) + j] end)
  for _, case in ipairs{ { "<f8", "double" }, { "<f4", "float" }, { "<i4", "int32_t" }, { "<i8", "int64_t" },
    { "|i1", "int8_t" }, { "<i2", "int16_t" } } do
    local descr, c_type = case[1], case[2]
    with_file(npy(descr, "False", "5, 2", numbers(c_type, list)), function(path)
      local all, X = loaded(path)
      close(all, rows, 0, descr)
      if descr == "<f8" or descr == "<f4" then equal(X.dtype, "f" .. 8 * descr:sub(3), descr) end
      equal(kbcd.load(path, { dtype = "f32" }).dtype, "f32")
      close(loaded(path, { rows = 3 }), rows:rows(1, 3), 0, "the first rows")
      fails(function() kbcd.load(path, { rows = 6 }) end, path, "6", "5")
      fails(function() kbcd.load(path, { row = 3 }) end, "load", "'row'", "rows, dtype, scale")
    end)
  end
  with_file(npy("<f8", "True", "2, 5", numbers("double", list)), function(path)
    close(loaded(path), rows:t(), 0, "columns first")
  end)
  with_file(npy("|u1", "False", "4,", "\0\1\128\255"), function(path)
    close(loaded(path), Matrix{ { 0 }, { 1 }, { 128 }, { 255 } }, 0, "one dimension")
    close(loaded(path, { scale = true }), Matrix{ { 0 }, { 1 / 255 }, { 128 / 255 }, { 1 } }, 1e-7, "scaled")
  end)
  with_file(npy("<f8", "False", "5, 2", numbers("double", list):sub(1, -9)), function(path)
    fails(function() kbcd.load(path) end, path, "bytes")
  end)
  with_file(npy("<c16", "False", "1,", ("\0"):rep(16)), function(path)
    fails(function() kbcd.load(path) end, path, "c16")
  end)
  with_file("hello, this is text", function(path) fails(function() kbcd.load(path) end, path, "idx", "npy") end)
  fails(function() kbcd.load("/nowhere/x.npy") end, "/nowhere/x.npy", "No such file")
  fails(function() kbcd.load(3) end, "load", "argument 1 (path)", "string expected, got 3")
end)

test("load reads idx, plain and gzipped", function()
  local images, expected = "\0\0\8\3" .. "\0\0\0\5" .. "\0\0\0\2" .. "\0\0\0\2", Matrix.zeros(5, 4)
  for i = 1, 5 do
    for j = 1, 4 do
      local value = (50 * i + 3 * j) % 256
      images = images .. string.char(value)
      expected:set(i, j, value / 255)
    end
  end
  with_file(images, function(path)
    local all, X = loaded(path)
    equal(X.dtype, "f32")
    close(all, expected, 1e-7, "images in [0, 1]")
    close(loaded(path, { scale = false }), expected * 255, 1e-7, "as they are")
    if rank == 0 then os.execute("gzip -k '" .. path .. "'") end
    kbcd.barrier()
    close(loaded(path .. ".gz", { rows = 4, dtype = "f64" }), expected:rows(1, 4), 1e-15, "gzipped")
  end)
  with_file("\0\0\8\1\0\0\0\3\7\0\9", function(path)
    close(loaded(path), Matrix{ { 7 }, { 0 }, { 9 } }, 0, "labels")
  end)
  with_file("\0\0\12\1\0\0\0\2\255\255\255\254\0\0\1\0", function(path)
    close(loaded(path), Matrix{ { -2 }, { 256 } }, 0, "big-endian integers")
  end)
  with_file(images:sub(1, -2), function(path) fails(function() kbcd.load(path) end, path, "bytes") end)
end)

spec.finish()
