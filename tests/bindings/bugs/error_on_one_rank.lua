-- Rank 1 fails while the others wait for it.
local kbcd = require "kbcd"
local names = { "a", "b", nil }
kbcd.barrier()
if kbcd.rank() == 1 then print("row " .. names[3]) end
kbcd.allreduce(1)
