-- kernel_gradient: the gradients of models f_c(x) = Σ_j α_jc κ(t(x, x_j)), c = 1 … k, at some rows z. With w = dκ/dt, which
-- a kernel's file declares,
--
--     t = ‖x − x_j‖²:   ∇f_c(z) = 2 Σ_j α_jc w(z, x_j) (z − x_j) = 2 (z (wα)_c − w (α_c ⊙ X)),   two products with w
--     t = ‖x − x_j‖₁:   ∇f_c(z) = Σ_j α_jc w(z, x_j) sign(z − x_j)

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Index = kbcd.Index

runtime.docs.kernel_gradient = [[kernel_gradient(X, alpha, Z, kernel)
The gradients at the m rows of a DataSet Z of the models f_c(x) = K(x, X) alpha_c: a list with an m x d Matrix for each
column c of alpha, on every rank. X: the DataSet of centres; alpha: this rank's rows. For kernels of Euclidean and Manhattan
distance that declare a derivative: rbf, matern, laplacian (0 at the cusps of the last two). All ranks call it.]]

return function(X, alpha, Z, kernel)
  local euclidean = kernel.metric == "sqeuclidean"
  if not euclidean and kernel.metric ~= "manhattan" then
    error(("kernel_gradient: a kernel of Euclidean or Manhattan distance expected, got %s"):format(tostring(kernel)), 2)
  end
  if alpha.nrows ~= X.local_n then
    error(("kernel_gradient: alpha: this rank's %d rows expected, got %d"):format(X.local_n, alpha.nrows), 2)
  end
  if Z.d ~= X.d then error(("kernel_gradient: Z: rows of %d numbers expected, got %d"):format(X.d, Z.d), 2) end
  local all = Index.range(1, Z.n)
  local w = kbcd.KernelBlock(X, all, kernel:slope(), { centers = Z })        -- this rank's centres x m
  local z, x, list = Z:gather(all):to("f64"), X:part(1, X.local_n):to("f64"), {}
  local dense = not euclidean and w:dense()
  for c = 1, alpha.ncols do
    local a = alpha:cols(c):clone()
    if euclidean then
      local sums, moments = kbcd.allreduce(w:t() * a, w:t() * x:clone():cmul(a))
      list[c] = z:clone():cmul(sums):sub(moments):scale(2)
    else
      list[c] = kbcd.allreduce(kbcd.sign_products(dense, a, x, z))
    end
  end
  return list
end
