-- Rank 1 comes with single precision.
local kbcd = require "kbcd"
local dtype = kbcd.rank() == 1 and "f32" or "f64"
kbcd.allreduce(kbcd.Matrix.zeros(3, 2, dtype))
