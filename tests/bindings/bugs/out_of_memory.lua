-- Rank 1 fills a table without end.
local kbcd = require "kbcd"
local rows = {}
while kbcd.rank() == 1 do rows[#rows + 1] = ("%8d"):format(#rows):rep(1e6) end
kbcd.barrier()
