-- Learning from text: the linear kernel by factors, hashed columns as random features, rows that Lua builds, hashing in Lua;
-- the examples on made-up reviews, and on the clothing reviews beside the repository where they are there.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet

spec.test("the linear kernel of sparse rows, by entries and by factors", function()
  local n, d = 41, 120
  local dense = spec.make(n, d, function(i, j) return (i * 31 + j * 17) % 37 == 0 and (i + j) % 7 - 3 or 0 end)
  local linear, I = kbcd.kernel.linear(), Index.sample(n, 24, { seed = 3 })
  for _, dtype in ipairs{ "f64", "f32" } do
    local X = DataSet(dense):to(dtype):to_sparse()
    local K = spec.product(dense, dense:take(I):t():clone())
    for _, k in ipairs{ 1, 2, 24 } do  -- few columns: by factors; many: by entries
      local D, A = Matrix.randn(#I, k, { seed = 1 }), Matrix.randn(n, k, { seed = 2 })
      local mine = DataSet(A).rows
      local tolerance = dtype == "f64" and 1e-12 or 1e-5
      for _, keep in ipairs{ false, "exact" } do  -- asked to stay: by entries
        local B = kbcd.KernelBlock(X, I, linear, keep and { keep = keep } or nil)
        spec.close(kbcd.gather(B * D), spec.product(K, D), tolerance, "K D")
        spec.close(kbcd.allreduce(B:t() * mine), spec.product(K:t():clone(), A), tolerance, "K' A")
      end
      local J = Index.range(5, 33)
      local B = kbcd.KernelBlock(X, I, linear, { rows = J })
      spec.close(kbcd.gather(B * D), spec.product(K:take(J), D), tolerance, "rows, K D")
      spec.close(kbcd.allreduce(B:t() * mine:take(X:local_rows(J))), spec.product(K:take(J):t():clone(), A:take(J)),
        tolerance, "rows, K' A")
    end
    local B = kbcd.KernelBlock(X, I, linear)
    kbcd.gather(B * Matrix.zeros(#I, 1))
    spec.equal(B.kept, false, "no entries were computed")
  end
end)

spec.test("the columns of a hashed matrix are blocks of random features", function()
  local path = kbcd.made_up_reviews(80, 5)
  local read = kbcd.text.read(path, { format = "tsv" })
  local Z, I = read:hash{ columns = 32, ngrams = 2, dtype = "f64" }, Index{ 7, 32, 1, 20 }
  local map = kbcd.features.columns{ p = 32 }
  local dense = Z:to_dense()
  local picked = spec.make(Z.local_n, #I, function(i, j) return dense.rows(i, I[j]) end)
  spec.close(kbcd.RandomFeaturesBlock(Z, I, map):dense(), picked, 0, "sparse")
  spec.close(kbcd.RandomFeaturesBlock(dense, I, map):dense(), picked, 0, "dense")
  spec.fails(function() kbcd.RandomFeaturesBlock(Z, I, kbcd.features.columns{ p = 31 }) end, "31", "32")
  spec.fails(function() kbcd.features.columns{} end, "p")
  -- Ridge regression on the columns, solved at once.
  local Y = read.y.rows:to("f64")
  local model
  for step in kbcd.random_features(Z, Y, { map = map, lambda = 1e-2, b = 32 }) do model = step.model[1] end
  local G, r = kbcd.allreduce(dense.rows:t() * dense.rows, dense.rows:t() * Y)
  local w = kbcd.local_solve(G:add_diagonal(Z.n * 1e-2), r)
  spec.close(model:predict(Z), dense.rows * w, 1e-10, "ridge")
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end)

spec.test("rows that Lua builds", function()
  local builder, first, last = kbcd.csr_builder(5), DataSet.share(9)
  for i = first, last do  -- row i: entries in falling columns, one of them in two parts, one that cancels
    if i ~= 4 then
      builder.add(5, i) builder.add(2, 1) builder.add(2, i) builder.add(1, 1) builder.add(1, -1)
    end
    builder.end_row()
  end
  local X = builder.finish(9, { dtype = "f64" })
  spec.close(kbcd.gather(X:to_dense().rows), spec.make(9, 5, function(i, j)
    return i == 4 and 0 or j == 5 and i or j == 2 and i + 1 or 0
  end), 0)
  spec.fails(function() builder.finish(9, { norm = true }) end, "unit_norm")
  spec.fails(function() builder.finish(18) end, "rows")
  if first <= last then
    spec.fails(function() builder.add(6, 1) end, "1..5", "6")
    for _, column in ipairs{ 0, -1, 1.5, 0 / 0, 1 / 0, 2 ^ 40 } do
      spec.fails(function() builder.add(column, 1) end, "1..5")
    end
    spec.fails(function() builder.add("1", 1) end, "two numbers")
  end
  spec.equal(kbcd.hash.murmur3("test", 0x9747b28c), 0x704b81dc)
  spec.equal(kbcd.hash.murmur3("a test.", 0x9747b28c, 4, 3), 0x704b81dc)
  spec.fails(function() kbcd.hash.murmur3(5) end, "string")
  spec.fails(function() kbcd.hash.murmur3("a", 0, 2) end, "2 bytes")
  spec.fails(function() kbcd.hash.murmur3("a", -1) end, "seed")
  for _, place in ipairs{ 0, 9, -1, 2.5, 0 / 0, 2 ^ 60 } do
    spec.fails(function() kbcd.hash.murmur3("a test.", 0, 1, place) end, "first")
  end
  spec.fails(function() kbcd.hash.murmur3("a test.", 0, 5, 4) end, "5 bytes from byte 4", "7")
  for _, count in ipairs{ -1, 0.5, 0 / 0, 2 ^ 60 } do
    spec.fails(function() kbcd.hash.murmur3("a", 0, count) end, "count")
  end
  local row = kbcd.csr_builder(2 ^ 20)
  row.add_hashed("one two", { 1, 3, 5, 7 })
  row.add_hashed("one two", { 1, 3, 5, 7 }, 2)
  row.end_row()
  local murmur3, expected = kbcd.hash.murmur3, {}
  for _, h in ipairs{ murmur3("one"), murmur3("two"), murmur3("two", murmur3("one")) } do
    if h < 2 ^ 31 then expected[h % 2 ^ 20 + 1] = 1 else expected[(2 ^ 32 - h) % 2 ^ 20 + 1] = -1 end
  end
  if kbcd.size() == 1 then
    local made = row.finish(1, { dtype = "f64" }):to_dense().rows
    for column, value in pairs(expected) do spec.equal(made(1, column), value) end
    spec.equal(made:clone():abs():sum(), 3)
  end
  spec.fails(function() row.add_hashed("one two", { 1, 3 }, 0) end, "together")
  for _, parts in ipairs{ { 0, 3 }, { 1, 8 }, { 3, 2 }, { 1.5, 3 }, { "a", "b" }, { -2 ^ 40, 3 }, { 1, 2 ^ 60 } } do
    spec.fails(function() row.add_hashed("one two", parts) end, "bytes within 1..7")
  end
end)

spec.test("RMSE by hand", function()
  local y = DataSet(Matrix{ { 1 }, { 5 }, { 3 }, { 2 } })
  local S = DataSet(Matrix{ { 2 }, { 5 }, { 1 }, { 2 } })
  spec.close(kbcd.scoring.rmse(S.rows, y), math.sqrt((1 + 0 + 4 + 0) / 4), 1e-15)
end)

local function example(...) return table.concat(require "example"(...), "\n") end

local function rmse_of(said, method) return tonumber(said:match(method .. " *RMSE ([%d.]+)")) end

spec.test("hashing in Lua gives the matrix of C++", function()
  assert(example("lua_hashing"):find("the same matrix: yes", 1, true))
end)

spec.test("made-up reviews are learned", function()
  local said = example("reviews", "--p", "128", "--b", "256", "--epochs", "2")
  for _, method in ipairs{ "full_kernel", "nystrom", "hashing" } do
    assert(rmse_of(said, method) < 1.0, said)  -- the mean rating alone has 1.41
  end
end)

spec.test("files that are not reviews are reported in a line", function()
  spec.fails(function() example("reviews", "/nowhere/a.tsv", "/nowhere/b.tsv") end, "/nowhere/a.tsv", "cannot be read")
  spec.with_file("good\tfine\nbad\tpoor\n", function(path)
    spec.fails(function() example("reviews", path, path) end, path, "numbers expected as labels", "'bad'")
  end)
end)

spec.test("more hashed columns than reviews", function()  -- in blocks of columns, however few the reviews are
  assert(rmse_of(example("reviews", "--p", "900", "--b", "900", "--epochs", "1"), "hashing") < 1.0)
end)

spec.test("clothing reviews: full <= Nyström <= hashing", function()
  local folder = os.getenv("KBCD_SOURCE") .. "/../shared/data/clothing/"
  local there = io.open(folder .. "train.tsv.gz")
  if not there then return kbcd.say("skipped: the clothing reviews are not in %s", folder) end
  there:close()
  if kbcd.size() > 2 then return end  -- one and two are enough for what takes this long
  local said = example("reviews", folder .. "train.tsv.gz", folder .. "test.tsv.gz", "--rows", "2000", "--p", "256",
    "--epochs", "3", "--b", "512", "--clip")
  local full, nystrom, hashing = rmse_of(said, "full_kernel"), rmse_of(said, "nystrom"), rmse_of(said, "hashing")
  assert(full < 0.95 and full <= nystrom and nystrom <= hashing, said)
end)

spec.finish()
