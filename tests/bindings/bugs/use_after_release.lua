-- A matrix is used after its memory was freed.
local kbcd = require "kbcd"
local A = kbcd.Matrix.ones(3, 2)
A:release()
print(A:sum())
