-- peaks: the speed of this machine: sgemm in GFLOP/s, other products as a share of it, and how fast memory is read.

local kbcd = require "kbcd"
local flops, measure = require "kbcd.bench.flops", require "kbcd.bench.measure"

return function(bench)
  local size, items = bench.sizes.peak, {}
  for _, dtype in ipairs{ "f64", "f32" } do
    local A = kbcd.Matrix.randn(size, size, { seed = 1, dtype = dtype })
    local letter = dtype == "f32" and "s" or "d"
    if dtype == "f64" then
      items[#items + 1] = { name = "dgemm", flop = kbcd.size() * flops.product(size, size, size),
        run = function() (A * A):release() end }
    end
    items[#items + 1] = { name = letter .. "syrk", flop = kbcd.size() * flops.gram(size, size),
      run = function() A:gram():release() end }
  end
  local rounds = bench.measure(items, bench.repeats)
  local sgemm = bench.median(rounds[1], "peak").peak
  bench.add{ group = "peaks", name = "sgemm", value = sgemm, unit = "GFLOP/s" }
  bench.add_rates("peaks", items, rounds)
  local reader, rates = measure.reader(bench.sizes.read), {}
  for round = 1, bench.repeats + 1 do rates[round] = { rate = reader() } end
  bench.add{ group = "peaks", name = "memory, read", value = measure.median(rates, "rate").rate, unit = "GB/s" }
end
