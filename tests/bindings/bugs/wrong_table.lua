-- An option that does not exist, by a slip of the pen.
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(30, 2))
local Y = X.rows:clone():sum(2)
for _ in kbcd.full_kernel(X, Y, { kernel = kbcd.kernel.rbf{ sigma = 1 }, lamda = 1e-3 }) do end
