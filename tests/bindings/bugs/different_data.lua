-- Every rank makes up a matrix of its own, of which all were to have the same.
local kbcd = require "kbcd"
print(kbcd.DataSet(kbcd.Matrix.randn(60, 3, { seed = kbcd.rank() })).n)
