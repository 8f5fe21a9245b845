-- kept: products with a kept kernel, K * V over one triangle of it, in bytes of the triangle a second, beside how fast memory
-- is read (a large Matrix, summed) and the product that the arithmetic alone would allow.
--
-- A product with k columns does 4k operations for every 4 bytes that it reads, since K(s, u) serves the rows of s and of
-- u: with many columns it is bound by arithmetic (sgemm's rate / k bytes a second), with few by memory. The bar is for the
-- smaller of the two.

local kbcd = require "kbcd"
local data, measure = require "kbcd.bench.data", require "kbcd.bench.measure"

local columns = { 1, 4, 10 }

return function(bench)
  local images = bench.images()
  images.n = math.min(images.n, bench.sizes.cached_n)
  local X = data.images(images).X
  local K = kbcd.KernelMatrix(X, nil, kbcd.kernel.rbf{ sigma = data.sigma })
  local bytes, reader = 4 * X.n ^ 2 / 2, measure.reader(bench.sizes.read)
  for _, k in ipairs(columns) do
    local V, rounds = kbcd.Matrix.randn(X.local_n, k, { seed = 1 }), {}
    local _ = K * V  -- computes and keeps the kernel
    for round = 1, bench.repeats + 1 do
      local read, peak = reader(), bench.peak()
      local seconds = measure.seconds(function() return K * V end)
      local limit = math.min(read, peak / k)
      rounds[round] = { rate = bytes / seconds / 1e9, read = read, peak = peak, seconds = seconds,
        share = bytes / seconds / 1e9 / limit }
    end
    local r = measure.median(rounds, "share")
    bench.add{ group = "kept", name = ("K * V, n=%d, k=%d"):format(X.n, k), value = r.share, unit = "of the limit",
      bar = 0.7, seconds = r.seconds,
      note = ("%.1f GB/s; memory %.1f GB/s, arithmetic %.1f GB/s"):format(r.rate, r.read, r.peak / k) }
  end
end
