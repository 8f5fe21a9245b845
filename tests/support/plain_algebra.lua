-- plain_algebra: matrices as tables of rows, with plain loops, independent of the library: the reference of tests.

local plain_algebra = {}

function plain_algebra.transpose(A)
  local T = {}
  for j = 1, #A[1] do
    T[j] = {}
    for i = 1, #A do T[j][i] = A[i][j] end
  end
  return T
end

-- Gaussian elimination with pivoting.
function plain_algebra.solve(A, B)
  local size, width, rows = #A, #B[1], {}
  for i = 1, size do
    rows[i] = {}
    for j = 1, size do rows[i][j] = A[i][j] end
    for j = 1, width do rows[i][size + j] = B[i][j] end
  end
  for c = 1, size do
    local pivot = c
    for i = c + 1, size do if math.abs(rows[i][c]) > math.abs(rows[pivot][c]) then pivot = i end end
    rows[c], rows[pivot] = rows[pivot], rows[c]
    for i = 1, size do
      if i ~= c then
        local f = rows[i][c] / rows[c][c]
        for j = c, size + width do rows[i][j] = rows[i][j] - f * rows[c][j] end
      end
    end
  end
  local X = {}
  for i = 1, size do
    X[i] = {}
    for j = 1, width do X[i][j] = rows[i][size + j] / rows[i][i] end
  end
  return X
end

function plain_algebra.add_diagonal(A, term)
  for i = 1, #A do A[i][i] = A[i][i] + term end
  return A
end

return plain_algebra
