-- Model files, preprocessing, classes and scores: what is saved predicts the same when it is loaded, on any number of ranks.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local rank = kbcd.rank()

local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
local n, d, lambdas = 61, 3, { 1e-2, 1e-3 }
local data, test_data = Matrix.randn(n, d, { seed = 3 }), Matrix.randn(23, d, { seed = 4 })
local X, Xtest = DataSet(data), DataSet(test_data)
local Y = Matrix.hcat{ X.rows:clone():sin():sum(2), X.rows:clone():square():sum(2) }
local rbf = kbcd.kernel.rbf{ sigma = 1.5 }

local function last(steps)
  local final
  for step in steps do final = step end
  return final
end

-- A model of a method, and what goes with it into a file.
local function trained(method, X_of)
  X_of = X_of or X
  local about = { method = method, task = "regress", best = 2, metrics = { test_error = { 0.5, 0.25 } },
    options = { epochs = 2, partition = "fixed", jitter = true } }
  local step
  if method == "full_kernel" then
    step = last(kbcd.full_kernel(X_of, Y, { kernel = rbf, lambda = lambdas, b = 20, epochs = 2 }))
  elseif method == "nystrom" or method == "falkon" then
    local b = method == "nystrom" and 6 or nil
    step = last(kbcd[method](X_of, Y, { kernel = rbf, lambda = lambdas, p = 17, b = b, epochs = 2, seed = 9 }))
  else
    local map = kbcd.features.fourier{ kernel = rbf, p = 24, seed = 5 }
    step = last(kbcd.random_features(X_of, Y, { map = map, lambda = lambdas, b = 10, epochs = 2 }))
  end
  return step.model, about
end

local methods = { "full_kernel", "nystrom", "falkon", "random_features" }

test("a loaded model predicts what the trained one does", function()
  for _, method in ipairs(methods) do
    local model, about = trained(method)
    kbcd.model_file.save(path, model, about)
    local loaded = kbcd.model_file.load(path)
    for l, scores in ipairs(model:predict(Xtest)) do
      close(loaded[l]:predict(Xtest), scores, 1e-12, method .. ": scores")
      close(loaded:predict(Xtest)[l], scores, 1e-12, method .. ": scores of the path")
      equal(loaded.lambdas[l], lambdas[l])
    end
    equal(loaded.method, method)
    equal(loaded.task, "regress")
    equal(loaded.form, method == "random_features" and "features" or "kernel")
    equal(loaded.best, 2)
    equal(loaded.k, 2)
    equal(loaded.metrics.test_error[2], 0.25)
    equal(loaded.options.partition, "fixed")
    equal(loaded.options.jitter, "true")
    equal(tostring(loaded.kernel or loaded.map.kernel), tostring(rbf))
    equal(tostring(loaded.map), tostring(model.map))
    fails(function() loaded[1]:predict(DataSet(Matrix.zeros(2, d + 1))) end, path, "3", "4")
    fails(function() loaded[1]:predict(3) end, "DataSet")
    kbcd.barrier()
    model:save(path)
    local bare = kbcd.model_file.load(path)
    close(bare[2]:predict(Xtest), model[2]:predict(Xtest), 1e-12, method .. ": model:save")
    equal(bare.method, "script")
    equal(bare.task, "regress")
    equal(bare.best, 1)
    kbcd.barrier()
    loaded:save(path, about)  -- what was loaded can be saved again
    close(kbcd.model_file.load(path)[2]:predict(Xtest), model[2]:predict(Xtest), 1e-12, method .. ": saved again")
    kbcd.barrier()
  end
end)

test("what load would refuse is not saved", function()
  local model = trained("nystrom")
  local function refused(about, ...) fails(function() kbcd.model_file.save(path, model, about) end, ...) end
  refused({ best = 3 }, "model_file.save", "best", "1..2", "3")
  refused({ task = "classify" }, "model_file.save", "names", "2 classes")
  refused({ names = { "one" } }, "model_file.save", "names", "2 expected, got 1")
  refused({ task = "classify", names = { "one", "one" } }, "model_file.save", "names 1 and 2 are both 'one'")
  refused({ task = "classify", names = { "one", "" } }, "model_file.save", "name 2 is empty")
  refused({ task = "guess" }, "model_file.save", "task")
  refused({ methods = "nystrom" }, "model_file.save", "methods")
  fails(function() kbcd.model_file.save(path, { kernel = rbf }) end, "model_file.save", "a Model expected, got table")
  model.coefficients:set(1, 1, 0 / 0)
  refused({}, "model_file.save", "NaN")
end)

-- Rows of which two entries of three are 0.
local function with_zeros(rows, seed)
  local A = Matrix.randn(rows, 12, { seed = seed })
  for i = 1, rows do for j = 1, 12 do if (i + j) % 3 ~= 0 then A:set(i, j, 0) end end end
  return DataSet(A)
end

test("a model of sparse data has sparse centres and predicts what its dense twin does", function()
  local rows, new = with_zeros(n, 5), with_zeros(23, 6)
  for _, method in ipairs(methods) do
    local model, about = trained(method, rows)
    kbcd.model_file.save(path, model, about)
    local dense = kbcd.model_file.load(path)
    local expected = dense:predict(new)
    kbcd.barrier()
    kbcd.model_file.save(path, trained(method, rows:to_sparse()), about)
    local sparse = kbcd.model_file.load(path)
    for l = 1, 2 do
      close(expected[l], model[l]:predict(new), 1e-12, method .. ": dense")
      close(sparse[l]:predict(new:to_sparse()), expected[l], 1e-10, method .. ": sparse rows")
      close(sparse[l]:predict(new), expected[l], 1e-10, method .. ": dense rows")
      close(dense[l]:predict(new:to_sparse()), expected[l], 1e-10, method .. ": sparse rows, dense centres")
    end
    if method ~= "random_features" then
      equal(sparse.X.sparse, true)
      equal(dense.X.sparse, false)
      close(kbcd.gather(sparse.X:to_dense().rows), kbcd.gather(dense.X.rows), 0, "centres")
    end
  end
end)

test("every kernel comes back from a file", function()
  local kernel = kbcd.kernel
  for _, k in ipairs{ kernel.rbf{ gamma = 0.3 }, kernel.laplacian{ sigma = 2 }, kernel.matern{ nu = 2.5, sigma = 1.25 },
    kernel.polynomial{ degree = 2, gamma = 0.5, c = 0.75 }, kernel.linear(), kernel.cosine() } do
    local step = last(kbcd.full_kernel(X, Y, { kernel = k, lambda = 0.1, b = 30 }))
    kbcd.model_file.save(path, step.model, { method = "full_kernel", task = "regress" })
    local loaded = kbcd.model_file.load(path)
    equal(tostring(loaded.kernel), tostring(k))
    close(loaded[1]:predict(Xtest), step.model[1]:predict(Xtest), 1e-12, tostring(k))
  end
end)

test("every feature map comes back from a file", function()
  for _, declared in ipairs(require("kbcd.runtime").maps.declared()) do
    local map = kbcd.features[declared.name]{ kernel = rbf, p = 24, seed = 5 }
    local step = last(kbcd.random_features(X, Y, { map = map, lambda = 0.1, b = 12 }))
    step.model:save(path)
    local loaded = kbcd.model_file.load(path)
    equal(tostring(loaded.map), tostring(map))
    close(loaded[1]:predict(Xtest), step.model[1]:predict(Xtest), 1e-12, tostring(map))
    kbcd.barrier()
  end
  local step = last(kbcd.random_features(X, Y, { map = kbcd.features.columns{ p = d }, lambda = 0.1 }))
  step.model:save(path)
  close(kbcd.model_file.load(path)[1]:predict(Xtest), step.model[1]:predict(Xtest), 1e-12, "columns")
end)

test("a kernel that is written in Lua is named in the file, and loading needs its code", function()
  local function cauchy(width, name)
    return kbcd.kernel.custom{ name = name or "cauchy", metric = "sqeuclidean", params = { width = width },
      kappa = function(D) return (1 + D:scale(1 / width)):pow(-1) end }
  end
  local function other(width)
    return kbcd.kernel.custom{ name = "cauchy", metric = "sqeuclidean", params = { width = width },
      kappa = function(D) return (1 + D:scale(1 / width)):pow(-2) end }
  end
  for _, method in ipairs{ "full_kernel", "nystrom" } do
    local p = method == "nystrom" and 17 or nil
    local step = last(kbcd[method](X, Y, { kernel = cauchy(2), lambda = 1e-2, b = 10, p = p }))
    kbcd.model_file.save(path, step.model, { method = method })
    local loaded = kbcd.model_file.load(path, { with = cauchy(2) })
    close(loaded[1]:predict(Xtest), step.model[1]:predict(Xtest), 1e-12, method)
    fails(function() kbcd.model_file.load(path) end, path, "/kernel", "cauchy", "Lua", "--with")
    fails(function() kbcd.model_file.load(path, { with = cauchy(2.5) }) end, path, "/kernel", "width = 2 there", "2.5")
    fails(function() kbcd.model_file.load(path, { with = cauchy(2, "other") }) end, path, "'cauchy' expected", "other")
    fails(function() kbcd.model_file.load(path, { with = rbf }) end, path, "'cauchy' expected", "rbf")
    fails(function() kbcd.model_file.load(path, { with = other(2) }) end, path, "the source", "cauchy", "differs")
    fails(function() kbcd.model_file.load(path, { with = 3 }) end, "model_file.load", "with", "a kernel or a feature map")
    kbcd.barrier()
  end
  fails(function() kbcd.kernel.custom{ metric = "dot", params = 3, kappa = function(D) return D end } end, "kernel.custom",
    "params", "table")
end)

test("a feature map that is written in Lua is named in the file, and loading needs its code", function()
  local function cosines(scale)
    return kbcd.features.custom{ name = "cosines", p = 12, params = { scale = scale }, map = function(Z, I)
      local W = Matrix.randn(12, d, { seed = 6 }):take(I)
      return (Z:to("f64") * W:t()):scale(scale):cos()
    end }
  end
  local step = last(kbcd.random_features(X, Y, { map = cosines(0.5), lambda = 1e-2, b = 5 }))
  kbcd.model_file.save(path, step.model)
  close(kbcd.model_file.load(path, { with = cosines(0.5) })[1]:predict(Xtest), step.model[1]:predict(Xtest), 1e-12, "map")
  fails(function() kbcd.model_file.load(path) end, path, "/map", "cosines", "Lua", "--with")
  fails(function() kbcd.model_file.load(path, { with = cosines(0.75) }) end, path, "/map", "scale = 0.5 there", "0.75")
  fails(function() kbcd.model_file.load(path, { with = rbf }) end, path, "/map", "cosines", "rbf")
  kbcd.barrier()
end)

test("preprocessing is what its formula says, and travels with the model", function()
  local function column(j, f, start)
    local value = start
    for i = 1, n do value = f(value, data(i, j)) end
    return value
  end
  for _, kind in ipairs(kbcd.preprocess.kinds) do
    local expected = data:clone()
    for j = 1, d do
      local mean = column(j, function(a, x) return a + x / n end, 0)
      local deviation = math.sqrt(column(j, function(a, x) return a + (x - mean) ^ 2 / n end, 0))
      local low, high = column(j, math.min, math.huge), column(j, math.max, -math.huge)
      for i = 1, n do
        local x, length = data(i, j), data:rows(i):norm()
        expected:set(i, j, kind:find("^standardize") and (x - mean) / deviation or
          kind == "scale01" and (x - low) / (high - low) or x / length)
      end
    end
    local fitted = kbcd.preprocess.fit(kind, DataSet(data))
    local changed = kbcd.preprocess.apply(fitted, DataSet(data))
    close(kbcd.gather(changed.rows), expected, 1e-12, kind)
    local model, about = trained("nystrom", changed)
    about.preprocess = fitted
    kbcd.model_file.save(path, model, about)
    local before = Xtest.rows:clone()
    close(kbcd.model_file.load(path)[1]:predict(Xtest),
      model[1]:predict(kbcd.preprocess.apply(fitted, DataSet(test_data))), 1e-12, kind .. " in the model")
    close(Xtest.rows, before, 0, "the data that is predicted stays as it was")
  end
  local constant = DataSet(Matrix.full(5, 2, 7))
  close(kbcd.preprocess.apply(kbcd.preprocess.fit("standardize", constant), constant).rows, constant.rows * 0, 0, "constant")
  fails(function() kbcd.preprocess.fit("whiten", X) end, "whiten", "standardize")
end)

test("columns of two different values become 0 and 1 by standardize-numbers; others have mean 0 and variance 1", function()
  local rows = {}
  for i = 1, 12 do rows[i] = { i % 3 == 0 and 0.1 or 7.3, i % 2, i, 5 } end
  local set = DataSet(Matrix(rows))
  local got = kbcd.gather(kbcd.preprocess.apply(kbcd.preprocess.fit("standardize-numbers", set), set).rows)
  for i = 1, 12 do
    close(got(i, 1), i % 3 == 0 and 0 or 1, 1e-12, "two values")
    close(got(i, 2), i % 2, 1e-12, "0 and 1")
    close(got(i, 3), (i - 6.5) / math.sqrt((12 ^ 2 - 1) / 12), 1e-12, "a number")
    close(got(i, 4), 0, 1e-12, "a constant")
  end
end)

test("preprocessing of numbers whose squares overflow or vanish, of constant columns, and in f32", function()
  local pattern = { -1, 0.5, 2, 0.25, -1.75 }  -- mean 0, and the deviation below
  local deviation = 0
  for _, x in ipairs(pattern) do deviation = deviation + x * x / #pattern end
  deviation = math.sqrt(deviation)
  local sizes = { 1, 1e200, 1e-200, 1e300, 1e-300 }
  local function rows() return Matrix.zeros(5, #sizes + 2) end
  local A, expected = rows(), rows()
  for i, x in ipairs(pattern) do
    for j, size in ipairs(sizes) do
      A:set(i, j, size * x)
      expected:set(i, j, x / deviation)
    end
    A:set(i, #sizes + 1, 0.1)  -- its mean is rounded, which is no spread
    A:set(i, #sizes + 2, 2 ^ 20 + 0.1 * x)
    expected:set(i, #sizes + 2, x / deviation)
  end
  local fitted = kbcd.preprocess.fit("standardize", DataSet(A))
  close(kbcd.gather(kbcd.preprocess.apply(fitted, DataSet(A)).rows), expected, 1e-8, "standardize")
  local tiny = DataSet(Matrix{ { 1, 0 }, { 2, 1e-310 } })
  fails(function() kbcd.preprocess.fit("standardize", tiny) end, "column 2", "no inverse")
  fails(function() kbcd.preprocess.fit("scale01", DataSet(Matrix{ { 1.7e308 }, { -1.7e308 } })) end, "column 1", "no inverse")
  for _, size in ipairs{ 1e-310, 1e-200, 1, 1e200 } do
    local unit = kbcd.preprocess.apply({ kind = "unit-norm" }, DataSet(Matrix{ { 3, 4 }, { 0, 0 }, { -3, 4 } } * size))
    close(kbcd.gather(unit.rows), Matrix{ { 0.6, 0.8 }, { 0, 0 }, { -0.6, 0.8 } }, 1e-10, "unit-norm of " .. size)
  end
  -- In f32 the formula holds for the numbers as they are stored, rounded once.
  local B = Matrix.zeros(5, 1, "f32")
  for i, x in ipairs(pattern) do B:set(i, 1, 1e6 + x) end
  local mean, spread = 0, 0
  for i = 1, 5 do mean = mean + B(i, 1) / 5 end
  for i = 1, 5 do spread = spread + (B(i, 1) - mean) ^ 2 / 5 end
  local narrow = kbcd.preprocess.apply(kbcd.preprocess.fit("standardize", DataSet(B)), DataSet(B))
  local stored = kbcd.gather(narrow.rows)
  for i = 1, 5 do close(stored(i, 1), (B(i, 1) - mean) / math.sqrt(spread), 2e-7, "f32") end
  close(Matrix{ { 3e200, 4e200 } }:norm() / 5e200, 1, 1e-15, "norm of large numbers")
  close(Matrix{ { 3e-200, 4e-200 } }:norm() / 5e-200, 1, 1e-15, "norm of small numbers")
  local all = kbcd.scoring.rmse(DataSet(Matrix{ { 3e200 }, { 4e200 } }).rows, DataSet(Matrix{ { 0 }, { 0 } }))
  close(all / math.sqrt(12.5e200) / 1e100, 1, 1e-12, "rmse of large numbers")
end)

test("classes and scores, against counting by hand", function()
  local y = DataSet(Matrix{ { 7 }, { -1 }, { 3 }, { 7 }, { 3 }, { 7 } })
  assert(kbcd.classes.whole(y) and not kbcd.classes.whole(DataSet(Matrix{ { 1 }, { 0.5 } })))
  equal(table.concat(kbcd.classes.values(y), " "), "-1 3 7")
  local numbers = kbcd.classes.numbers(y, { -1, 3, 7 })
  close(kbcd.gather(numbers.rows), Matrix{ { 3 }, { 1 }, { 2 }, { 3 }, { 2 }, { 3 } }, 0, "numbers")
  if kbcd.size() == 1 then fails(function() kbcd.classes.numbers(y, { 3, 7 }, "labels") end, "row 2 of labels", "-1") end
  local S = DataSet(Matrix{ { 0, 1, 2 }, { 0, 2, 1 }, { 1, 3, 2 }, { 3, 2, 1 }, { 3, 1, 2 }, { 2, 3, 1 } }).rows
  close(kbcd.scoring.wrong(S, numbers), 4 / 6, 1e-15, "top-1")
  close(kbcd.scoring.wrong(S, numbers, 2), 4 / 6, 1e-15, "top-2")
  close(kbcd.scoring.wrong(S, numbers, 3), 0, 0, "top-3")
  close(kbcd.scoring.confusion(S, numbers), Matrix{ { 0, 1, 0 }, { 1, 1, 0 }, { 1, 1, 1 } }, 0, "confusion")
  local all, columns = kbcd.scoring.rmse(DataSet(Matrix{ { 1, 0 }, { 3, 2 } }).rows, DataSet(Matrix{ { 0, 0 }, { 0, 0 } }))
  close(all, math.sqrt(14 / 4), 1e-15, "rmse")
  close(columns[1], math.sqrt(5), 1e-15, "rmse of a column")
end)

kbcd.barrier()
if rank == 0 then os.remove(path) end
spec.finish()
