-- ranks: 1
-- Matrix in Lua, every function and operator, in f32 and f64, against plain loops over tables.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local make, product = spec.make, spec.product

local types = { f32 = 1e-6, f64 = 1e-14 }  -- what a few roundings may cost

local function random(rows, cols, seed, dtype) return Matrix.randn(rows, cols, { seed = seed, dtype = dtype }) end

local function same(got, rows, what)
  equal(got.nrows, #rows, (what or "") .. " rows")
  equal(got.ncols, #rows[1], (what or "") .. " columns")
  for i, row in ipairs(rows) do
    for j, x in ipairs(row) do equal(got(i, j), x, ("%s (%d, %d)"):format(what or "", i, j)) end
  end
end

test("construction", function()
  for dtype in pairs(types) do
    same(Matrix({ { 1, 2 }, { 3, 4 } }, dtype), { { 1, 2 }, { 3, 4 } })
    same(Matrix({ 5, 6, 7 }, dtype), { { 5, 6, 7 } })
    same(Matrix.zeros(1, 2, dtype), { { 0, 0 } })
    same(Matrix.ones(2, 1, dtype), { { 1 }, { 1 } })
    same(Matrix.full(1, 2, 2.5, dtype), { { 2.5, 2.5 } })
    same(Matrix.eye(2, dtype), { { 1, 0 }, { 0, 1 } })
    for _, A in ipairs{ Matrix({ 1 }, dtype), Matrix.ones(2, 2, dtype), random(2, 2, 1, dtype) } do
      equal(A.dtype, dtype)
    end
  end
  equal(Matrix{ { 1, 2 } }.dtype, "f64", "default type")
  equal(Matrix.zeros(0, 3).nrows, 0)
  equal(Matrix.zeros(0, 3):sum(), 0)
  same(Matrix.vcat{ Matrix{ 1, 2 }, Matrix{ { 3, 4 }, { 5, 6 } } }, { { 1, 2 }, { 3, 4 }, { 5, 6 } })
  same(Matrix.hcat{ Matrix{ { 1 }, { 2 } }, Matrix{ { 3, 4 }, { 5, 6 } } }, { { 1, 3, 4 }, { 2, 5, 6 } })
  equal(Matrix.hcat{ Matrix({ 1 }, "f32"), Matrix{ 2 } }.dtype, "f64", "the wider type")
  fails(function() Matrix.vcat{ Matrix.zeros(1, 2), Matrix.zeros(1, 3) } end, "Matrix.vcat", "1x2", "1x3")
  fails(function() Matrix.hcat{ Matrix.zeros(1, 2), Matrix.zeros(2, 2) } end, "Matrix.hcat", "1x2", "2x2")
  fails(function() return Matrix{ { 1, 2 }, { 3 } } end, "row 2", "1", "row 1", "2")
  fails(function() return Matrix{ { 1, "x" } } end, "(1, 2)", "number")
  fails(function() return Matrix{} end, "empty")
  fails(function() return Matrix(3) end, "Matrix", "table", "expected, got 3")
  fails(function() return Matrix({ { 1 } }, "f16") end, "f32", "f64", "'f16'")
  fails(function() return Matrix({ { 1 } }, 32) end, "dtype")
  fails(function() Matrix.zeros(-1, 2) end, "-1x2")
  fails(function() Matrix.zeros(1e9, 1e9) end, "1000000000x1000000000")
end)

test("random numbers depend on seed, row and stream alone", function()
  local A = Matrix.randn(50, 7, { seed = 3 })
  equal(A == Matrix.randn(50, 7, { seed = 3 }), true, "the same again")
  equal(A == Matrix.randn(50, 7, { seed = 4 }), false, "another seed")
  equal(A == Matrix.randn(50, 7, { seed = 3, stream = 1 }), false, "another stream")
  equal(A:rows(11, 20) == Matrix.randn(10, 7, { seed = 3, first_row = 11 }), true, "rows 11..20")
  close(A:to("f32"), Matrix.randn(50, 7, { seed = 3, dtype = "f32" }), 0, "f32")
  local N, U = Matrix.randn(400, 100, { seed = 5 }), Matrix.rand(400, 100, { seed = 5 })
  assert(math.abs(N:mean()) < 0.03 and math.abs(N:norm() ^ 2 / 40000 - 1) < 0.05, "N(0, 1)")
  assert(math.abs(U:mean() - 0.5) < 0.01 and U:min() > 0 and U:max() < 1, "uniform in (0, 1)")
  assert(math.abs(U:norm() ^ 2 / 40000 - 1 / 3) < 0.01, "the uniform's second moment")
end)

test("access and views", function()
  for dtype in pairs(types) do
    local A = make(4, 3, function(i, j) return 10 * i + j end, dtype)
    equal(A:get(2, 3), 23)
    equal(A(4, 1), 41)
    same(A:rows(2), { { 21, 22, 23 } })
    same(A:rows(3, 4), { { 31, 32, 33 }, { 41, 42, 43 } })
    same(A:cols(2), { { 12 }, { 22 }, { 32 }, { 42 } })
    same(A:cols(2, 3):t(), { { 12, 22, 32, 42 }, { 13, 23, 33, 43 } })
    same(A:block(2, 3, 1, 2), { { 21, 22 }, { 31, 32 } })
    same(A:t():block(2, 3, 1, 2):t():rows(2), { { 22, 23 } }, "a view of a view")
    same(A:take(Index{ 4, 1, 4 }), { { 41, 42, 43 }, { 11, 12, 13 }, { 41, 42, 43 } })
    equal(A:rows(2, 1).nrows, 0, "no rows")
    equal(A:set(1, 1, 7) == A, true, "set returns the matrix")

    A:t():rows(3):fill(0)
    A:block(1, 2, 1, 2):t():set(2, 1, -1)
    A:cols(1):copy(Matrix{ { 1 }, { 2 }, { 3 }, { 4 } })
    same(A, { { 1, -1, 0 }, { 2, 22, 0 }, { 3, 32, 0 }, { 4, 42, 0 } }, "written through views")
    local B = A:clone()
    B:fill(9)
    equal(A(1, 1), 1, "a clone is a copy")
    equal(A:totable()[2][2], 22)
    equal(A:t():clone() == A:t(), true)
  end
  fails(function() Matrix.zeros(4, 3):rows(3, 5) end, "3..5", "4x3")
  fails(function() Matrix.zeros(4, 3):cols(0) end, "0", "4x3")
  fails(function() Matrix.zeros(4, 3):block(1, 2, 2, 4) end, "2..4", "4x3")
  fails(function() Matrix.zeros(4, 3):get(5, 1) end, "(5, 1)", "4x3")
  fails(function() return Matrix.zeros(4, 3)(1, 0) end, "(1, 0)", "4x3")
  fails(function() Matrix.zeros(4, 3):set(1, 4, 0) end, "(1, 4)", "4x3")
  fails(function() Matrix.zeros(4, 3):take(Index{ 5 }) end, "Matrix:take", "1..4", "5")
  fails(function() Matrix.zeros(2, 2):copy(Matrix.zeros(2, 3)) end, "copy", "2x2", "2x3")
end)

test("operators and in-place arithmetic", function()
  for dtype, tolerance in pairs(types) do
    local A, B = random(5, 3, 1, dtype), random(5, 3, 2, dtype)
    local function is(got, f, what) close(got, make(5, 3, f), tolerance, dtype .. " " .. what) end
    is(A + B, function(i, j) return A(i, j) + B(i, j) end, "A + B")
    is(A - B, function(i, j) return A(i, j) - B(i, j) end, "A - B")
    is(A + 2, function(i, j) return A(i, j) + 2 end, "A + x")
    is(2 + A, function(i, j) return A(i, j) + 2 end, "x + A")
    is(A - 2, function(i, j) return A(i, j) - 2 end, "A - x")
    is(2 - A, function(i, j) return 2 - A(i, j) end, "x - A")
    is(A * 3, function(i, j) return A(i, j) * 3 end, "A * x")
    is(3 * A, function(i, j) return A(i, j) * 3 end, "x * A")
    is(A / 3, function(i, j) return A(i, j) / 3 end, "A / x")
    is(A ^ 3, function(i, j) return A(i, j) ^ 3 end, "A ^ x")
    is(-A, function(i, j) return -A(i, j) end, "-A")
    equal((A + B).dtype, dtype)
    equal((A + B:to("f64")).dtype, "f64", "the wider type")

    is(A:clone():add(B), function(i, j) return A(i, j) + B(i, j) end, "add")
    is(A:clone():add(B, -0.5), function(i, j) return A(i, j) - 0.5 * B(i, j) end, "add with a factor")
    is(A:clone():add(2, 3), function(i, j) return A(i, j) + 6 end, "add a number")
    is(A:clone():add(B:rows(2)), function(i, j) return A(i, j) + B(2, j) end, "add a row")
    is(A:clone():add(B:cols(2)), function(i, j) return A(i, j) + B(i, 2) end, "add a column")
    is(A:clone():sub(B), function(i, j) return A(i, j) - B(i, j) end, "sub")
    is(A:clone():sub(2), function(i, j) return A(i, j) - 2 end, "sub a number")
    is(A:clone():cmul(B), function(i, j) return A(i, j) * B(i, j) end, "cmul")
    is(A:clone():cmul(B:cols(3)), function(i, j) return A(i, j) * B(i, 3) end, "cmul a column")
    is(A:clone():cdiv(B), function(i, j) return A(i, j) / B(i, j) end, "cdiv")
    is(A:clone():cdiv(B:rows(1)), function(i, j) return A(i, j) / B(1, j) end, "cdiv a row")
    is(A:clone():scale(-2), function(i, j) return -2 * A(i, j) end, "scale")
    is(A:clone():fill(3), function() return 3 end, "fill")
    is(A:clone():clamp(-0.5, 0.5), function(i, j) return math.max(-0.5, math.min(0.5, A(i, j))) end, "clamp")
    is(A:clone():pow(2), function(i, j) return A(i, j) ^ 2 end, "pow")
    local function bump(x) return 1 / (1 + x * x) end
    is(A:clone():apply(bump), function(i, j) return bump(A(i, j)) end, "apply")
    for _, name in ipairs{ "exp", "cos", "sin", "abs", "tanh" } do
      is(A:clone()[name](A:clone()), function(i, j) return math[name](A(i, j)) end, name)
    end
    is(A:clone():square(), function(i, j) return A(i, j) ^ 2 end, "square")
    is(A:clone():abs():sqrt(), function(i, j) return math.sqrt(math.abs(A(i, j))) end, "sqrt")
    is(A:clone():abs():log(), function(i, j) return math.log(math.abs(A(i, j))) end, "log")
    is(A:t():clone():exp():t(), function(i, j) return math.exp(A(i, j)) end, "exp through a view")
    local S = random(3, 3, 3, dtype)
    local D = S:clone():add_diagonal(2)
    close(D, make(3, 3, function(i, j) return S(i, j) + (i == j and 2 or 0) end), tolerance, "add_diagonal")
    local R = A:clone():add_rows(Index{ 4, 1, 4 }, B:rows(1, 3))
    is(R, function(i, j)
      return A(i, j) + (i == 4 and B(1, j) + B(3, j) or i == 1 and B(2, j) or 0)
    end, "add_rows")
  end
end)

test("what overlaps is read before it is written", function()
  for dtype, tolerance in pairs(types) do
    local A = random(6, 6, 1, dtype)
    local function is(got, rows, cols, f, what) close(got, make(rows, cols, f), tolerance, dtype .. " " .. what) end
    local before = A:clone()
    is(A:clone():add(A), 6, 6, function(i, j) return 2 * A(i, j) end, "A + A")
    local S = A:clone()
    is(S:add(S:t()), 6, 6, function(i, j) return A(i, j) + A(j, i) end, "A + A'")
    local T = A:clone()
    is(T:copy(T:t()), 6, 6, function(i, j) return A(j, i) end, "transposed in place")
    local U = A:clone()
    is(U:rows(2, 6):add(U:rows(1, 5)), 5, 6, function(i, j) return A(i + 1, j) + A(i, j) end, "rows moved down")
    local V = A:clone()
    is(V:rows(1, 5):add(V:rows(2, 6)), 5, 6, function(i, j) return A(i + 1, j) + A(i, j) end, "rows moved up")
    local W = A:clone()
    W:cols(2, 6):copy(W:cols(1, 5))
    is(W:cols(2, 6), 6, 5, function(i, j) return A(i, j) end, "columns moved right")
    local P = A:clone()
    is(P:sub(P:rows(1)), 6, 6, function(i, j) return A(i, j) - A(1, j) end, "minus its own first row")
    local Q = A:clone()
    is(Q:cdiv(Q:cols(1)), 6, 6, function(i, j) return A(i, j) / A(i, 1) end, "over its own first column")
    local X = A:clone()
    is(X:add_rows(Index{ 2, 1 }, X:rows(1, 2)), 6, 6, function(i, j)
      return A(i, j) + (i == 1 and A(2, j) or i == 2 and A(1, j) or 0)
    end, "two rows added to each other")
    equal(A == before, true, "the original is as it was")
  end
end)

test("products", function()
  for dtype, tolerance in pairs(types) do
    local A, B = random(7, 4, 1, dtype), random(4, 5, 2, dtype)
    close(A * B, product(A, B), 10 * tolerance, "A B")
    close(B:t() * A:t(), product(A, B):t(), 10 * tolerance, "B' A'")
    close(A:t() * A, product(A:t(), A), 10 * tolerance, "A' A")
    close(A:gram(), product(A:t(), A), 10 * tolerance, "gram")
    close(A:t():gram(), product(A, A:t()), 10 * tolerance, "gram of a transpose")
    close(A:rows(2, 6) * B:cols(2, 3), product(A:rows(2, 6), B:cols(2, 3)), 10 * tolerance, "views")
    equal((A * B).dtype, dtype)
  end
  equal((random(2, 2, 1, "f32") * random(2, 2, 1)).dtype, "f64")
  same(Matrix.zeros(2, 0) * Matrix.zeros(0, 2), { { 0, 0 }, { 0, 0 } }, "an empty sum")
end)

test("reductions", function()
  for dtype, tolerance in pairs(types) do
    local A, B = random(4, 6, 1, dtype), random(4, 6, 2, dtype)
    local sum, square, dot, least, largest = 0, 0, 0, math.huge, -math.huge
    local by_row, by_col = Matrix.zeros(4, 1), Matrix.zeros(1, 6)
    for i = 1, 4 do
      for j = 1, 6 do
        sum, square, dot = sum + A(i, j), square + A(i, j) ^ 2, dot + A(i, j) * B(i, j)
        least, largest = math.min(least, A(i, j)), math.max(largest, A(i, j))
        by_row:set(i, 1, by_row(i, 1) + A(i, j))
        by_col:set(1, j, by_col(1, j) + A(i, j))
      end
    end
    for _, M in ipairs{ A, A:t():clone():t() } do
      close(M:sum(), sum, 10 * tolerance, "sum")
      close(M:sum(2), by_row, 10 * tolerance, "sum of rows")
      close(M:sum(1), by_col, 10 * tolerance, "sum of columns")
      close(M:mean(), sum / 24, 10 * tolerance, "mean")
      close(M:mean(2), by_row / 6, 10 * tolerance, "mean of rows")
      close(M:mean(1), by_col / 4, 10 * tolerance, "mean of columns")
      close(M:norm(), math.sqrt(square), tolerance, "norm")
      close(M:dot(B), dot, 10 * tolerance, "dot")
      equal(M:min(), least)
      equal(M:max(), largest)
      local best, top, best_of_column = M:argmax(), M:max(2), M:argmax(1)
      for i = 1, 4 do for j = 1, 6 do assert(M(i, best(i, 1)) >= M(i, j) and top(i, 1) >= M(i, j)) end end
      for i = 1, 4 do equal(M(i, best(i, 1)), top(i, 1)) end
      for i = 1, 4 do for j = 1, 6 do assert(M(best_of_column(1, j), j) >= M(i, j)) end end
    end
    close(random(3, 3, 1, dtype):trace(), random(3, 3, 1)(1, 1) + random(3, 3, 1)(2, 2) + random(3, 3, 1)(3, 3),
      10 * tolerance, "trace")
  end
  same(Matrix{ { 2, 3, 3 } }:argmax(), { { 2 } }, "the first of equals")
  equal(Matrix{ 1, 2 }:finite(), true)
  equal(Matrix{ 1, 0 / 0 }:finite(), false)
  equal(Matrix({ 1, 1 / 0 }, "f32"):finite(), false)
  fails(function() Matrix.zeros(0, 2):max() end, "max", "0x2")
  fails(function() Matrix.zeros(2, 2):sum(3) end, "Matrix:sum", "3")
end)

test("equality and tostring", function()
  local A = Matrix{ { 1, 2 }, { 3, 4 } }
  equal(A == A:to("f32"), true)
  equal(A == A:t(), false)
  equal(A == Matrix{ 1, 2 }, false)
  equal(A:equals(A + 1e-13), true)
  equal(A:equals(A + 1e-3), false)
  equal(A:equals(A + 1e-3, 1e-2), true)
  equal(A:equals(Matrix.zeros(1, 1), 10), false, "another shape")
  equal(Matrix{ 0 / 0 } == Matrix{ 0 / 0 }, false, "NaN equals nothing")
  equal(Matrix{ 1 / 0 } == Matrix{ 1 / 0 }, true, "Inf equals itself")
  equal(Matrix{ 1 / 0 } == Matrix{ -1 / 0 }, false)
  local text = tostring(Matrix({ { 1.5, -2 } }, "f32"))
  assert(text:find("Matrix 1x2 f32", 1, true) and text:find("1.5", 1, true) and text:find("-2", 1, true), text)
  local large = tostring(Matrix.zeros(1000, 1000))
  assert(large:find("1000x1000 f64", 1, true) and #large < 1000, "a corner of a large one")
end)

spec.finish()
