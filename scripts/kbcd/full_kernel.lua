-- full_kernel: the paper's Algorithm 1, corrected. Block Gauss–Seidel on (K + nλI) α = Y: for a block I of rows, with
-- K_b = K([n], I) and K_bb = K(I, I),
--
--     solve (K_bb + nλ I_b) Δ = Y_b − K_bᵀ α − nλ α_b,     α_b ← α_b + Δ
--
-- which is the printed update written for the change Δ. α is n x k, each rank holds its own rows; with several λ the
-- models lie side by side in one n x (kL) matrix and share every K_b.

local kbcd = require "kbcd"
local options, steps = require "kbcd.options", require "kbcd.steps"
local Matrix, Index = kbcd.Matrix, kbcd.Index

kbcd.system.docs.full_kernel = [[full_kernel(X, Y, options)
An iterator of block steps of the full kernel machine (Algorithm 1). options: kernel; lambdas (a number or a list);
b = 2048 (block size, at most n); epochs = 1; partition = "fresh" (anew each epoch) or "fixed" (as in the paper);
tol = 0 (stop after the epoch in which the model changed by no more, relatively); jitter = false; seed.
for step in full_kernel(X, Y, o) do … step.epoch, step.block, step.epoch_end, step.change, step.model[1]:predict(Xtest) end]]

return function(X, Y, given)
  Y = kbcd.targets("full_kernel", X, Y)
  local o = options.read("full_kernel", given, {
    kernel = { options.kernel }, lambdas = { options.lambdas }, b = { options.count, math.min(2048, X.n) },
    epochs = { options.count, 1 }, tol = { options.not_negative, 0 }, jitter = { options.flag, false },
    partition = { options.one_of("fresh", "fixed"), "fresh" }, seed = { options.seed, kbcd.seed() },
  })
  local n, k, L = X.n, Y.ncols, #o.lambdas
  if o.b > n then error(("full_kernel: b = %d is larger than n = %d"):format(o.b, n), 2) end
  local alpha = Matrix.zeros(X.rows.nrows, k * L)

  local function own(A, l) return A:cols((l - 1) * k + 1, l * k) end  -- the columns of λ_l

  local function update(I)
    local K_b, S_b = kbcd.KernelBlock(X, I, o.kernel), kbcd.Selector(n, I)
    local R, Y_b, alpha_b = kbcd.allreduce(K_b:t() * alpha, S_b:t() * Y, S_b:t() * alpha)
    local K_bb, Delta, squares = K_b:rows(I), Matrix.zeros(#I, k * L), {}
    for l, lambda in ipairs(o.lambdas) do
      local H = K_bb:to("f64"):add_diagonal(n * lambda)
      local P = Y_b - own(R, l):add(own(alpha_b, l), n * lambda)
      own(Delta, l):copy(kbcd.local_solve(H, P, { jitter = o.jitter }))
      squares[l] = { own(Delta, l):norm() ^ 2, own(alpha_b, l):add(own(Delta, l)):norm() ^ 2 }
    end
    alpha:add(S_b * Delta)
    return squares
  end

  -- f(x) = K(x, [n]) α, a block of centres at a time.
  local function scores(Xtest, columns)
    local F = Matrix.zeros(Xtest.rows.nrows, columns.ncols)
    for _, I in ipairs(Index.range(1, n):partition(o.b)) do
      local K_t = kbcd.KernelBlock(Xtest, I, o.kernel, { centers = X })
      F:add(K_t * kbcd.allreduce(kbcd.Selector(n, I):t() * columns))
    end
    return F
  end

  return steps("full_kernel", o, n, update, kbcd.path(o.lambdas, k, scores, alpha))
end
