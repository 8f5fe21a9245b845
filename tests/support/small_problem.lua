-- A small problem and its direct solutions by dense solves: what contract_spec and hooks_spec compare with.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet

local n, d, k = 80, 3, 2
local data, targets = Matrix.randn(n, d, { seed = 3 }), Matrix.randn(n, k, { seed = 4 })
local X, Y = DataSet(data), DataSet(targets)
local rbf = kbcd.kernel.rbf{ gamma = 0.3 }

local function kernel_matrix(A, B)
  return spec.make(A.nrows, B.nrows, function(i, j)
    local s = 0
    for c = 1, d do s = s + (A(i, c) - B(j, c)) ^ 2 end
    return math.exp(-0.3 * s)
  end)
end
local K = kernel_matrix(data, data)
local function whole(rows) return kbcd.gather(rows) end
local function mine(A) return A:rows(X.first, X.first + X.local_n - 1) end  -- this rank's rows
local function last(steps)
  local step
  for s in steps do step = s end
  return step
end
-- The coefficients of Nyström on centres J, by a direct solve.
local function nystrom_solution(J, Z, lam, W)
  local K_J = kernel_matrix(data, data:take(J))
  local weighted = W and spec.make(n, #J, function(i, j) return W(i, 1) * K_J(i, j) end) or K_J
  local H = weighted:t() * K_J + kernel_matrix(data:take(J), data:take(J)) * (n * lam)
  return kbcd.local_solve(H, weighted:t() * Z, { jitter = true }), K_J
end

return { n = n, d = d, k = k, data = data, targets = targets, X = X, Y = Y, rbf = rbf, K = K, kernel_matrix = kernel_matrix,
  whole = whole, mine = mine, last = last, nystrom_solution = nystrom_solution }
