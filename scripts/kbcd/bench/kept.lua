-- kept: products with kept kernels, in bytes of the kernel a second, beside how fast memory is read (a large Matrix, summed)
-- and the product that the arithmetic alone would allow.
--
-- B:t() * A and B * D with k columns do 2k operations for every number of a block that they read. K * V over one triangle
-- does 4k, since K(s, u) serves the rows of s and of u. With few columns a product is bound by memory, with many by
-- arithmetic (sgemm's rate / operations a byte); the bar is for the smaller of the two. Numbers kept in f16 take half the
-- memory, and their products are timed against those in f32.

local kbcd = require "kbcd"
local data, measure = require "kbcd.bench.data", require "kbcd.bench.measure"

local triangle_columns, block_columns, blocks_read = { 1, 4, 10, 40 }, { 10, 40 }, 4
local kernel = kbcd.kernel.rbf{ sigma = data.sigma }

-- One line: run() reads `bytes` of the kernel and does `operations` for each. Gives the median round.
local function rate(bench, reader, o)
  local rounds = {}
  o.run()  -- computes and keeps the kernel
  for round = 1, bench.repeats + 1 do
    local read, peak = reader(), bench.peak()
    local seconds = measure.seconds(o.run)
    local arithmetic, speed = peak / o.operations, o.bytes / seconds / 1e9
    rounds[round] = { speed = speed, read = read, arithmetic = arithmetic, seconds = seconds,
      share = speed / math.min(read, arithmetic) }
  end
  local r = measure.median(rounds, "share")
  bench.add{ group = "kept", name = o.name, value = r.share, unit = "of the limit", bar = o.bar, seconds = r.seconds,
    note = ("%.1f GB/s; memory %.1f GB/s, arithmetic %.1f GB/s"):format(r.speed, r.read, r.arithmetic) }
end

-- How many times faster run(f16) is than run(f32), which are timed in turn.
local function halves(bench, name, exact, f16)
  local rounds = {}
  for round = 1, bench.repeats + 1 do
    local before, after = measure.seconds(exact), measure.seconds(f16)
    rounds[round] = { gain = before / after, seconds = after, exact = before }
  end
  local r = measure.median(rounds, "gain")
  bench.add{ group = "kept", name = name .. ", f16", value = r.gain, unit = "x f32", bar = 1.6, seconds = r.seconds,
    note = ("f32 %.3g s"):format(r.exact) }
end

local function blocks(bench, X, reader)
  local b, kept = math.min(2048, math.floor(X.n / blocks_read)), {}
  for _, keep in ipairs{ "exact", "f16" } do
    local list = {}
    kept[keep] = list
    for i = 1, blocks_read do
      list[i] = kbcd.KernelBlock(X, kbcd.Index.range((i - 1) * b + 1, i * b), kernel, { keep = keep })
    end
  end
  local function each(keep, f)
    return function() for _, B in ipairs(kept[keep]) do f(B) end end
  end
  for _, k in ipairs(block_columns) do
    local A, D = kbcd.Matrix.randn(X.local_n, k, { seed = 1 }), kbcd.Matrix.randn(b, k, { seed = 2 })
    local products = {
      { name = "B:t() * A", product = function(B) return B:t() * A end },
      { name = "B * D", product = function(B) return B * D end },
    }
    for _, p in ipairs(products) do
      local name = ("%s, n=%d, b=%d, k=%d"):format(p.name, X.n, b, k)
      rate(bench, reader, { name = name, bar = 0.8, bytes = 4 * X.n * b * blocks_read, operations = 2 * k / 4,
        run = each("exact", p.product) })
      each("f16", p.product)()
      if k == 10 then halves(bench, name, each("exact", p.product), each("f16", p.product)) end
    end
  end
  for _, list in ipairs{ kept.exact, kept.f16 } do
    for _, B in ipairs(list) do B:release() end
  end
end

local function triangle(bench, X, reader)
  local K = kbcd.KernelMatrix(X, nil, kernel)
  for _, k in ipairs(triangle_columns) do
    local V = kbcd.Matrix.randn(X.local_n, k, { seed = 1 })
    rate(bench, reader, { name = ("K * V, n=%d, k=%d"):format(X.n, k), bar = 0.7, bytes = 4 * X.n ^ 2 / 2,
      operations = 4 * k / 4, run = function() return K * V end })
  end
  K:release()
end

return function(bench)
  local images = bench.images()
  images.n = math.min(images.n, bench.sizes.cached_n)
  local X, reader = data.images(images).X, measure.reader(bench.sizes.read)
  blocks(bench, X, reader)
  triangle(bench, X, reader)
end
