-- vision: the features of pictures by filters on their patches (normalised, convolved, rectified, summed), 2 flop for each
-- number of a patch, patch and filter; pictures of CIFAR-10's and of Fashion-MNIST's shape, 512 filters of 6 x 6.

local kbcd = require "kbcd"
local flops = require "kbcd.bench.flops"
local Matrix, vision = kbcd.Matrix, kbcd.vision

local function item(n, filters, size, shape)
  local d = size * size * shape.channels
  local X = kbcd.DataSet.generate(n, shape.height * shape.width * shape.channels, function(first, last)
    return Matrix.rand(last - first + 1, shape.height * shape.width * shape.channels,
      { seed = 1, first_row = first, dtype = "f32" }):scale(255)
  end)
  local images = vision.images(X, { height = shape.height, width = shape.width, channels = shape.channels })
  local F = Matrix.randn(filters, d, { seed = 2, dtype = "f32" }):scale(1 / math.sqrt(d))
  return { name = ("convolve, %s d=%d, %d filters"):format(shape.name, d, filters), bar = shape.bar,
    flop = flops.convolution(n, shape.height, shape.width, shape.channels, size, filters),
    run = function() vision.convolve(images, { filters = F }).rows:release() end }
end

return function(bench)
  local s, items = bench.sizes.vision, {}
  for i, shape in ipairs(s.shapes) do items[i] = item(s.n, s.filters, s.size, shape) end
  bench.add_rates("vision", items, bench.measure(items, bench.repeats))
end
