-- Two sums on one line, in another order on one rank.
local kbcd = require "kbcd"
local A, B = kbcd.Matrix.ones(2, 2), kbcd.Matrix.ones(2, 2):scale(10)
for _ = 1, 200 do kbcd.allreduce(A:clone()) end
if kbcd.rank() == 1 then kbcd.allreduce(B) kbcd.allreduce(A) else kbcd.allreduce(A) kbcd.allreduce(B) end
