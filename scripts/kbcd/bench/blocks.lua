-- blocks: how fast blocks are computed: 2nbd flop over the time of a block and of its product with one column; and of its
-- product with the shape's k columns, 2nb(d+k) flop. Each round computes the block again. Sparse rows: 2b flop for each of
-- their entries, and how many entries of the block are made in a second. Rows that are kept as bytes are counted as dense.

local kbcd = require "kbcd"
local data, flops = require "kbcd.bench.data", require "kbcd.bench.flops"
local Matrix, Index = kbcd.Matrix, kbcd.Index

-- The two sorts of blocks of X, as functions that make one.
local function makers(X, b)
  local kernel, I = kbcd.kernel.rbf{ sigma = data.sigma }, Index.range(1, b)
  local map = kbcd.features.fourier{ kernel = kernel, p = b }
  return {
    { name = "KernelBlock rbf", make = function() return kbcd.KernelBlock(X, I, kernel) end },
    { name = "RandomFeaturesBlock", make = function() return kbcd.RandomFeaturesBlock(X, I, map) end },
  }
end

-- Makes a block, multiplies A by it and releases it.
local function once(make, A)
  return function()
    local block = make()
    local product = block:t() * A
    block:release()
    product:release()
  end
end

local function dense(bench, shape)
  local n = math.max(bench.sizes.b, math.floor(bench.sizes.n * (shape.share or 1)))
  local X, b, items = data.rows(n, shape.d), bench.sizes.b, {}
  local one, all = Matrix.randn(X.local_n, 1, { seed = 4 }), Matrix.randn(X.local_n, shape.k, { seed = 4 })
  for _, sort in ipairs(makers(X, b)) do
    items[#items + 1] = { name = ("%s, %s d=%d"):format(sort.name, shape.name, shape.d), bar = shape.bar,
      flop = flops.block(n, b, shape.d), run = once(sort.make, one) }
    items[#items + 1] = { name = ("  and its product, k=%d"):format(shape.k),
      flop = flops.block_times(n, b, shape.d, shape.k), run = once(sort.make, all) }
  end
  bench.add_rates("blocks", items, bench.measure(items, bench.repeats))
end

-- Rows that are kept as bytes, on a CPU that multiplies bytes.
local function bytes(bench, shape)
  local n, b, items = bench.sizes.n, bench.sizes.b, {}
  local X = data.byte_rows(n, shape.d)
  local one, all = Matrix.randn(X.local_n, 1, { seed = 4 }), Matrix.randn(X.local_n, shape.k, { seed = 4 })
  local block = makers(X, b)[1]
  items[1] = { name = ("%s of bytes, d=%d"):format(block.name, shape.d), bar = data.multiplies_bytes() and 2.5 or nil,
    flop = flops.block(n, b, shape.d), run = once(block.make, one) }
  items[2] = { name = ("  and its product, k=%d"):format(shape.k), flop = flops.block_times(n, b, shape.d, shape.k),
    run = once(block.make, all) }
  bench.add_rates("blocks", items, bench.measure(items, bench.repeats))
end

local function sparse(bench, shape)
  local n, b, items = math.max(bench.sizes.b, math.floor(bench.sizes.n * shape.share)), bench.sizes.b, {}
  local X, entries = data.text(n, shape.d, shape.words)
  local A = Matrix.randn(X.local_n, shape.k, { seed = 4 })
  for i, sort in ipairs(makers(X, b)) do
    items[#items + 1] = { name = ("%s, text d=%d, %.0f a row"):format(sort.name, shape.d, entries / n), bar = shape.bars[i],
      flop = 2 * entries * b, made = n * b, run = once(sort.make, A) }
  end
  bench.add_rates("blocks", items, bench.measure(items, bench.repeats))
end

return function(bench)
  for _, shape in ipairs(bench.sizes.shapes) do dense(bench, shape) end
  bytes(bench, bench.sizes.images)
  sparse(bench, bench.sizes.text)
end
