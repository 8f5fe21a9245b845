-- KernelMatrix, of some columns and of all, against plain loops, kept, streamed and in between.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, equal, close, fails, make, product = spec.test, spec.equal, spec.close, spec.fails, spec.make, spec.product

local n, d, gamma = 61, 3, 0.3
local data = Matrix.randn(n, d, { seed = 1 })
local kernel = kbcd.kernel.rbf{ gamma = gamma }
local function entry(x, i, y, j)
  local s = 0
  for c = 1, d do s = s + (x(i, c) - y(j, c)) ^ 2 end
  return math.exp(-gamma * s)
end
local full = make(n, n, function(i, j) return entry(data, i, data, j) end)
local function own(X, A) return A:rows(X.first, X.first + X.local_n - 1) end

local cases = { { "f64", "exact", 1e-13 }, { "f64", "none", 1e-13 }, { "f32", "f16", 2e-3 }, { "f32", "exact", 1e-5 } }

test("K([n], J)", function()
  local J = Index{ 5, 60, 2, 2, 33, 17, 9 }
  local V, A = Matrix.randn(7, 3, { seed = 2 }), Matrix.randn(n, 3, { seed = 3 })
  local columns = make(n, 7, function(i, j) return full(i, J[j]) end)
  for _, case in ipairs(cases) do
    local X = DataSet(data):to(case[1])
    local K = kbcd.KernelMatrix(X, J, kernel, { keep = case[2], b = 3 })
    for _ = 1, 2 do
      close(K * V, own(X, product(columns, V)), case[3], "K V")
      close(kbcd.allreduce(K:t() * own(X, A)), product(columns:t(), A), case[3], "K' A")
    end
    close(K:rows(Index{ 7, 61 }), columns:take(Index{ 7, 61 }), case[3], "rows")
    close(K:square(), columns:take(J), 1e-5, "K(J, J)")
    close(K:diagonal(), Matrix.ones(X.local_n, 1), 1e-6, "diagonal")
    equal(K.kept, case[2] == "none" and 0 or 7 * X.local_n, "kept")
    K:release()
    equal(K.kept, 0)
    close(K * V, own(X, product(columns, V)), case[3], "K V after release")
  end
  local X, others = DataSet(data), Matrix.randn(5, d, { seed = 8 })
  local K = kbcd.KernelMatrix(X, Index{ 4, 1 }, kernel, { centers = DataSet(others) })
  close(K * Matrix.eye(2), own(X, make(n, 2, function(i, j) return entry(data, i, others, j == 1 and 4 or 1) end)), 1e-13)
  close(K:square(), make(2, 2, function(i, j) return entry(others, i == 1 and 4 or 1, others, j == 1 and 4 or 1) end), 1e-13)
end)

test("all of K, from one triangle", function()
  local V = Matrix.randn(n, 4, { seed = 4 })
  local exact = product(full, V)
  for _, b in ipairs{ 7, 20, 61, 100 } do
    for _, case in ipairs(cases) do
      local X = DataSet(data):to(case[1])
      for _, x in ipairs{ X, case[2] ~= "f16" and X:to_sparse() or nil } do
        kbcd.timers.reset()
        local K = kbcd.KernelMatrix(x, nil, kernel, { keep = case[2], b = b })
        for _ = 1, 3 do close(K * own(X, V), own(X, exact), case[3], ("K V of b = %d, %s"):format(b, case[2])) end
        close(K:t() * own(X, V), own(X, exact), case[3], "K' V")
        local function triangle(width)  -- of entries, in strips of so many columns
          local sum = 0
          for first = 0, n - 1, width do sum = sum + math.min(first + width, n) * math.min(width, n - first) end
          return sum
        end
        local tile, passes = #K:tile(1), case[2] == "none" and 4 or 1
        equal(kbcd.timers.count("kernel entries"), passes * triangle(x.sparse and tile * K.group or tile), "one triangle")
        equal(kbcd.allreduce(K.kept), case[2] == "none" and 0 or triangle(tile))
        assert(tile * K.group <= b and tile * K.group > b - 8, "tiles of b rows")
        close(K * Matrix.zeros(X.local_n, 2), Matrix.zeros(X.local_n, 2), 0, "zero")
      end
    end
  end
  local X = DataSet(data)
  local K = kbcd.KernelMatrix(X, nil, kernel, { b = 9 })
  K = K * Matrix.zeros(X.local_n, 1) and K  -- nothing is decided by a product with 0
  close(K * own(X, V), own(X, exact), 1e-13)
  assert(kbcd.allreduce(K.kept) > n * n / 2, "kept")
  close(K:rows(Index{ 3, 61 }), full:take(Index{ 3, 61 }), 1e-13, "rows")
  close(K:square(), full, 1e-13, "square")
  equal(tostring(K), ("KernelMatrix %dx%d f64, symmetric"):format(X.local_n, n))
end)

test("ranks have equal shares, and what does not fit the budget is streamed", function()
  local m = 400
  local X = DataSet(Matrix.randn(m, d, { seed = 5 }))
  local V, budget = Matrix.randn(m, 2, { seed = 6 }), kbcd.memory_budget()
  local K = kbcd.KernelMatrix(X, nil, kernel, { b = 40 })
  local exact = K * own(X, V)
  local most, all = kbcd.allreduce_max(K.kept), kbcd.allreduce(K.kept)
  assert(most < 1.35 * all / kbcd.size(), "balance")
  K:release()
  local bytes = kbcd.allreduce_max(8 * most)
  kbcd.memory_budget(math.floor(bytes / 2))
  for _ = 1, 3 do close(K * own(X, V), exact, 1e-13, "half kept") end
  local kept = kbcd.allreduce(K.kept)
  kbcd.memory_budget(budget)
  assert(kept > 0 and kept < 0.7 * all, ("%d of %d kept"):format(kept, all))
end)

test("fewer rows than ranks", function()
  local A, V = Matrix.randn(3, d, { seed = 1 }), Matrix.randn(3, 2, { seed = 3 })
  for _, X in ipairs{ DataSet(A), DataSet(A):to_sparse(), DataSet(A):to("f32") } do
    local K, C = kbcd.KernelMatrix(X, nil, kernel, { b = 2 }), kbcd.KernelMatrix(X, Index{ 2, 3 }, kernel)
    local all = K:square()
    for _ = 1, 2 do
      close(kbcd.gather(K * own(X, V)), product(all, V), 1e-6, "K V")
      close(kbcd.gather(C * V:rows(1, 2)), product(all:cols(2, 3), V:rows(1, 2)), 1e-6, "K V of columns")
      close(kbcd.allreduce(C:t() * own(X, V)), product(all:rows(2, 3), V), 1e-6, "K' V")
    end
    local function ridged(D) return K * D + D end
    local x = kbcd.conjugate_gradients{ times = ridged, right = own(X, V), distributed = true }:solve()
    close(kbcd.gather(x), kbcd.local_solve(all:to("f64"):add_diagonal(1), V), 1e-5, "pcg")
    for _, name in ipairs{ "uniform", "rpcholesky", "leverage", "kmeanspp" } do
      for _, p in ipairs{ 1, 3 } do equal(#kbcd.centers[name](X, p, kernel), p, name) end
    end
  end
end)

test("kernels of any diagonal", function()
  for _, k in ipairs{ kbcd.kernel.linear(), kbcd.kernel.polynomial{ degree = 2, gamma = 0.5, c = 1 }, kernel,
    kbcd.kernel.custom{ metric = "dot", kappa = function(D) return D * 3 end } } do
    for _, X in ipairs{ DataSet(data), DataSet(data):to_sparse() } do
      local all = kbcd.KernelMatrix(X, nil, k):square()
      close(kbcd.gather(kbcd.kernel_diagonal(X, k)), make(n, 1, function(i) return all(i, i) end), 1e-12, tostring(k))
    end
  end
end)

test("bad input", function()
  local X = DataSet(data)
  local K, C = kbcd.KernelMatrix(X, nil, kernel), kbcd.KernelMatrix(X, Index{ 1, 2 }, kernel)
  fails(function() return K * Matrix.zeros(n + 1, 2) end, "KernelMatrix", ("%dx2"):format(n + 1))
  fails(function() return C * Matrix.zeros(3, 2) end, "KernelMatrix", "2 rows", "3x2")
  fails(function() return C:t() * Matrix.zeros(n + 2, 2) end, "KernelMatrix:t()", "rows")
  fails(function() return C * 3 end, "cannot multiply KernelMatrix by number")
  fails(function() return 3 * C end, "cannot multiply number by KernelMatrix")
  fails(function() return C:transpose() end, "KernelMatrix", "'transpose'")
  fails(function() kbcd.KernelMatrix(data, nil, kernel) end, "argument 1", "DataSet expected, got Matrix")
  fails(function() kbcd.KernelMatrix(X, 3, kernel) end, "argument 2", "Index expected, got number")
  fails(function() kbcd.KernelMatrix(X, nil, "rbf") end, "argument 3", "Kernel expected")
  fails(function() kbcd.KernelMatrix(X, nil, kernel, { keep = "f64" }) end, "keep", "exact", "'f64'")
  fails(function() kbcd.KernelMatrix(X, nil, kernel, { centers = X }) end, "centers", "J")
  fails(function() kbcd.KernelMatrix(X, nil, kernel, { block = 3 }) end, "'block'", "keep")
end)

spec.finish()
