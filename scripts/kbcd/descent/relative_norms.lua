-- relative_norms(E, Y, L): |E_l| / |Y| over all ranks, for the L parts of E that lie side by side.

local kbcd = require "kbcd"

return function(E, Y, L)
  local k, squares = Y.ncols, kbcd.Matrix.zeros(1, L + 1)
  for l = 1, L do squares:set(1, l, E:cols((l - 1) * k + 1, l * k):norm() ^ 2) end
  squares:set(1, L + 1, Y:norm() ^ 2)
  kbcd.allreduce(squares)
  local norms = {}
  for l = 1, L do norms[l] = math.sqrt(squares(1, l) / math.max(squares(1, L + 1), 1e-300)) end
  return norms
end
