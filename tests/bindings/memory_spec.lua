-- ranks: 1 2
-- alone
-- A block of 1 GB under a budget of 200 MB: the products of a streamed block stay near the budget, and are right. Runs that
-- keep their blocks, one after the other: each has the memory of the one before.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local n, d, b, MB = 65536, 3, 4096, 2 ^ 20

spec.test("a block of 1 GB in 200 MB", function()
  kbcd.memory_budget(200 * MB / kbcd.size())
  local X = kbcd.DataSet.generate(n, d, function(first, last)
    return Matrix.randn(last - first + 1, d, { seed = 1, first_row = first, dtype = "f32" })
  end)
  local kernel = kbcd.kernel.rbf{ sigma = 1 }
  local block = kbcd.KernelBlock(X, Index.range(1, b), kernel)
  local A, D = Matrix.ones(X.rows.nrows, 2), Matrix.ones(b, 2)
  local before = kbcd.memory_peak()
  local sums = kbcd.allreduce(block:t() * A)
  local rows = block * D
  local growth = kbcd.allreduce(kbcd.memory_peak() - before)
  spec.equal(block.kept, false, "kept")
  kbcd.say("a block of %d MB on %d ranks, budget 200 MB: resident memory grew by %.0f MB", n * b * 4 / MB, kbcd.size(),
    growth / MB)
  assert(growth < 250 * MB, "the products took more memory than the budget")

  -- Column 1 and row 1 by the formula.
  local x = X:gather(Index.range(1, 1))
  local function entry(y, i)
    return math.exp(-((y(i, 1) - x(1, 1)) ^ 2 + (y(i, 2) - x(1, 2)) ^ 2 + (y(i, 3) - x(1, 3)) ^ 2) / 2)
  end
  local column, row = 0, 0
  for i = 1, X.rows.nrows do column = column + entry(X.rows, i) end
  spec.close(sums(1, 1), kbcd.allreduce(column), 1e-5, "column sum")
  local centres = X:gather(Index.range(1, b))
  for i = 1, b do row = row + entry(centres, i) end
  if X.first == 1 then spec.close(rows(1, 1), row, 1e-5, "row sum") end
end)

spec.test("the Gram of the same block", function()
  local X = kbcd.DataSet.generate(n, d, function(first, last)
    return Matrix.randn(last - first + 1, d, { seed = 1, first_row = first, dtype = "f32" })
  end)
  local block = kbcd.KernelBlock(X, Index.range(1, 1024), kbcd.kernel.rbf{ sigma = 1 })
  kbcd.memory_budget(50 * MB / kbcd.size())
  local before = kbcd.memory_peak()
  local G = kbcd.allreduce(block:gram("f64"))
  local growth = kbcd.allreduce(kbcd.memory_peak() - before)
  kbcd.say("the Gram of a block of %d MB, budget 50 MB: resident memory grew by %.0f MB", n * 1024 * 4 / MB, growth / MB)
  spec.equal(block.kept, false, "kept")
  kbcd.memory_budget("2G")
  spec.close(G, kbcd.allreduce(block:gram("f64")), 1e-12, "streamed and kept")
  spec.equal(block.kept, true, "kept")
end)

spec.test("a run that is over frees its memory for the next", function()
  local rows, p, runs = 4000, 500, 8
  local X = kbcd.DataSet.generate(rows, d, function(first, last)
    return Matrix.randn(last - first + 1, d, { seed = 1, first_row = first, dtype = "f32" })
  end)
  local Y, kept, most = X.rows:sum(2), X.local_n * p * 4, 0
  local before = kbcd.memory_in_use()
  local function run()
    local o = { kernel = kbcd.kernel.rbf{ sigma = 1 }, lambda = 1e-3, p = p, b = 10, epochs = 3, jitter = true }
    for step in kbcd.nystrom(X, Y, o) do
      if step.epoch == 1 and step.block == 1 then most = math.max(most, kbcd.memory_in_use() - before) end
    end
  end
  for _ = 1, runs do run() end
  kbcd.say("%d runs that keep %.1f MB: at most %.1f MB in use when one begins", runs, kept / MB, most / MB)
  assert(most < kept / 2, "the blocks of an earlier run are still there when the next begins")
end)

spec.finish()
