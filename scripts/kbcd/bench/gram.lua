-- gram: a block with its Gram, as the first epoch of random features (f32) and of Nyström (f64, whose flop count twice)
-- needs it: nb(2d + b) and nb(2d + 2b) flop; and the Gram alone, of a block that is in memory where it fits.

local kbcd = require "kbcd"
local data, flops = require "kbcd.bench.data", require "kbcd.bench.flops"

return function(bench)
  local n, b, d = bench.sizes.n, math.min(bench.sizes.b, bench.sizes.p_block), bench.sizes.images.d
  local X, I, kernel = data.rows(n, d), kbcd.Index.range(1, b), kbcd.kernel.rbf{ sigma = data.sigma }
  local map = kbcd.features.fourier{ kernel = kernel, p = b }
  local sorts = {
    { name = "RandomFeaturesBlock", block = kbcd.RandomFeaturesBlock(X, I, map), dtype = "f32", times = 1 },
    { name = "KernelBlock rbf", block = kbcd.KernelBlock(X, I, kernel), dtype = "f64", times = 2 },
  }
  for _, sort in ipairs(sorts) do
    local block, gram = sort.block, sort.times * flops.gram(n, b)
    local items = {
      { name = ("%s + Gram %s, d=%d b=%d"):format(sort.name, sort.dtype, d, b), flop = flops.block(n, b, d) + gram,
        run = function()
          block:release()
          block:gram(sort.dtype):release()
        end },
      { name = "  the Gram alone", flop = gram, run = function() block:gram(sort.dtype):release() end },
    }
    bench.add_rates("gram", items, bench.measure(items, bench.repeats))
    block:release()
  end
end
