-- The floating point operations of a task: n rows of d numbers, b columns in a block, p features or centres, k targets. exp
-- and cos are not counted. Figures are compared by these formulas, whatever was really computed: the full kernel, which
-- uses the symmetry of K, can exceed the speed of the machine.

local flops = {}

function flops.product(n, d, b) return 2 * n * d * b end

function flops.gram(n, b) return n * b * b end  -- by syrk

function flops.block(n, b, d) return 2 * n * b * d end

function flops.block_times(n, b, d, k) return 2 * n * b * (d + k) end

function flops.full_epoch(n, d, k) return n * n * (2 * d + 2 * k) end

function flops.rf_epoch(n, p, b, d, k) return n * p * (2 * d + b + 4 * k) end

-- The Gram is in f64, where a machine does half as much: it counts twice.
function flops.nystrom_epoch(n, p, b, d, k) return n * p * (2 * d + 2 * b + 4 * k) end

-- Every place of every picture, each filter of size x size x channels.
function flops.convolution(n, height, width, channels, size, filters)
  return 2 * n * (height - size + 1) * (width - size + 1) * size * size * channels * filters
end

return flops
