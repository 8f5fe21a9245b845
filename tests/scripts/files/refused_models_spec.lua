-- Files that are no models as kbcd writes them are refused, by name and reason; files of version 1 are read; a file is only
-- replaced by a complete one.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local rank = kbcd.rank()

local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
local test_data = Matrix.randn(23, 3, { seed = 4 })

-- A small valid model of random features, with some parts changed; of version 1, if `version_1` comes first.
local function forged(...)
  local parts = {
    root = { format = "kbcd model", version = 2, kbcd = "0", form = "features", method = "random_features",
      task = "classify", precision = "f64", n = 9, d = 2, k = 2, best = 1 },
    kernel = { name = "rbf", gamma = 0.5, sigma = 1 }, map = { name = "fourier", p = 4, seed = 1 },
    lambda = Matrix{ { 0.5 } }, coefficients = Matrix.ones(4, 2), classes = { "a", "b" },
    preprocess = { kind = "standardize" }, shift = Matrix.zeros(1, 2), scale = Matrix.ones(1, 2),
  }
  for _, change in ipairs{ ... } do change(parts) end
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
    if parts.lambda then file:append(parts.old and "/lambdas" or "/lambda", parts.lambda) end
    if parts.coefficients then file:append("/coefficients", parts.coefficients) end
    if parts.classes then file:write_texts("/classes", parts.classes) end
    if parts.shift then file:append("/preprocess/shift", parts.shift) end
    file:append("/preprocess/scale", parts.scale)
    if parts.centers then file:append("/centers", parts.centers) end
    if parts.csr then file:group("/centers") end
    for name, list in pairs(parts.csr or {}) do file:append("/centers/" .. name, Matrix(list)) end
    file:close()
  end
  kbcd.barrier()
end

local function version_1(p)
  p.old, p.root.version, p.root.form, p.root.method = true, 1, nil, "rf"
  p.map.kind, p.map.name = p.map.name, nil
end

-- A change of parts to a model of a kernel with four centres.
local function of_kernel(p)
  p.root.form, p.root.method, p.map = not p.old and "kernel" or nil, "nystrom", false
  p.centers = Matrix{ { 1, 2 }, { 3, 0 }, { 0, 4 }, { 5, 0 } }
end

local function as_it_is() end
local version = as_it_is  -- or version_1

local function refused(change, ...)
  forged(version, change)
  fails(function() kbcd.model_file.load(path) end, path, ...)
  kbcd.barrier()
end

-- Of either version.
local function refuses_what_does_not_agree(lambda, name)
  forged(version)
  kbcd.model_file.load(path)[1]:predict(DataSet(Matrix.zeros(3, 2)))
  refused(function(p) p.root.format = "other" end, "no kbcd model")
  refused(function(p) p.root.format = 3 end, "no kbcd model")
  refused(function(p) p.root.format = nil end, "no kbcd model")
  refused(function(p) p.root.version = 3 end, "version 3", "versions 1 and 2")
  refused(function(p) p.root.version = nil end, "version", "missing")
  refused(function(p) p.root.method = 1 end, "method", "1")
  refused(function(p) p.root.method = nil end, "method", "missing")
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
  refused(function(p) p.kernel = false end, "/map", "kernel")  -- there are maps without one
  refused(function(p) p.map[name] = "custom" end, "/map", "custom")
  refused(function(p) p.map[name] = "os.execute" end, "/map", "os.execute")
  refused(function(p) p.map.width = 1 end, "/map", "width")
  refused(function(p) p.map.p = 5 end, "/coefficients", "5 x 2", "4 x 2")
  refused(function(p) p.map.p = 2 ^ 39 end, "/coefficients")
  refused(function(p) p.map.seed = -1 end, "/map", "seed")
  refused(function(p) p.map = false end, "/map")
  refused(function(p) p.lambda = Matrix{ { -1 } } end, lambda, "-1")
  refused(function(p) p.lambda = Matrix{ { 1, 2 } } end, lambda)
  refused(function(p) p.lambda = Matrix{ { 1 }, { 2 } } end, "/coefficients", "4 x 4")
  refused(function(p) p.lambda = nil end, lambda)
  refused(function(p) p.coefficients = Matrix.full(4, 2, 0 / 0) end, "/coefficients", "NaN")
  refused(function(p) p.coefficients = nil end, "/coefficients")
  refused(function(p) p.classes = { "a" } end, "/classes", "2", "1")
  refused(function(p) p.classes = nil end, "/classes")
  refused(function(p) p.classes = { "a", "a" } end, "/classes", "names 1 and 2 are both 'a'")
  refused(function(p) p.classes = { "", "b" } end, "/classes", "name 1 is empty")
  refused(function(p) p.preprocess.kind = "whiten" end, "/preprocess", "whiten")
  refused(function(p) p.scale = Matrix.full(1, 2, 1 / 0) end, "/preprocess/scale", "Inf")
  refused(function(p) p.preprocess.shuffle = -1 end, "/preprocess", "shuffle", "-1")
  refused(function(p) p.preprocess.shuffle = "yes" end, "/preprocess", "shuffle", "yes")
  refused(function(p) p.preprocess.kind = nil end, "/preprocess", "kind")
  refused(function(p) p.shift = nil end, "/preprocess/shift")
end

test("a model that does not agree with itself is refused", function()
  refuses_what_does_not_agree("/lambda", "name")
  refused(function(p) p.root.form = "svm" end, "form", "svm", "kernel", "features")
  refused(function(p) p.root.form = 1 end, "form", "1")
  refused(function(p) p.root.form = nil end, "form", "missing")
  refused(function(p) p.root.form = "kernel" end, "/centers")
  refused(function(p) p.root.version = 1 end, "method", "random_features")
end)

test("a file of version 1 is a model, too, and is checked like one", function()
  forged()
  local expected = kbcd.model_file.load(path)[1]:predict(DataSet(test_data:cols(1, 2)))
  forged(version_1)
  local model = kbcd.model_file.load(path)
  close(model[1]:predict(DataSet(test_data:cols(1, 2))), expected, 0, "random features")
  equal(model.form, "features")
  equal(model.task, "classify")
  equal(model.map.p, 4)
  equal(tostring(model.map.kernel), tostring(kbcd.kernel.rbf{ gamma = 0.5 }))
  equal(table.concat(model.names, " "), "a b")
  equal(model.lambdas[1], 0.5)
  for _, method in ipairs{ "full", "nystrom" } do
    forged(of_kernel)
    expected = kbcd.model_file.load(path)[1]:predict(DataSet(test_data:cols(1, 2)))
    forged(version_1, of_kernel, function(p) p.root.method, p.root.n = method, 4 end)
    model = kbcd.model_file.load(path)
    equal(model.form, "kernel")
    close(model[1]:predict(DataSet(test_data:cols(1, 2))), expected, 0, method)
    local sum = Matrix.zeros(test_data.nrows, 2)  -- the coefficients are ones
    for i = 1, test_data.nrows do
      local f = 0
      for _, c in ipairs{ { 1, 2 }, { 3, 0 }, { 0, 4 }, { 5, 0 } } do
        f = f + math.exp(-0.5 * ((test_data(i, 1) - c[1]) ^ 2 + (test_data(i, 2) - c[2]) ^ 2))
      end
      sum:rows(i):fill(f)
    end
    close(kbcd.gather(model[1]:predict(DataSet(test_data:cols(1, 2)))), sum, 1e-12, method .. ", by hand")
  end
  version = version_1
  refuses_what_does_not_agree("/lambdas", "kind")
  refused(function(p) p.root.method = "svm" end, "method", "svm", "nystrom")
  refused(function(p) p.root.method = "full" end, "/centers")
  version = as_it_is
end)

-- The same with four sparse centres: (1, 2), (3, 0), (0, 4) and (5, 0). Damage is in many rows, so that every rank meets it.
local function with_csr(change)
  return function(p)
    p.root.form, p.root.method, p.root.n, p.map = "kernel", "nystrom", 9, false
    p.csr = { values = { { 1 }, { 2 }, { 3 }, { 4 }, { 5 } }, columns = { { 0 }, { 1 }, { 0 }, { 1 }, { 0 } },
      starts = { { 0 }, { 2 }, { 3 }, { 4 }, { 5 } } }
    if change then change(p.csr, p) end
  end
end

test("sparse centres that do not agree with themselves are refused", function()
  forged(with_csr())
  local centers = kbcd.model_file.load(path).X
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

test("a file of version 1 of the full kernel has its n rows as centres", function()
  version = version_1
  refused(with_csr(function(_, p) p.root.method, p.root.form = "full", nil end), "9 rows expected, got 4")
  version = as_it_is
end)

kbcd.barrier()
if rank == 0 then os.remove(path) end
spec.finish()
