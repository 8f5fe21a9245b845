-- Rows that are kept as bytes: what load makes of 8-bit files, and that models, model files and preprocessing give what they
-- give for the same rows as numbers.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local test, equal, close, fails, with_file = spec.test, spec.equal, spec.close, spec.fails, spec.with_file

local n, d = 43, 20
local function byte(i, j) return (i * i * 37 + j * 91 + i * j * 13) % 256 end

local function npy(descr, n_rows, columns, width)
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }"):format(descr, n_rows, columns)
  header = header .. (" "):rep(63 - (10 + #header) % 64) .. "\n"
  local bytes = {}
  for i = 1, n_rows do for j = 1, columns * (width or 1) do bytes[#bytes + 1] = string.char(byte(i, j)) end end
  return "\147NUMPY\1\0" .. string.char(#header % 256, math.floor(#header / 256)) .. header .. table.concat(bytes)
end

local function expected(scale, signed)
  return spec.make(n, d, function(i, j)
    local b = byte(i, j)
    return scale * (signed and b > 127 and b - 256 or b)
  end)
end

local function rows_of(X) return X:gather(Index.range(1, X.n)) end

test("load keeps 8-bit numbers as bytes", function()
  local function check(X, values, scale, shift)
    equal(X.bytes.scale, scale)
    equal(X.bytes.shift, shift)
    equal(X.dtype, "f32")
    assert(tostring(X):find("kept as bytes", 1, true), tostring(X))
    close(rows_of(X), values, 1e-7)
    close(kbcd.gather(X:part(1, X.local_n)), values, 1e-7, "part")
    assert(X.bytes, "X:part leaves bytes")
  end
  with_file(npy("|u1", n, d), function(path)
    check(kbcd.load(path), expected(1), 1, 0)
    check(kbcd.load(path, { scale = true }), expected(1 / 255), 1 / 255, 0)
    close(rows_of(kbcd.load(path, { rows = 5 })), expected(1):rows(1, 5), 0)
    local X = kbcd.load(path, { bytes = false, scale = true })
    equal(X.bytes, nil)
    equal(rows_of(X)(3, 4), rows_of(kbcd.load(path, { scale = true }))(3, 4), "rounded in the same way")
    equal(X:fingerprint(), kbcd.load(path, { scale = true }):fingerprint(), "fingerprint")
    local wide = kbcd.load(path, { dtype = "f64", scale = true })
    equal(wide.dtype, "f64")
    assert(wide.bytes)
    close(rows_of(wide), expected(1 / 255), 1e-15)
  end)
  with_file(npy("|i1", n, d), function(path) check(kbcd.load(path), expected(1, true), 1, -128) end)
  with_file(npy("|b1", n, d), function(path)
    check(kbcd.load(path), expected(1):apply(function(x) return x ~= 0 and 1 or 0 end), 1, 0)
  end)
  with_file("\0\0\8\3\0\0\0\2\0\0\0\4\0\0\0\5" .. ("\51"):rep(40), function(path)
    local X = kbcd.load(path)
    equal(X.bytes.scale, 1 / 255)
    close(rows_of(X), Matrix.full(2, 20, 0.2), 1e-7)
  end)
  with_file(npy("|u1", n, 15), function(path)
    equal(kbcd.load(path).bytes, nil, "few columns")
    assert(kbcd.load(path, { bytes = true }).bytes)
  end)
  with_file(npy("<i2", n, d, 2), function(path)
    fails(function() kbcd.load(path, { bytes = true }) end, path, "bytes = true is for 8-bit numbers", "i2")
  end)
end)

-- The same rows as bytes and as numbers.
local function both(count, columns, f)
  with_file(npy("|u1", count, columns), function(path)
    f(kbcd.load(path, { scale = true }), kbcd.load(path, { scale = true, bytes = false }))
  end)
end

test("who changes the rows changes the data", function()
  both(n, d, function(X, real)
    X.rows:scale(2)
    equal(X.bytes, nil)
    close(rows_of(X), rows_of(real) * 2, 0)
  end)
  both(n, d, function(X, real)
    for _, kind in ipairs(kbcd.preprocess.kinds) do
      local fitted, of_real = kbcd.preprocess.fit(kind, X), kbcd.preprocess.fit(kind, real)
      assert(X.bytes, "fit leaves bytes")
      if fitted.shift then close(fitted.shift, of_real.shift, 1e-12) end
      local changed = X:to("f32")
      assert(changed.bytes)
      kbcd.preprocess.apply(fitted, changed)
      equal(changed.bytes, nil)
      close(rows_of(changed), rows_of(kbcd.preprocess.apply(of_real, real:subset(Index.range(1, n)))), 1e-6, kind)
    end
    close(rows_of(X:subset(Index{ 3, 1 })), rows_of(real):take(Index{ 3, 1 }), 0)
    fails(function() X:part(1, X.local_n + 1) end, "DataSet:part", "expected")
    fails(function() real:to_bytes(1, 0) end, "no byte stands for it")
    assert(real:to_bytes(1 / 255, 0).bytes)
  end)
end)

local function trained(X, method, o)
  local Y, last = X:part(1, X.local_n):sum(2):to("f64"), nil
  for step in kbcd[method](X, Y, o) do last = step end
  return last.model
end

test("models of bytes are those of numbers, also from a file", function()
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
  local rbf = kbcd.kernel.rbf{ sigma = 2 }
  local map = kbcd.features.fourier{ kernel = rbf, p = 30, seed = 5 }
  for _, case in ipairs{
    { "full_kernel", { kernel = rbf, b = 20, epochs = 2 } },
    { "nystrom", { kernel = rbf, p = 30, b = 16, epochs = 2, seed = 3 } },
    { "pcg", { kernel = rbf, rank = 10, epochs = 4 } }, { "random_features", { map = map, b = 16, epochs = 2 } },
  } do
    local method, o = case[1], case[2]
    o.lambda = 1e-3
    both(97, d, function(X, real)
      X, real = X:to("f64"), real:to("f64")
      local test_rows = Index.range(50, 97)
      local Z, real_Z = X:subset(test_rows), real:subset(test_rows)
      local model, of_numbers = trained(X, method, o), trained(real, method, o)
      assert(X.bytes, method .. " leaves bytes")
      local scores = model[1]:predict(Z)
      close(scores, of_numbers[1]:predict(real_Z), 1e-5, method)
      close(model[1]:predict(real_Z), scores, 1e-5, method .. ", rows as numbers")
      close(of_numbers[1]:predict(Z), scores, 1e-5, method .. ", centres as numbers")
      kbcd.model_file.save(path, model)
      local loaded = kbcd.model_file.load(path)
      if method ~= "random_features" then assert(loaded.X.bytes, method .. ": centres of the file") end
      close(loaded[1]:predict(Z), scores, 1e-12, method .. ", from a file")
      close(loaded[1]:predict(real_Z), scores, 1e-5, method .. ", from a file, rows as numbers")
    end)
  end
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end)
