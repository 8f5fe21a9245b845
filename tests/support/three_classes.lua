-- Files of points in the folder of `shell`: three classes around (3, 0), (-3, 0) and (0, 4), with targets that are linear in
-- them. Training rows are X.npy, y.npy (classes), t.npy (targets); test rows Xt.npy, yt.npy, tt.npy; d.h5 has all as /X, /y.

local kbcd = require "kbcd"
local shell = require "shell"

local n = 240
local noise, X, y, t = kbcd.Matrix.randn(n, 2, { seed = 1 }), {}, {}, {}
for i = 1, n do
  local class = i % 3
  X[i] = { noise(i, 1) + (class == 0 and 3 or class == 1 and -3 or 0), noise(i, 2) + (class == 2 and 4 or 0) }
  y[i], t[i] = { 10 * class }, { X[i][1] - 2 * X[i][2], X[i][2] }
end

local function save(name, rows, first, last)
  local part = kbcd.Matrix(rows):rows(first, last)
  local out = kbcd.row_writer(shell.tmp .. "/" .. name, "npy", "f8", part.ncols)
  out:write(part)
  out:close()
end
save("X.npy", X, 1, 200); save("y.npy", y, 1, 200); save("t.npy", t, 1, 200)
save("Xt.npy", X, 201, n); save("yt.npy", y, 201, n); save("tt.npy", t, 201, n)
local file = kbcd.h5.create(shell.tmp .. "/d.h5")
file:append("/X", kbcd.Matrix(X))
file:append("/y", kbcd.Matrix(y))
file:close()

return { n = n, X = X, y = y, t = t }
