-- ranks: 1
-- Matrix in Lua: decompositions, errors, FFI pointers, release, and the collector.

local ffi = require "ffi"
local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local make, product = spec.make, spec.product

local function random(rows, cols, seed, dtype) return Matrix.randn(rows, cols, { seed = seed, dtype = dtype }) end

test("decompositions rebuild their matrix", function()
  local G = random(6, 5, 1)
  local H = product(G:t(), G):add_diagonal(1)
  for _, dtype in ipairs{ "f32", "f64" } do
    local tolerance = dtype == "f32" and 1e-5 or 1e-12
    local L = H:to(dtype):chol()
    close(product(L, L:t()), H, tolerance, "L L'")
    for i = 1, 5 do for j = i + 1, 5 do equal(L(i, j), 0, "above the diagonal of L") end end

    local values, vectors = H:to(dtype):eig()
    local D = make(5, 5, function(i, j) return i == j and values(i, 1) or 0 end)
    close(product(product(vectors, D), vectors:t()), H, tolerance, "V D V'")
    close(product(vectors:t(), vectors), Matrix.eye(5), tolerance, "V' V")
    for i = 2, 5 do assert(values(i, 1) >= values(i - 1, 1), "ascending") end

    for _, A in ipairs{ G:to(dtype), G:to(dtype):t(), random(4, 4, 3, dtype), random(1, 3, 4, dtype) } do
      local s = math.min(A.nrows, A.ncols)
      local Q, R = A:qr()
      close(product(Q, R), A, tolerance, "Q R")
      close(product(Q:t(), Q), Matrix.eye(s), tolerance, "Q' Q")
      for i = 1, s do
        assert(R(i, i) >= 0, "R's diagonal")
        for j = 1, i - 1 do equal(R(i, j), 0, "below the diagonal of R") end
      end
      local U, sigma, V = A:svd()
      equal(sigma.nrows, s)
      close(product(product(U, make(s, s, function(i, j) return i == j and sigma(i, 1) or 0 end)), V:t()), A, tolerance)
      close(product(U:t(), U), Matrix.eye(s), tolerance, "U' U")
      close(product(V:t(), V), Matrix.eye(s), tolerance, "V' V")
      for i = 2, s do assert(sigma(i, 1) <= sigma(i - 1, 1) and sigma(i, 1) >= 0, "descending") end
    end
  end
  local junk = make(5, 5, function(i, j) return i > j and 99 or H(i, j) end)
  close((junk:eig()), (H:eig()), 1e-12, "eig reads the upper triangle")
  fails(function() (-H):chol() end, "Matrix:chol", "5x5", "not positive definite")
  fails(function() G:chol() end, "Matrix:chol", "square", "6x5")
  fails(function() G:eig() end, "eig", "square", "6x5")
  fails(function() (H / 0):svd() end, "Matrix:svd", "NaN or Inf")
end)

test("triangular solves", function()
  local L = make(4, 4, function(i, j) return i == j and i or i > j and 1 / (i + j) or 0 end)
  local B = random(4, 3, 1)
  for _, case in ipairs{ { L, {} }, { L, { transpose = true } }, { L:t(), { lower = false } },
    { L:t(), { lower = false, transpose = true } }, { L:to("f32"):to("f64"), nil } } do
    local A, options = case[1], case[2]
    local X = A:trsolve(B, options)
    close(product(options and options.transpose and A:t() or A, X), B, 1e-6, "A X")
  end
  local full = L + make(4, 4, function(i, j) return j > i and 7 or 0 end)
  close(full:trsolve(B), L:trsolve(B), 1e-14, "only the lower triangle is read")
  close(L:trsolve(B:t():clone():t()), L:trsolve(B), 1e-14, "a transposed right-hand side")
  fails(function() L:trsolve(Matrix.zeros(3, 1)) end, "Matrix:trsolve", "4x4", "3x1")
  fails(function() Matrix.zeros(2, 2):trsolve(Matrix.zeros(2, 1)) end, "diagonal", "row 1")
  fails(function() L:trsolve(B, { upper = true }) end, "unknown option 'upper'", "lower", "transpose")
end)

test("both shapes are in the message", function()
  local A, B = Matrix.zeros(2, 3), Matrix.zeros(4, 5)
  for name, f in pairs{
    add = function() A:add(B) end, sub = function() A:sub(B) end, cmul = function() A:cmul(B) end,
    cdiv = function() A:cdiv(B) end, dot = function() A:dot(B) end, plus = function() return A + B end,
    minus = function() return A - B end, product = function() return A * B end, copy = function() A:copy(B) end,
    add_rows = function() A:add_rows(Index{ 1, 2 }, B) end,
  } do
    local good, message = pcall(f)
    message = tostring(message)
    assert(not good and message:find("2x3", 1, true) and message:find("4x5", 1, true), name .. ": " .. message)
    assert(message:find("linalg_spec.lua:%d+:"), name .. " has the script's line: " .. message)
  end
  fails(function() A:add_diagonal(1) end, "add_diagonal", "square", "2x3")
  fails(function() A:trace() end, "trace", "square", "2x3")
end)

test("argument errors say which function, which argument, what was expected and what came", function()
  local A = Matrix.zeros(2, 2)
  fails(function() A:rows("x") end, "Matrix:rows", "argument 1 (first)", "whole number expected", "the string 'x'")
  fails(function() A:rows(1.5) end, "Matrix:rows", "argument 1 (first)", "whole number", "1.5")
  fails(function() A:get(1) end, "Matrix:get", "argument 2 (j)", "whole number", "nothing")
  fails(function() A:get(1, 2, 3) end, "Matrix:get", "at most 2", "3")
  fails(function() A:scale("2") end, "Matrix:scale", "argument 1 (factor)", "number", "the string '2'")
  fails(function() A:add({}) end, "Matrix:add", "argument 1 (B)", "Matrix or number", "table")
  fails(function() A:cmul(Index{ 1 }) end, "Matrix:cmul", "argument 1 (B)", "Matrix expected", "Index")
  fails(function() A:apply(3) end, "Matrix:apply", "argument 1 (f)", "function", "3")
  fails(function() A:apply(function() return "x" end) end, "Matrix:apply", "number")
  fails(function() A:apply(function() error("from inside") end) end, "from inside")
  fails(function() A:to(64) end, "Matrix:to", "argument 1 (dtype)", "f64", "got 64")
  fails(function() A:to("double") end, "f32", "f64", "'double'")
  fails(function() A.rows(1) end, "Matrix:rows", "Matrix expected before the colon", "got 1")
  fails(function() A.rows() end, "Matrix:rows", "Matrix expected before the colon", "nothing")
  fails(function() Matrix.zeros(2) end, "Matrix.zeros", "argument 2 (cols)", "nothing")
  fails(function() return Matrix.randn(2, 2, { sed = 1 }) end, "Matrix.randn", "unknown option 'sed'", "seed", "dtype")
  fails(function() return Matrix.randn(2, 2, { seed = "a" }) end, "Matrix.randn", "seed", "whole number", "'a'")
  fails(function() return A + {} end, "cannot add Matrix and table")
  fails(function() return A * "x" end, "cannot multiply Matrix by the string 'x'")
  fails(function() return nil * A end, "cannot multiply nil by Matrix")
  fails(function() return A / A end, "cannot divide Matrix by Matrix")
  fails(function() return A ^ A end, "cannot raise Matrix to Matrix")
  fails(function() return A.size end, "Matrix", "'size'", "help")
  fails(function() A:transpose() end, "Matrix", "'transpose'")
  fails(function() A.size = 3 end, "Matrix", "size")
  fails(function() A.nrows = 3 end, "nrows")
  fails(function() return A[A.nrows + 1] end, "Matrix", tostring(A.nrows + 1))
  fails(function() return #A end, "nrows", "ncols")
end)

test("ptr gives FFI the numbers themselves", function()
  for dtype, c_type in pairs{ f32 = "float*", f64 = "double*" } do
    local A = make(5, 4, function(i, j) return 10 * i + j end, dtype)
    local V = A:block(2, 4, 2, 3)
    local p, stride = V:ptr()
    assert(ffi.istype(c_type, p), "type")
    equal(tonumber(stride), 4, "stride")
    equal(tonumber(p[1 * stride + 1]), 33, "read")
    p[2 * stride + 0] = -1
    equal(A(4, 2), -1, "written")
    equal(V(3, 1), -1, "seen in the view")
  end
  fails(function() Matrix.zeros(2, 3):t():ptr() end, "transposed", "clone")
end)

test("after release, use is an error, also of views", function()
  local A = Matrix.zeros(300, 300)
  local used, views = kbcd.memory_in_use(), { A, A:t(), A:rows(1, 2), A:block(1, 2, 1, 2) }
  A:release()
  assert(used - kbcd.memory_in_use() >= 300 * 300 * 8, "the memory is freed")
  for _, V in ipairs(views) do
    for _, use in ipairs{ function() return V(1, 1) end, function() V:set(1, 1, 0) end, function() V:sum() end,
      function() V:fill(1) end, function() return V * V:t() end, function() V:clone() end,
      function() return V + V end, function() return V == Matrix.zeros(V.nrows, V.ncols) end } do
      fails(use, "released")
    end
    assert(tostring(V):find("released", 1, true), "tostring")
  end
  fails(function() A:ptr() end, "released")
  equal(A.nrows, 300, "the shape is still known")
  A:release()
end)

test("the collector knows how large a matrix is", function()
  local before = kbcd.memory_peak()
  for i = 1, 300 do Matrix.zeros(1000, 1000):set(1, 1, i) end  -- 2.4 GB in all
  for i = 1, 300 do local A = Matrix.ones(1000, 1000); A = A + i; A:t():scale(2) end
  local growth = (kbcd.memory_peak() - before) / 2 ^ 20
  assert(growth < 200, ("the peak grew by %.0f MB"):format(growth))
end)

test("floor, sign, dots and diagonals", function()
  for _, dtype in ipairs{ "f64", "f32" } do
    local A = Matrix.randn(7, 4, { seed = 3, dtype = dtype }):scale(3):set(2, 2, 0)
    close(A:clone():floor(), make(7, 4, function(i, j) return math.floor(A(i, j)) end), 0, "floor")
    close(A:t():clone():sign(), make(4, 7, function(j, i)
      return A(i, j) > 0 and 1 or A(i, j) < 0 and -1 or 0
    end), 0, "sign")
    local B = Matrix.randn(7, 4, { seed = 4 })
    local dots = make(1, 4, function(_, j)
      local s = 0
      for i = 1, 7 do s = s + A(i, j) * B(i, j) end
      return s
    end)
    close(A:dots(B), dots, 1e-14, "dots")
    close(A:t():clone():t():dots(B), dots, 1e-14, "dots of a transposed view")
    local S, v = Matrix.randn(5, 5, { seed = 5, dtype = dtype }), Matrix.randn(5, 1, { seed = 6 })
    local sum = make(5, 5, function(i, j) return S(i, j) + (i == j and v(i, 1) or 0) end)
    close(S:clone():add_diagonal(v), sum, 1e-7, "a column")
    close(S:clone():add_diagonal(v:t()), sum, 1e-7, "a row")
    close(S:clone():add_diagonal(2), make(5, 5, function(i, j) return S(i, j) + (i == j and 2 or 0) end), 1e-7, "a number")
  end
  local A = Matrix.zeros(3, 3)
  fails(function() A:add_diagonal(Matrix.zeros(2, 1)) end, "add_diagonal", "2x1", "3x3")
  fails(function() A:add_diagonal(Matrix.zeros(3, 3)) end, "add_diagonal", "3x3")
  fails(function() Matrix.zeros(3, 1):add_diagonal(1) end, "add_diagonal", "square")
  fails(function() A:add_diagonal("1") end, "add_diagonal", "Matrix or number", "'1'")
  fails(function() A:dots(Matrix.zeros(3, 2)) end, "dots", "3x3", "3x2")
end)

test("the largest eigenpairs", function()
  local n = 30
  local A = Matrix.randn(n, n, { seed = 9 })
  A = A + A:t()
  local values, vectors = A:eig()
  for _, q in ipairs{ 1, 4, n } do
    local top, U = A:eig{ top = q }
    equal(U.nrows, n)
    equal(U.ncols, q)
    close(top, make(q, 1, function(i) return values(n + 1 - i, 1) end), 1e-12, "values")
    close(A * U, make(n, q, function(i, j) return U(i, j) * top(j, 1) end), 1e-12, "A U = U S")
    close(U:t() * U, Matrix.eye(q), 1e-12, "orthonormal")
  end
  local _, U = A:eig{ top = 1 }
  close(math.abs((U:t() * vectors:cols(n))(1, 1)), 1, 1e-10, "the same vector")
  fails(function() A:eig{ top = 0 } end, "Matrix:eig", "1..30", "0")
  fails(function() A:eig{ top = n + 1 } end, "1..30", "31")
  fails(function() A:eig{ last = 1 } end, "Matrix:eig", "'last'", "top")
end)

spec.finish()
