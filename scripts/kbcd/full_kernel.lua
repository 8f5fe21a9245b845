-- full_kernel: the paper's Algorithm 1, corrected. Block Gauss–Seidel on (K + nλI) α = Y: for a block I of rows, with
-- K_b = K([n], I) and K_bb = K(I, I),
--
--     solve (K_bb + nλ I_b) Δ = Y_b − K_bᵀ α − nλ α_b,     α_b ← α_b + Δ
--
-- which is the printed update written for the change Δ. α is n x k, each rank holds its own rows; with several λ the
-- models lie side by side in one n x (kL) matrix and share every K_b.

local kbcd = require "kbcd"
local options, steps = require "kbcd.options", require "kbcd.steps"
local Matrix = kbcd.Matrix

kbcd.system.docs.full_kernel = [[full_kernel(X, Y, options)
An iterator of block steps of the full kernel machine (Algorithm 1). options: kernel; lambdas (a number or a list);
b = 2048 (block size, at most n); epochs = 1; partition = "fresh" (anew each epoch) or "fixed" (as in the paper);
tol = 0 (stop after the epoch in which the model changed by no more, relatively); jitter = false; seed;
test (a DataSet: step.test_scores follows every block); fitted = false (true: step.model:fitted() is kept, of each row as of
the last visit of its block). step.residual: |Y - (K + n lambda I) alpha| / |Y| over the epoch's blocks, each before its step.
for step in full_kernel(X, Y, o) do … step.epoch, step.block, step.epoch_end, step.change, step.model[1]:predict(Xtest) end]]

return function(X, Y, given)
  Y = kbcd.targets("full_kernel", X, Y)
  local o = options.algorithm("full_kernel", given, X.n, "n", "fresh", {
    kernel = { options.kernel }, fitted = { options.flag, false },
  })
  local n, k, L = X.n, Y.ncols, #o.lambdas
  local alpha = Matrix.zeros(X.local_n, k * L)
  local F = o.fitted and Matrix.zeros(X.local_n, k * L)          -- (Kα)_b as of each block's last visit
  local missed, size = {}, 0                                        -- squares of residuals and targets of this epoch

  local function own(A, l) return A:cols((l - 1) * k + 1, l * k) end  -- the columns of λ_l

  local function update(I, done)
    local K_b, S_b = kbcd.KernelBlock(X, I, o.kernel), kbcd.Selector(n, I)
    local R, Y_b, alpha_b = kbcd.allreduce(K_b:t() * alpha, S_b:t() * Y, S_b:t() * alpha)
    local K_bb, Delta, residual = K_b:rows(I), Matrix.zeros(#I, k * L), {}
    local fit = F and R:clone()
    size = (done == 1 and 0 or size) + Y_b:norm() ^ 2
    for l, lambda in ipairs(o.lambdas) do
      local H = K_bb:to("f64"):add_diagonal(n * lambda)
      local P = Y_b - own(R, l):add(own(alpha_b, l), n * lambda)
      own(Delta, l):copy(kbcd.local_solve(H, P, { jitter = o.jitter }))
      missed[l] = (done == 1 and 0 or missed[l]) + P:norm() ^ 2
      residual[l] = math.sqrt(missed[l] / size)
    end
    alpha:add(S_b * kbcd.bcast(Delta))  -- rank 0's, so that rounding never parts the ranks
    if F then F:sub(S_b * (S_b:t() * F)):add(S_b * fit:add(K_bb:to("f64") * Delta)) end
    return Delta, alpha_b, residual
  end

  -- f(x) = K(x, [n]) α
  return steps("full_kernel", o, n, update, kbcd.path{
    lambdas = o.lambdas, k = k, d = X.d, coefficients = alpha, count = n, b = o.b, test = o.test,
    block = function(Z, I) return kbcd.KernelBlock(Z, I, o.kernel, { centers = X }) end,
    rows = function(C, I) return kbcd.allreduce(kbcd.Selector(n, I):t() * C) end,
    fitted = function() return F or error("full_kernel: fitted() needs the option fitted = true", 4) end,
  })
end
