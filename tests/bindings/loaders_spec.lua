-- load: files that the spec writes itself, on any number of ranks.

local ffi = require "ffi"
local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local test, equal, close, fails, make = spec.test, spec.equal, spec.close, spec.fails, spec.make
local with_file = spec.with_file
local rank = kbcd.rank()

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
  with_file("hello, this is no table", function(path) fails(function() kbcd.load(path) end, path, "idx", "npy") end)
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
