-- Every rank wants rows of its own of the common data.
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(60, 3, { seed = 1 }))
local I = kbcd.Index.permutation(60, { seed = kbcd.rank() }):slice(1, 9)
print(X:subset(I).n)
