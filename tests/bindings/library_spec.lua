-- The distributed parts in Lua, on any number of ranks: Index, DataSet, sums over ranks, factors, labels, timers.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local make = spec.make
local rank, size = kbcd.rank(), kbcd.size()

local n, d = 23, 3
local data = Matrix.randn(n, d, { seed = 1 })

local function is_list(index, list, what)
  equal(#index, #list, (what or "") .. " length")
  for i, value in ipairs(list) do equal(index[i], value, ("%s [%d]"):format(what or "", i)) end
end

-- Every rank must have what rank 0 has.
local function same_everywhere(index)
  local text = table.concat(index:totable(), " ")
  equal(text, kbcd.bcast(text), "the index on rank " .. rank)
end

test("Index", function()
  local P = Index.permutation(100, { seed = 3 })
  same_everywhere(P)
  is_list(P:sorted(), Index.range(1, 100):totable(), "every number once")
  equal(P == Index.permutation(100, { seed = 3 }), true)
  equal(P == Index.permutation(100, { seed = 4 }), false)
  equal(P == Index.permutation(100, { seed = 3, stream = 1 }), false)
  for _, p in ipairs{ 0, 1, 40, 99, 100 } do
    local S = Index.sample(100, p, { seed = 3 })
    same_everywhere(S)
    equal(S == P:slice(1, p), true, "a sample begins as the permutation does, p = " .. p)
  end
  local parts = P:partition(30)
  is_list(Index{ #parts, #parts[1], #parts[2], #parts[3], #parts[4] }, { 4, 30, 30, 30, 10 }, "ragged blocks")
  equal(Index.concat(parts) == P, true)
  equal(#Index.range(1, 3):partition(9), 1)
  local I = Index{ 7, 5, 9 }
  is_list(I:take(Index{ 3, 1, 1 }), { 9, 7, 7 }, "take")
  is_list(I:slice(2, 3), { 5, 9 }, "slice")
  is_list(I:sorted(), { 5, 7, 9 }, "sorted")
  is_list(Index.range(4, 3), {}, "an empty range")
  equal(tostring(I), "Index of 3: 7 5 9")
  fails(function() return Index{ 1, 0 } end, "element 2", "whole number from 1 to 2^53")
  fails(function() return Index(3) end, "Index", "table expected, got 3")
  fails(function() return I[4] end, "1..3", "4")
  fails(function() return I.length end, "Index", "'length'")
  fails(function() return Index.sample(5, 6) end, "Index.sample", "6 of 5")
  fails(function() return Index.permutation(5, { sed = 1 }) end, "Index.permutation", "'sed'", "known: seed, stream")
  fails(function() return Index.permutation(5, { seed = -1 }) end, "seed", "-1")
  fails(function() return Index.permutation("5") end, "argument 1 (n)", "whole number", "the string '5'")
  fails(function() return Index.range(0, 3) end, "Index.range", "0")
  fails(function() return Index.range(5, 3) end, "Index.range")
  fails(function() return I:partition(0) end, "partition", "0")
  fails(function() return I:take(Index{ 4 }) end, "take", "1..3", "4")
  fails(function() return I:slice(2, 4) end, "2..4", "1..3")
  fails(function() return Index.concat{ I, 3 } end, "Index.concat", "element 2")
end)

-- X must be rows `rows` of data, distributed over the ranks in contiguous shares.
local function is_data(X, rows, tolerance, what)
  equal(X.n, #rows, what .. ": n")
  equal(X.d, d, what .. ": d")
  equal(kbcd.allreduce(X.rows.nrows), #rows, what .. ": the shares together")
  for i = 1, X.rows.nrows do
    for j = 1, d do
      local expected = data(rows[X.first + i - 1], j)
      assert(math.abs(X.rows(i, j) - expected) <= tolerance * math.abs(expected), what)
    end
  end
end

test("DataSet", function()
  local all, X = Index.range(1, n), DataSet(data)
  is_data(X, all, 0, "from a Matrix")
  is_data(DataSet(data:t():clone():t()), all, 0, "from a view")
  is_data(X:to("f32"), all, 1e-7, "f32")
  equal(X:to("f32").dtype, "f32")
  is_data(DataSet.local_part(n, X.rows), all, 0, "local_part")
  local asked = {}
  local G = DataSet.generate(n, d, function(first, last)
    asked[#asked + 1] = { first, last }
    return data:rows(first, last)
  end)
  is_data(G, all, 0, "generate")
  equal(#asked, 1, "a rank asks once")
  equal(asked[1][2] - asked[1][1] + 1, X.rows.nrows, "and for its own rows alone")

  local I = Index.concat{ Index{ n, 1, n, 2 }, Index.permutation(n, { seed = 8 }) }
  close(X:gather(I), data:take(I), 0, "gather")
  is_data(X:subset(I), I, 0, "subset")
  is_data(X:subset(Index{ 3, 9 }), Index{ 3, 9 }, 0, "a subset smaller than the number of ranks")
  local here = X:local_rows(I)
  local expected = {}
  for i = 1, #I do
    local place = I[i] - X.first + 1
    if place >= 1 and place <= X.rows.nrows then expected[#expected + 1] = place end
  end
  is_list(here, expected, "local_rows")
  local few = DataSet(Matrix{ { 1, 2 }, { 3, 4 } })
  close(few:gather(Index{ 2, 1 }), Matrix{ { 3, 4 }, { 1, 2 } }, 0, "more ranks than rows")

  fails(function() return DataSet(3) end, "DataSet", "Matrix expected, got 3")
  fails(function() return DataSet(Matrix.zeros(0, 2)) end, "DataSet", "0x2")
  fails(function() return DataSet(Matrix.full(n, d, 0 / 0)) end, ("row %d, column 1"):format(X.first), "nan")
  fails(function() return DataSet(Matrix.full(n, d, 1 / 0)) end, "inf")
  fails(function() return DataSet.local_part(n, Matrix.zeros(n + 1, d)) end, "DataSet.local_part", n + 1)
  local function from(f) return function() return DataSet.generate(n, d, f) end end
  fails(from(function() return Matrix.zeros(1, 9) end), "DataSet.generate", "1x9")
  fails(from(function() return 3 end), "DataSet.generate", "Matrix")
  fails(from(function() error("inside") end), "inside")
  fails(function() return X:gather(Index{ n + 1 }) end, "1.." .. n, n + 1)
  fails(function() return X:subset(Index{ n + 1 }) end, "1.." .. n, n + 1)
  fails(function() return X:local_rows(Index{ n + 1 }) end, "1.." .. n, n + 1)
  fails(function() return X.columns end, "DataSet", "'columns'")
end)

test("sums, broadcasts and gathers over the ranks", function()
  local ranks = size * (size + 1) / 2  -- the sum of rank + 1
  local A, B = Matrix.full(2, 3, rank + 1), Matrix.full(4, 1, 2 * (rank + 1), "f32")
  local C = Matrix.zeros(4, 4)
  C:block(2, 3, 2, 3):t():fill(rank + 1)
  local a, b, c = kbcd.allreduce(A, B, C:block(2, 3, 2, 3):t())
  equal(rawequal(a, A) and rawequal(b, B), true, "it returns its arguments")
  close(A, Matrix.full(2, 3, ranks), 0)
  close(B, Matrix.full(4, 1, 2 * ranks), 0, "f32")
  equal(B.dtype, "f32")
  close(c, Matrix.full(2, 2, ranks), 0, "a view")
  equal(C:sum(), 4 * ranks, "outside of the view nothing changes")
  equal(kbcd.allreduce(rank + 1), ranks)
  equal(kbcd.allreduce_max(rank), size - 1)
  equal(kbcd.allreduce_min(rank), 0)
  local large = Matrix.full(1200, 1000, rank + 1)
  kbcd.allreduce(large, large:cols(1, 0))
  equal(large:min() == ranks and large:max() == ranks, true, "a large one")
  for _, n_rows in ipairs{ 2, 1200 } do
    local twice = Matrix.full(n_rows, 1000, rank + 1)
    kbcd.allreduce(twice, twice)
    equal(twice:min() == ranks and twice:max() == ranks, true, "the same matrix given twice")
  end

  local E, F = Matrix.full(3, 2, rank + 1), Matrix.full(2, 2, rank + 1, "f32")
  local request = kbcd.iallreduce(E:t(), F)
  request:wait()
  equal(request:done(), true)
  request:wait()
  close(E, Matrix.full(3, 2, ranks), 0, "iallreduce")
  close(F, Matrix.full(2, 2, ranks), 0, "iallreduce, f32")

  local root = size - 1
  local D = Matrix.full(3, 3, rank)
  kbcd.bcast(D:cols(2), root)
  close(D:cols(2), Matrix.full(3, 1, root), 0, "bcast of a view")
  close(D:cols(1), Matrix.full(3, 1, rank), 0, "beside it nothing changes")
  equal(kbcd.bcast(rank + 0.5), 0.5)
  equal(kbcd.bcast("rank\0" .. rank, root), "rank\0" .. root)

  local G = kbcd.gather(Matrix.full(rank, 2, rank):t():clone():t())  -- rank r has r rows
  local expected = {}
  for r = 1, size - 1 do for _ = 1, r do expected[#expected + 1] = { r, r } end end
  close(G, size > 1 and Matrix(expected) or Matrix.zeros(0, 2), 0, "gather")
  kbcd.barrier()

  fails(function() return kbcd.allreduce() end, "allreduce", "Matrix expected")
  fails(function() return kbcd.allreduce(A, 2) end, "allreduce", "argument 2", "Matrix expected, got 2")
  fails(function() return kbcd.iallreduce("x") end, "iallreduce", "argument 1", "the string 'x'")
  fails(function() return kbcd.bcast({}) end, "bcast", "argument 1 (value)", "table")
  fails(function() return kbcd.bcast(1, size) end, "bcast", "0.." .. size - 1, size)
  fails(function() return kbcd.gather(1) end, "gather", "argument 1 (A)", "Matrix expected, got 1")
end)

test("a Matrix that one rank released is an error before any rank waits for its numbers", function()
  local gone, singles = Matrix.ones(2, 2), Matrix.ones(500, 3, "f32")
  gone:release()
  local function with_another(A) return kbcd.iallreduce(singles, A) end
  local function to_first(A) return kbcd.ireduce_symmetric(A, 0) end
  for number, call in ipairs{ kbcd.allreduce, kbcd.bcast, kbcd.gather, with_another, to_first } do
    fails(function() return call(gone) end, "was released")
    local good, message = pcall(call, rank == 0 and gone or Matrix.ones(2, 2))
    equal(good, false, number .. ": " .. tostring(message))
    runtime.job.meet("the next call", "")
    equal(kbcd.allreduce(1), size, number)
  end
  equal(singles:sum(), 1500)
end)

test("factors and local_solve", function()
  local A, B = Matrix.randn(8, 5, { seed = 1 }), Matrix.randn(5, 2, { seed = 2 })
  local H = (A:t() * A):add_diagonal(1)
  local F = kbcd.chol(H)
  equal(F.n, 5)
  equal(F.jitter, 0)
  close(F.lower * F.lower:t(), H, 1e-12)
  close(H * F:solve(B), B, 1e-12, "solve")
  close(H * F:solve(B:cols(1)), B:cols(1), 1e-12, "solve again")
  close(H * kbcd.local_solve(H, B), B, 1e-12, "local_solve")
  close(H * kbcd.local_solve(H:to("f32"), B:to("f32")), B, 1e-4, "from f32")
  local flat = Matrix.ones(4, 4)  -- of rank 1
  fails(function() return kbcd.chol(flat) end, "chol", "4x4", "not positive definite", "jitter")
  local J = kbcd.chol(flat, { jitter = true })
  assert(J.jitter > 0 and J.jitter < 1e-4, "jitter")
  close(J.lower * J.lower:t(), flat + Matrix.eye(4) * J.jitter, 1e-12, "with jitter")
  fails(function() return kbcd.chol(-flat, { jitter = true }) end, "not positive definite")
  fails(function() return kbcd.chol(H, { jiter = true }) end, "chol", "'jiter'", "jitter")
  fails(function() return kbcd.chol(H, { jitter = 1 }) end, "jitter", "true or false", "1")
  fails(function() return kbcd.chol(A) end, "chol", "square", "8x5")
  fails(function() return kbcd.chol(H * (0 / 0)) end, "chol", "NaN")
  fails(function() return F:solve(Matrix.zeros(4, 1)) end, "5", "4x1")
  fails(function() return kbcd.local_solve(H, Matrix.zeros(4, 1)) end, "local_solve", "5x5", "4x1")
end)

test("labels", function()
  local y = make(n, 1, function(i) return i % 3 end)
  local Y = kbcd.gather(kbcd.labels.one_vs_all(DataSet(y)))
  close(Y, make(n, 3, function(i, j) return i % 3 == j - 1 and 1 or -1 end), 0, "from 0")
  close(kbcd.gather(kbcd.labels.one_vs_all(DataSet(y + 1))), Y, 0, "from 1")
  equal(kbcd.labels.one_vs_all(DataSet(y), { classes = 5 }).ncols, 5)
  equal(kbcd.labels.one_vs_all(DataSet(y + 1), { first = 0 }).ncols, 4)
  local X, labelled = DataSet(data), DataSet(y)
  local scores = Matrix.randn(n, 3, { seed = 9 })
  local wrong = 0
  for i = 1, n do
    local best = 1
    for j = 2, 3 do if scores(i, j) > scores(i, best) then best = j end end
    if best ~= i % 3 + 1 then wrong = wrong + 1 end
  end
  local mine = scores:rows(X.first, X.first + X.rows.nrows - 1)
  close(kbcd.labels.error_rate(mine, X, labelled), wrong / n, 1e-15, "error_rate")
  close(kbcd.labels.error_rate(mine, X, DataSet(y + 1)), wrong / n, 1e-15, "error_rate, from 1")
  local path = { predict = function() return { mine, -mine, mine } end }
  local rates = kbcd.labels.error_rate(path, X, labelled)
  equal(#rates, 3)
  close(rates[3], wrong / n, 1e-15, "a path")
  equal(kbcd.labels.error_rate({ predict = function() return kbcd.labels.one_vs_all(labelled) end }, X, labelled), 0)

  local one_vs_all = kbcd.labels.one_vs_all
  fails(function() one_vs_all(DataSet(y + 0.5)) end, ("row %d of y"):format(X.first), "whole number")
  fails(function() one_vs_all(DataSet(-1 - y)) end, "label")
  fails(function() one_vs_all(labelled, { classes = 2 }) end, "0..1")
  fails(function() one_vs_all(labelled, { clases = 2 }) end, "one_vs_all", "classes", "first", "clases")
  fails(function() one_vs_all(X) end, "one_vs_all", "one column", "23x3")
  fails(function() one_vs_all(3) end, "one_vs_all", "DataSet", "3")
  fails(function() kbcd.labels.error_rate(mine, X, DataSet(y:rows(1, 9))) end, "error_rate", "23", "9")
  fails(function() kbcd.labels.error_rate(mine, X, DataSet(y + 7), { first = 0 }) end, "error_rate", "0..2")
end)

test("weighted draws and numbers that are there twice", function()
  local w = Matrix.zeros(6, 1):set(2, 1, 1):set(5, 1, 2):set(6, 1, 1e-9)
  equal(Index.weighted(w, 3, { seed = 1 }):sorted(), Index{ 2, 5, 6 })
  equal(Index.weighted(w, 3, { seed = 1, stream = 4 })[3], 6)
  equal(kbcd.allreduce_max(Index.weighted(w, 1, { seed = 3 })[1]), Index.weighted(w, 1, { seed = 3 })[1])
  fails(function() Index.weighted(w, 4) end, "Index.weighted", "4", "3 numbers")
  fails(function() Index.weighted(-w, 1) end, "Index.weighted", ">= 0", "number 2 is -1")
  fails(function() Index.weighted(w:t(), 1) end, "Index.weighted", "one column", "1x6")
  local A = Matrix{ { 1, 2 }, { 3, 4 } }
  equal(A:take(Index{ 2, 2 }), Matrix{ { 3, 4 }, { 3, 4 } })
  equal(A:clone():add_rows(Index{ 1, 1 }, A), Matrix{ { 5, 8 }, { 3, 4 } })
end)

test("rows of one data set in another", function()
  local A = Matrix.randn(n, d, { seed = 5 }):set(3, 2, 0)
  A:rows(9):copy(A:rows(4))
  local wanted = { 7, 0, 4, 3, n, 4, 0 }
  local B = Matrix.randn(#wanted, d, { seed = 6 })
  for i, at in ipairs(wanted) do if at > 0 then B:rows(i):copy(A:rows(at)) end end
  B:set(4, 2, -0.0)
  for _, dtype in ipairs{ "f64", "f32" } do
    local X, Z = DataSet(A):to(dtype), DataSet(B):to(dtype)
    local expected = Matrix(wanted):t()
    for _, x in ipairs{ X, X:to_sparse() } do
      for _, z in ipairs{ Z, Z:to_sparse() } do equal(x:find(z), expected, "find") end
    end
    equal(X:find(X)(9, 1), 4, "the first of equals")
  end
  fails(function() DataSet(A):find(DataSet(B):to("f32")) end, "DataSet:find", "f64", "f32")
  fails(function() DataSet(A):find(DataSet(B:cols(1, 2))) end, "DataSet:find", "columns", "2")
  fails(function() DataSet(A):find(B) end, "DataSet:find", "DataSet expected")
end)

test("timers", function()
  kbcd.timers.reset()
  for _ = 1, 3 do kbcd.allreduce(Matrix.zeros(2, 2)) end
  kbcd.KernelBlock(DataSet(data), Index.range(1, 4), kbcd.kernel.rbf{ sigma = 1 }):dense()
  runtime.timing.add("only on rank " .. rank, rank)
  local seen, last = {}, math.huge
  for _, t in ipairs(kbcd.timers.collect()) do
    assert(t.min <= t.mean + 1e-12 and t.mean <= t.max + 1e-12 and t.max <= last, t.name)
    seen[t.name], last = t, t.max
  end
  equal(seen.allreduce.calls, 3)
  equal(seen["only on rank " .. size - 1].max, size - 1)
  assert(seen.KernelBlock, "KernelBlock is timed")
  equal(kbcd.timers.count("kernel entries"), 4 * n)
  local from = kbcd.now()
  kbcd.timers.reset()
  local A = Matrix.rand(60, 60)
  local B = A * A
  for _ = 1, 50 do B = ((2 * B - A):exp():clamp(0, 1) * A):take(Index.range(1, 60)) / B:norm() end
  local wall, names, spent = kbcd.now() - from, {}, 0
  for name, timer in pairs(runtime.timing.timers()) do
    names[name], spent = timer.calls, spent + timer.seconds
  end
  equal(names["Matrix *"], 51)
  equal(names["Matrix rows"], 50)
  equal(names["Matrix elementwise"], 250)
  equal(names["Matrix sums"], 50)
  assert(spent > 0 and spent <= wall, "these do not nest")
  fails(function() return A + "1" end, "cannot add")
  fails(function() return A * B:rows(1, 3) end, "product")
  fails(function() A:add(Matrix.zeros(1, 1)) end, "add")
  -- Timers end with an error, too: what follows is still in an outermost one.
  local before = kbcd.now()  -- before in_none() is read, so that its interval lies within this one
  local none, products = runtime.timing.in_none(), runtime.timing.timers()["Matrix *"].seconds
  for _ = 1, 200 do B = A * A end
  products = runtime.timing.timers()["Matrix *"].seconds - products
  none = runtime.timing.in_none() - none
  assert(none <= kbcd.now() - before - products + 1e-9, "outermost")
  local double = kbcd.kernel.custom{ metric = "dot", kappa = function(D) return D * 2 end }
  local start = kbcd.now()
  kbcd.timers.reset()
  kbcd.KernelBlock(DataSet(data), Index.range(1, 4), double):dense()
  none = runtime.timing.in_none()
  assert(none >= 0 and none <= kbcd.now() - start, "inner timers count once")
  kbcd.KernelBlock(DataSet(data), Index.range(1, 4), kbcd.kernel.rbf{ sigma = 1 }):dense()
  kbcd.allreduce(Matrix.zeros(2, 2))
  local say, lines = kbcd.say, {}
  kbcd.say = function(format, ...) lines[#lines + 1] = format:format(...) end
  kbcd.timers.report()
  kbcd.say = say
  local report = table.concat(lines, "\n")
  for _, text in ipairs{ "calls", "min", "mean", "max", "allreduce", "KernelBlock", "kernel entries", "in none" } do
    assert(report:find(text, 1, true), report)
  end
  kbcd.timers.reset()
  equal(kbcd.timers.count("kernel entries"), 0)
end)

spec.finish()
