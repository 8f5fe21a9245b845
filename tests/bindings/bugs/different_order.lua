-- Rank 1 sums the same two matrices in the other order: without a check, a wrong sum.
local kbcd = require "kbcd"
local A, B = kbcd.Matrix.ones(2, 2), kbcd.Matrix.zeros(2, 2)
local function sum_A() kbcd.allreduce(A) end
local function sum_B() kbcd.allreduce(B) end
if kbcd.rank() == 1 then
  sum_B()
  sum_A()
else
  sum_A()
  sum_B()
end
