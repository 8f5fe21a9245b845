-- Sparse data: every kernel, the Fourier maps and the algorithms give on CSR rows what they give on the same rows dense
-- (which other specs hold against plain loops), on any number of ranks.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet

local n, d = 37, 40
-- A tenth of the entries, and a row without any.
local function sparse_matrix(rows, seed)
  local A, keep = Matrix.randn(rows, d, { seed = seed }), Matrix.rand(rows, d, { seed = seed + 100 })
  for i = 1, rows do for j = 1, d do if keep(i, j) > 0.1 or i == 2 then A:set(i, j, 0) end end end
  return A
end
local data, tests = sparse_matrix(n, 1), sparse_matrix(9, 2)

local kernels = {
  kbcd.kernel.rbf{ sigma = 1.5 }, kbcd.kernel.laplacian{ sigma = 3 }, kbcd.kernel.matern{ nu = 0.5, sigma = 2 },
  kbcd.kernel.matern{ nu = 2.5, sigma = 2 }, kbcd.kernel.polynomial{ degree = 2 }, kbcd.kernel.linear(),
  kbcd.kernel.cosine(),
  kbcd.kernel.custom{ metric = "manhattan", kappa = function(D) return (1 + D):pow(-1) end },
}

spec.test("gather, subset and conversions", function()
  local X = DataSet(data):to_sparse()
  spec.equal(X.sparse, true)
  spec.equal(X.n, n) spec.equal(X.d, d)
  local I = Index.sample(n, 11, { seed = 5 })
  spec.close(X:gather(I), data:take(I), 0, "gather")
  spec.close(kbcd.gather(X:to_dense().rows), data, 0, "to_dense")
  spec.close(kbcd.gather(X:subset(I):to_dense().rows), data:take(I), 0, "subset")
  spec.close(kbcd.gather(X:to("f32"):to_dense().rows), data, 1e-6, "f32")
  spec.fails(function() return X.rows end, "sparse", "to_dense")
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
  if kbcd.rank() == 0 then
    local file = assert(io.open(path, "w"))
    file:write(("1 2000000000:1\n"):rep(5000))
    file:close()
  end
  kbcd.barrier()
  local wide = kbcd.load(path)
  spec.fails(function() wide:to_dense() end, "5000x2000000000", "80000 GB", "sparse")
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end)

spec.test("every kernel", function()
  for _, dtype in ipairs{ "f64", "f32" } do
    local dense = DataSet(data):to(dtype)
    local X, Xtest = dense:to_sparse(), DataSet(tests):to(dtype):to_sparse()
    local I, J, tolerance = Index{ 5, 2, 30, 9 }, Index{ 1, 5, 2 }, dtype == "f64" and 1e-12 or 1e-5
    for _, kernel in ipairs(kernels) do
      local K, expected = kbcd.KernelBlock(X, I, kernel), kbcd.KernelBlock(dense, I, kernel)
      spec.close(K:dense(), expected:dense(), tolerance, tostring(kernel))
      spec.close(K:rows(J), expected:rows(J), tolerance, tostring(kernel) .. " rows")
      spec.close(kbcd.KernelBlock(Xtest, I, kernel, { centers = X }):dense(),
        kbcd.KernelBlock(Xtest:to_dense(), I, kernel, { centers = dense }):dense(), tolerance, tostring(kernel) .. " test")
    end
    spec.fails(function() kbcd.KernelBlock(X, I, kernels[1], { centers = dense }) end, "both be sparse")
  end
end)

-- K of plain loops in f64 over the numbers as they are stored.
local function plain(A, kappa, metric)
  local K = Matrix.zeros(A.nrows, A.nrows)
  for i = 1, A.nrows do
    for j = 1, A.nrows do
      local squares, steps, dot, a, b = 0, 0, 0, 0, 0
      for c = 1, A.ncols do
        local x, y = A(i, c), A(j, c)
        squares, steps, dot, a, b = squares + (x - y) ^ 2, steps + math.abs(x - y), dot + x * y, a + x * x, b + y * y
      end
      local value = { sqeuclidean = squares, manhattan = steps, dot = dot / 1e14, cosine = dot / math.sqrt(a * b + 1e-300) }
      K:set(i, j, kappa(value[metric]))
    end
  end
  return K
end

spec.test("kernels in Lua by every metric, equal rows and columns far from 0", function()
  for _, dtype in ipairs{ "f32", "f64" } do
    for _, offset in ipairs{ 0, 1e3, 1e6 } do
      local A = sparse_matrix(12, 4):to(dtype)
      for i = 1, 12 do A:set(i, 3, offset + A(i, 3)) A:set(i, 5, 0.37) end
      for c = 1, d do A:set(7, c, A(4, c)) end
      local tolerance, I, ones = dtype == "f32" and 1e-5 or 1e-10, Index.range(1, 12), Matrix.ones(12, 1)
      for _, metric in ipairs{ "sqeuclidean", "manhattan", "dot", "cosine" } do
        local kernel = kbcd.kernel.custom{ metric = metric, kappa = function(D)
          return metric == "dot" and D / 1e14 or metric == "cosine" and D:clone() or (1 + 50 * D):pow(-1)
        end }
        local expected = plain(A, function(v)
          return (metric == "dot" or metric == "cosine") and v or 1 / (1 + 50 * v)
        end, metric)
        for _, X in ipairs{ DataSet(A), DataSet(A):to_sparse() } do
          local what = ("%s %s, %g, %s"):format(dtype, metric, offset, X.sparse and "sparse" or "dense")
          local K = kbcd.KernelBlock(X, I, kernel)
          spec.close(K:rows(I), expected, tolerance, what)
          spec.close(K:square(), expected, tolerance, what .. " square")
          spec.close(kbcd.gather(kbcd.KernelMatrix(X, nil, kernel) * DataSet(ones).rows), expected * ones, 12 * tolerance,
            what .. " KernelMatrix")
        end
      end
    end
  end
end)

spec.test("rows of length 1 of numbers of any size", function()
  for _, size in ipairs{ 1e-310, 1e-200, 1, 1e200 } do
    local row = kbcd.Csr(3, Matrix{ { 0, 2 } }, Matrix{ { 1, 3 } }, Matrix{ { 3 * size, -4 * size } }, "f64", true)
    spec.close(DataSet.local_part(kbcd.size(), row):gather(Index{ 1 }), Matrix{ { 0.6, 0, -0.8 } }, 1e-10, tostring(size))
  end
end)

spec.test("random features", function()
  local dense = DataSet(data)
  local X, I = dense:to_sparse(), Index{ 7, 1, 15 }
  for _, name in ipairs{ "fourier", "orthogonal", "sorf", "qmc" } do
    local map = kbcd.features[name]{ kernel = kernels[1], p = 20 }
    spec.close(kbcd.RandomFeaturesBlock(X, I, map):dense(), kbcd.RandomFeaturesBlock(dense, I, map):dense(), 1e-12, name)
  end
  local custom = kbcd.features.custom{ p = 3, map = function(A, F) return A:cols(1, #F) end }
  spec.fails(function() kbcd.RandomFeaturesBlock(X, Index{ 1 }, custom) end, "sparse", "to_dense")
end)

spec.test("the algorithms", function()
  local dense, Y = DataSet(data), DataSet(Matrix.randn(n, 2, { seed = 9 }))
  local X, Xtest = dense:to_sparse(), DataSet(tests)
  local map = kbcd.features.fourier{ kernel = kernels[1], p = 15 }
  local runs = {
    function(D) return kbcd.full_kernel(D, Y, { kernel = kernels[1], lambda = 1e-2, b = 10, epochs = 2 }) end,
    function(D) return kbcd.nystrom(D, Y, { kernel = kernels[1], lambda = 1e-2, p = 9, b = 4, epochs = 2 }) end,
    function(D) return kbcd.random_features(D, Y, { map = map, lambda = 1e-2, b = 4, epochs = 2 }) end,
  }
  for r, run in ipairs(runs) do
    local on_sparse, on_dense
    for step in run(X) do on_sparse = step.model[1] end
    for step in run(dense) do on_dense = step.model[1] end
    spec.close(on_sparse:predict(Xtest:to_sparse()), on_dense:predict(Xtest), 1e-9, "method " .. r)
  end
end)

spec.finish()
