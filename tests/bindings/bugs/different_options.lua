-- Every rank chooses a width of its own.
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(60, 3, { seed = 1 }))
local o = { kernel = kbcd.kernel.rbf{ sigma = 1 + kbcd.rank() }, lambda = 1e-3 }
for _ in kbcd.full_kernel(X, X.rows:clone():sum(2), o) do end
