-- KernelBlock, RandomFeaturesBlock and Selector on any number of ranks against plain loops; kernels and maps in Lua.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, equal, close, fails, make = spec.test, spec.equal, spec.close, spec.fails, spec.make

local n, d = 23, 3
local data = Matrix.randn(n, d, { seed = 1 })

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
  fails(made(X, I, custom("dot", function() error("from kappa") end)), "blocks_spec.lua", "from kappa")
  fails(function() custom("l2", print) end, "kernel.custom", "dot, cosine, sqeuclidean, manhattan", "'l2'")
  fails(function() kbcd.kernel.rbf{ width = 1 } end, "kernel.rbf", "'width'", "gamma, sigma")
  fails(function() kbcd.kernel.rbf{ sigma = 0 } end, "sigma > 0", "0")
  fails(function() kbcd.kernel.rbf{ sigma = "5" } end, "kernel.rbf", "sigma", "number")
  fails(function() kbcd.kernel.rbf{} end, "kernel.rbf", "sigma", "gamma")
end)

test("how a block is kept, and scales of its rows and columns", function()
  local X, kernel, I = DataSet(data), kernels[1][1], Index{ 4, 17, 9 }
  local r, c = Matrix.randn(n, 1, { seed = 8 }), Matrix.randn(3, 1, { seed = 9 })
  local mine = r:rows(X.first, X.first + X.local_n - 1)
  local full = make(n, 3, function(i, j) return r(i, 1) * kernels[1][2]((distances(i, I[j]))) * c(j, 1) end)
  for _, keep in ipairs{ false, "exact", "none", "f32" } do
    local K = kbcd.KernelBlock(X, I, kernel, { keep = keep or nil, row_scale = mine, column_scale = c })
    acts_as(K, full, X.first, 1e-12, "scaled")
    equal(K.kept, keep ~= "none")
    close(K:square(), make(3, 3, function(i, j)
      return c(i, 1) * kernels[1][2]((distances(I[i], I[j]))) * c(j, 1)
    end), 1e-12, "square")
  end
  local function made(options) return function() kbcd.KernelBlock(X, I, kernel, options) end end
  fails(made{ keep = "f64" }, "exact", "f16", "none", "f64")
  fails(made{ keep = "f16" }, "f16", "f32 data", "f64")
  fails(made{ column_scale = Matrix.ones(1, 3) }, "column_scale", "3x1", "1x3")
  fails(made{ row_scale = Matrix.ones(n + 1, 1) }, "row_scale", "this rank's rows")
  fails(made{ row_scale = 2 }, "row_scale", "Matrix expected, got 2")
end)

test("a product with zero computes nothing", function()
  local X, kernel = DataSet(data), kernels[1][1]
  local K = kbcd.KernelBlock(X, Index.range(1, 5), kernel)
  kbcd.timers.reset()
  close(K:t() * Matrix.zeros(X.local_n, 2), Matrix.zeros(5, 2), 0, "zero")
  equal(kbcd.timers.count("kernel entries"), 0)
  local D = K * Matrix.ones(5, 1)
  equal(K.kept, false, "the only product is not kept")
  close(K * Matrix.ones(5, 1), D, 0, "again")
  equal(K.kept, true)
  equal(kbcd.timers.count("kernel entries"), 2 * 5 * n)
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

  for _, name in ipairs{ "fourier", "orthogonal", "sorf" } do
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

spec.finish()
