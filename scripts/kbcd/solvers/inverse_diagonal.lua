-- inverse_diagonal(C, first, last): (A⁻¹)_ii for i = first..last, a column, of A = C Cᵀ with C lower triangular: the squared
-- length of column i of C⁻¹. That column is 0 above row i, so some columns at a time need the part of C from the first of
-- them on: n³/3 flop for all of them in place of n³.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix

local columns_at_once = 256

return function(C, first, last)
  local n, diagonal = C.nrows, Matrix.zeros(math.max(0, last - first + 1), 1)
  for from = first, last, columns_at_once do
    local to = math.min(last, from + columns_at_once - 1)
    local count = to - from + 1
    local E = Matrix.zeros(n - from + 1, count)
    E:rows(1, count):copy(Matrix.eye(count))
    diagonal:rows(from - first + 1, to - first + 1):copy(C:block(from, n, from, n):trsolve(E):square():sum(1):t())
  end
  return diagonal
end
