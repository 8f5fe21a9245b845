-- Rank 1 leaves out a sum that the others wait in.
local kbcd = require "kbcd"
local A = kbcd.Matrix.zeros(3, 2)
if kbcd.rank() ~= 1 then
  kbcd.allreduce(A)
end
