-- Model files, preprocessing, classes and scores: what is saved predicts the same when it is loaded, on any number of ranks,
-- and a file that is not a model as we write it is refused.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local rank = kbcd.rank()

local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
local n, d, lambda = 61, 3, { 1e-2, 1e-3 }
local data, test_data = Matrix.randn(n, d, { seed = 3 }), Matrix.randn(23, d, { seed = 4 })
local X, Xtest = DataSet(data), DataSet(test_data)
local Y = Matrix.hcat{ X.rows:clone():sin():sum(2), X.rows:clone():square():sum(2) }
local rbf = kbcd.kernel.rbf{ sigma = 1.5 }

local function last(steps)
  local final
  for step in steps do final = step end
  return final
end

local function trained(method, X_of)
  X_of = X_of or X
  local m = { method = method, task = "regress", kernel = rbf, X = X_of, best = 2, metrics = { test_error = { 0.5, 0.25 } },
    options = { epochs = 2, partition = "fixed", jitter = true } }
  if method == "full_kernel" then
    m.step = last(kbcd.full_kernel(X_of, Y, { kernel = rbf, lambda = lambdas, b = 20, epochs = 2 }))
  elseif method == "nystrom" then
    m.step = last(kbcd.nystrom(X_of, Y, { kernel = rbf, lambda = lambdas, p = 17, b = 6, epochs = 2, seed = 9 }))
  else
    m.map = { kind = "fourier", p = 24, seed = 5 }
    local map = kbcd.features.fourier{ kernel = rbf, p = 24, seed = 5 }
    m.step = last(kbcd.random_features(X_of, Y, { map = map, lambda = lambdas, b = 10, epochs = 2 }))
  end
  m.model = m.step.model
  return m
end

test("a loaded model predicts what the trained one does", function()
  for _, method in ipairs{ "full_kernel", "nystrom", "random_features" } do
    local m = trained(method)
    kbcd.model_file.save(path, m)
    local loaded = kbcd.model_file.load(path)
    for l, scores in ipairs(m.model:predict(Xtest)) do
      close(loaded[l]:predict(Xtest), scores, 1e-12, method .. ": scores")
      close(loaded:predict(Xtest)[l], scores, 1e-12, method .. ": scores of the path")
      equal(loaded.lambdas[l], lambdas[l])
    end
    equal(loaded.method, method)
    equal(loaded.best, 2)
    equal(loaded.k, 2)
    equal(loaded.metrics.test_error[2], 0.25)
    equal(loaded.options.partition, "fixed")
    equal(loaded.options.jitter, "true")
    equal(tostring(loaded.kernel), tostring(rbf))
    fails(function() loaded[1]:predict(DataSet(Matrix.zeros(2, d + 1))) end, path, "3", "4")
    fails(function() loaded[1]:predict(3) end, "DataSet")
  end
end)

-- Rows of which two entries of three are 0.
local function with_zeros(rows, seed)
  local A = Matrix.randn(rows, 12, { seed = seed })
  for i = 1, rows do for j = 1, 12 do if (i + j) % 3 ~= 0 then A:set(i, j, 0) end end end
  return DataSet(A)
end

test("a model of sparse data has sparse centres and predicts what its dense twin does", function()
  local rows, new = with_zeros(n, 5), with_zeros(23, 6)
  for _, method in ipairs{ "full_kernel", "nystrom", "random_features" } do
    local m = trained(method, rows)
    kbcd.model_file.save(path, m)
    local dense = kbcd.model_file.load(path)
    local expected = dense:predict(new)
    kbcd.barrier()
    kbcd.model_file.save(path, trained(method, rows:to_sparse()))
    local sparse = kbcd.model_file.load(path)
    for l = 1, 2 do
      close(expected[l], m.model[l]:predict(new), 1e-12, method .. ": dense")
      close(sparse[l]:predict(new:to_sparse()), expected[l], 1e-10, method .. ": sparse rows")
      close(sparse[l]:predict(new), expected[l], 1e-10, method .. ": dense rows")
      close(dense[l]:predict(new:to_sparse()), expected[l], 1e-10, method .. ": sparse rows, dense centres")
    end
    if method ~= "random_features" then
      equal(sparse.centers.sparse, true)
      equal(dense.centers.sparse, false)
      close(kbcd.gather(sparse.centers:to_dense().rows), kbcd.gather(dense.centers.rows), 0, "centres")
    end
  end
end)

test("every kernel comes back from a file", function()
  local kernel = kbcd.kernel
  for _, k in ipairs{ kernel.rbf{ gamma = 0.3 }, kernel.laplacian{ sigma = 2 }, kernel.matern{ nu = 2.5, sigma = 1.25 },
    kernel.polynomial{ degree = 2, gamma = 0.5, c = 0.75 }, kernel.linear(), kernel.cosine() } do
    local step = last(kbcd.full_kernel(X, Y, { kernel = k, lambda = 0.1, b = 30 }))
    kbcd.model_file.save(path, { method = "full_kernel", task = "regress", kernel = k, X = X, model = step.model })
    local loaded = kbcd.model_file.load(path)
    equal(tostring(loaded.kernel), tostring(k))
    close(loaded[1]:predict(Xtest), step.model[1]:predict(Xtest), 1e-12, tostring(k))
  end
  local own = kernel.custom{ name = "own", metric = "dot", kappa = function(D) return D end }
  local step = last(kbcd.full_kernel(X, Y, { kernel = own, lambda = 1 }))
  fails(function()
    kbcd.model_file.save(path, { method = "full_kernel", task = "regress", kernel = own, X = X, model = step.model })
  end, "own", "Lua")
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
        expected:set(i, j, kind == "standardize" and (x - mean) / deviation or kind == "scale01" and (x - low) / (high - low)
          or x / length)
      end
    end
    local fitted = kbcd.preprocess.fit(kind, DataSet(data))
    local changed = kbcd.preprocess.apply(fitted, DataSet(data))
    close(kbcd.gather(changed.rows), expected, 1e-12, kind)
    local m = trained("nystrom", changed)
    m.preprocess = fitted
    kbcd.model_file.save(path, m)
    local before = Xtest.rows:clone()
    close(kbcd.model_file.load(path)[1]:predict(Xtest),
      m.model[1]:predict(kbcd.preprocess.apply(fitted, DataSet(test_data))), 1e-12, kind .. " in the model")
    close(Xtest.rows, before, 0, "the data that is predicted stays as it was")
  end
  local constant = DataSet(Matrix.full(5, 2, 7))
  close(kbcd.preprocess.apply(kbcd.preprocess.fit("standardize", constant), constant).rows, constant.rows * 0, 0, "constant")
  fails(function() kbcd.preprocess.fit("whiten", X) end, "whiten", "standardize")
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

-- A small valid model of random features, with some parts changed.
local function forged(change)
  local parts = {
    root = { format = "kbcd model", version = 1, kbcd = "0", method = "random_features", task = "classify", precision = "f64", n = 9,
      d = 2, k = 2, best = 1 },
    kernel = { name = "rbf", gamma = 0.5, sigma = 1 }, map = { kind = "fourier", p = 4, seed = 1 },
    lambda = Matrix{ { 0.5 } }, coefficients = Matrix.ones(4, 2), classes = { "a", "b" },
    preprocess = { kind = "standardize" }, shift = Matrix.zeros(1, 2), scale = Matrix.ones(1, 2),
  }
  if change then change(parts) end
  kbcd.barrier()  -- everyone is done with the file before
  if rank == 0 then
    local file = kbcd.h5.create(path)
    for name, value in pairs(parts.root) do file:set("/", name, value) end
    for _, group in ipairs{ "kernel", "map", "preprocess", "metrics", "options" } do
      if parts[group] ~= false then
        file:group("/" .. group)
        for name, value in pairs(parts[group] or {}) do file:set("/" .. group, name, value) end
      end
    end
    if parts.lambdas then file:append("/lambdas", parts.lambdas) end
    if parts.coefficients then file:append("/coefficients", parts.coefficients) end
    if parts.classes then file:write_texts("/classes", parts.classes) end
    if parts.shift then file:append("/preprocess/shift", parts.shift) end
    file:append("/preprocess/scale", parts.scale)
    if parts.csr then file:group("/centers") end
    for name, list in pairs(parts.csr or {}) do file:append("/centers/" .. name, Matrix(list)) end
    file:close()
  end
  kbcd.barrier()
end

local function refused(change, ...)
  forged(change)
  fails(function() kbcd.model_file.load(path) end, path, ...)
  kbcd.barrier()
end

test("a model that does not agree with itself is refused", function()
  forged()
  kbcd.model_file.load(path)[1]:predict(DataSet(Matrix.zeros(3, 2)))
  refused(function(p) p.root.format = "other" end, "no kbcd model")
  refused(function(p) p.root.format = 3 end, "no kbcd model")
  refused(function(p) p.root.format = nil end, "no kbcd model")
  refused(function(p) p.root.version = 2 end, "version 2", "version 1")
  refused(function(p) p.root.version = nil end, "version", "missing")
  refused(function(p) p.root.method = "svm" end, "method", "svm", "nystrom")
  refused(function(p) p.root.method = 1 end, "method", "1")
  refused(function(p) p.root.method = "full_kernel" end, "/centers")
  refused(function(p) p.root.task = "guess" end, "task", "guess")
  refused(function(p) p.root.precision = "f16" end, "precision", "f16")
  refused(function(p) p.root.k = 0 end, "attribute k", "0")
  refused(function(p) p.root.k = 3 end, "/classes", "3", "2")
  refused(function(p) p.root.d = 3 end, "/preprocess/shift", "1 x 3", "1 x 2")
  refused(function(p) p.root.d = 1.5 end, "attribute d", "1.5")
  refused(function(p) p.root.best = 2 end, "best", "2")
  refused(function(p) p.root.best = { 1 } end, "best")
  refused(function(p) p.kernel.name = "custom" end, "/kernel", "custom")
  refused(function(p) p.kernel.name = "os.execute" end, "/kernel", "os.execute")
  refused(function(p) p.kernel.gamma = -1 end, "/kernel", "gamma")
  refused(function(p) p.kernel.gamma = 0 / 0 end, "/kernel", "gamma")
  refused(function(p) p.kernel.gamma = "wide" end, "/kernel", "gamma")
  refused(function(p) p.kernel.width = 1 end, "/kernel", "width")
  refused(function(p) p.kernel = false end, "/kernel")
  refused(function(p) p.map.kind = "custom" end, "/map", "custom")
  refused(function(p) p.map.p = 5 end, "/coefficients", "5 x 2", "4 x 2")
  refused(function(p) p.map.p = 2 ^ 39 end, "/coefficients")
  refused(function(p) p.map.seed = -1 end, "/map", "seed")
  refused(function(p) p.map = false end, "/map")
  refused(function(p) p.lambda = Matrix{ { -1 } } end, "/lambdas", "-1")
  refused(function(p) p.lambda = Matrix{ { 1, 2 } } end, "/lambdas")
  refused(function(p) p.lambda = Matrix{ { 1 }, { 2 } } end, "/coefficients", "4 x 4")
  refused(function(p) p.lambda = nil end, "/lambdas")
  refused(function(p) p.coefficients = Matrix.full(4, 2, 0 / 0) end, "/coefficients", "NaN")
  refused(function(p) p.coefficients = nil end, "/coefficients")
  refused(function(p) p.classes = { "a" } end, "/classes", "2", "1")
  refused(function(p) p.classes = nil end, "/classes")
  refused(function(p) p.preprocess.kind = "whiten" end, "/preprocess", "whiten")
  refused(function(p) p.scale = Matrix.full(1, 2, 1 / 0) end, "/preprocess/scale", "Inf")
  refused(function(p) p.preprocess.shuffle = -1 end, "/preprocess", "shuffle", "-1")
  refused(function(p) p.preprocess.shuffle = "yes" end, "/preprocess", "shuffle", "yes")
  refused(function(p) p.preprocess.kind = nil end, "/preprocess", "kind")
  refused(function(p) p.shift = nil end, "/preprocess/shift")
end)

-- The same with four sparse centres: (1, 2), (3, 0), (0, 4) and (5, 0). Damage is in many rows, so that every rank meets it.
local function with_csr(change)
  return function(p)
    p.root.method, p.root.n, p.map = "nystrom", 9, false
    p.csr = { values = { { 1 }, { 2 }, { 3 }, { 4 }, { 5 } }, columns = { { 0 }, { 1 }, { 0 }, { 1 }, { 0 } },
      starts = { { 0 }, { 2 }, { 3 }, { 4 }, { 5 } } }
    if change then change(p.csr, p) end
  end
end

test("sparse centres that do not agree with themselves are refused", function()
  forged(with_csr())
  local centers = kbcd.model_file.load(path).centers
  close(centers:gather(kbcd.Index.range(1, 4)), Matrix{ { 1, 2 }, { 3, 0 }, { 0, 4 }, { 5, 0 } }, 0, "centres")
  kbcd.barrier()
  local function bad(change, ...) refused(with_csr(change), "/centers", ...) end
  bad(function(c) c.values[6] = { 6 } end, "5 and 6")
  bad(function(c) c.columns[5] = nil end, "4 and 5")
  bad(function(c) c.starts[5] = nil end, "starts", "4")
  bad(function(c) c.starts[1] = { 1 } end, "starts", "from 1")
  bad(function(c) c.starts[5] = { 9 } end, "starts", "number 5", "9")
  bad(function(c) c.starts[5] = { 4.5 } end, "starts", "4.5")
  bad(function(c) c.starts[5] = { -1 } end, "starts", "-1")
  bad(function(c) for i = 1, 5 do c.columns[i] = { 2 } end end, "columns", "0..1", "2")
  bad(function(c) for i = 1, 5 do c.columns[i] = { -1 } end end, "columns", "-1")
  bad(function(c) for i = 1, 5 do c.columns[i] = { 0.5 } end end, "columns", "0.5")
  bad(function(c) for i = 1, 5 do c.values[i] = { 0 / 0 } end end, "NaN")
  bad(function(c) c.values = nil end, "values")
  bad(function(c) c.columns = nil end, "columns")
  bad(function(c) c.starts = nil end, "dataset expected")
  bad(function(c) c.starts = { { 0, 2, 3, 4, 5 } } end, "starts", "1x5")
  refused(with_csr(function(c) c.starts[6] = { 5 } end), "/coefficients", "5 x 2", "4 x 2")
  refused(with_csr(function(_, p) p.root.method = "full_kernel" end), "9 rows expected, got 4")
  if kbcd.size() == 1 then  -- in one place
    bad(function(c) c.starts[3] = { 1 } end, "starts", "number 3", "below the one before")
    bad(function(c) c.columns[2] = { 0 } end, "row 1", "ascend")
    bad(function(c) c.values[4] = { 1 / 0 } end, "Inf")
  end
end)

local function bytes_of(name)
  local file = assert(io.open(name, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

local function write(name, bytes)
  if rank ~= 0 then return end
  local file = assert(io.open(name, "wb"))
  file:write(bytes)
  file:close()
end

local function put(bytes)
  kbcd.barrier()
  write(path, bytes)
  kbcd.barrier()
end

test("a damaged model file is refused, or its damage is where nothing is", function()
  forged()
  local bytes, expected = bytes_of(path), kbcd.model_file.load(path)[1]:predict(DataSet(Matrix.ones(4, 2)))
  for i = 0, 39 do
    put(bytes:sub(1, math.floor(#bytes * i / 40)))
    fails(function() kbcd.model_file.load(path) end, path)
  end
  local noticed = 0
  for i = 0, 149 do
    local at = 1 + (i * 7919) % #bytes
    put(bytes:sub(1, at - 1) .. string.char((bytes:byte(at) + 1 + i) % 256) .. bytes:sub(at + 1))
    local good, model = pcall(kbcd.model_file.load, path)
    if good then
      close(model[1]:predict(DataSet(Matrix.ones(4, 2))), expected, 0, "byte " .. at)
    else
      noticed = noticed + 1
      assert(tostring(model):find(path, 1, true), "the message names the file: " .. tostring(model))
    end
  end
  assert(noticed > 20, noticed .. " damaged bytes were noticed")
  put("no model")
  fails(function() kbcd.model_file.load(path) end, path, "HDF5")
  fails(function() kbcd.model_file.load("/nowhere/m.h5") end, "/nowhere/m.h5")
end)

test("a file is only replaced by a complete one", function()
  put("what was there")
  fails(function()
    kbcd.output_file.write(path, function(name)
      write(name, "half")
      kbcd.barrier()
      error("the disk is full")
    end)
  end, "the disk is full")
  kbcd.barrier()
  equal(bytes_of(path), "what was there")
  kbcd.barrier()
  if rank == 0 then equal(#io.popen("ls " .. path .. "*.part 2>/dev/null"):read("*a"), 0, "temporary files") end
  kbcd.output_file.write(path, function(name) write(name, "whole") end)
  equal(bytes_of(path), "whole")
  if rank == 0 then fails(function() kbcd.output_file.check("/nowhere/m.h5") end, "/nowhere/m.h5", "written") end
end)

kbcd.barrier()
if rank == 0 then os.remove(path) end
spec.finish()
