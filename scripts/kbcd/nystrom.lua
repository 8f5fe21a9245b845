-- nystrom: the paper's Algorithm 2, corrected. Block coordinate descent on the normal equations of p Nyström centres J,
-- (K_JᵀK_J + nλ K_JJ + nλγ I) α = K_JᵀY: for a block I of J, with K_b = K([n], I) and S_b the selector of rows I,
--
--     solve (K_bᵀK_b + nλ K_bb + nλγ I_b) Δ = K_bᵀE − nλγ α_b,     α_b ← α_b + Δ,     E ← E − (K_b + nλ S_b) Δ
--
-- where E = Y − (K_J + nλ S_J) α is kept. α is p x k on every rank; E is n x k, each rank holds its own rows. With several
-- λ the models lie side by side and share every block and Gram. The Gram is in f64: in f32 it costs accuracy.

local kbcd = require "kbcd"
local options, steps = require "kbcd.options", require "kbcd.steps"
local Matrix, Index = kbcd.Matrix, kbcd.Index

kbcd.system.docs.nystrom = [[nystrom(X, Y, options)
An iterator of block steps of Nyström kernel regression (Algorithm 2). options: kernel; lambdas (a number or a list);
p (centres, at most n); b = min(2048, p) (block size); gamma = 0 (stabiliser); epochs = 1; partition = "fixed" or "fresh";
tol = 0; jitter = false (true: add a growing multiple of I to a block that is not positive definite); seed.]]

return function(X, Y, given)
  Y = kbcd.targets("nystrom", X, Y)
  local o = options.read("nystrom", given, {
    kernel = { options.kernel }, lambdas = { options.lambdas }, p = { options.count },
    b = { options.count, math.min(2048, tonumber(given and given.p) or 1) }, gamma = { options.not_negative, 0 },
    epochs = { options.count, 1 }, tol = { options.not_negative, 0 }, jitter = { options.flag, false },
    partition = { options.one_of("fixed", "fresh"), "fixed" }, seed = { options.seed, kbcd.seed() },
  })
  local n, k, L = X.n, Y.ncols, #o.lambdas
  if o.p > n then error(("nystrom: p = %d is larger than n = %d"):format(o.p, n), 2) end
  if o.b > o.p then error(("nystrom: b = %d is larger than p = %d"):format(o.b, o.p), 2) end
  local J = Index.sample(n, o.p, { seed = o.seed, stream = 1 })
  local alpha, E = Matrix.zeros(o.p, k * L), kbcd.repeat_columns(Y, L)

  local function own(A, l) return A:cols((l - 1) * k + 1, l * k) end  -- the columns of λ_l

  local function update(B)
    local I = J:take(B)
    local K_b, S_b = kbcd.KernelBlock(X, I, o.kernel), kbcd.Selector(n, I)
    local G, P = kbcd.allreduce(K_b:gram("f64"), K_b:t() * E)
    local K_bb, alpha_b, Delta, squares = K_b:rows(I), alpha:take(B), Matrix.zeros(#B, k * L), {}
    local SDelta = Matrix.zeros(#B, k * L)  -- nλ Δ, each λ with its own
    for l, lambda in ipairs(o.lambdas) do
      local H = G:clone():add(K_bb, n * lambda):add_diagonal(n * lambda * o.gamma)
      own(P, l):add(own(alpha_b, l), -n * lambda * o.gamma)
      own(Delta, l):copy(kbcd.local_solve(H, own(P, l), { jitter = o.jitter }))
      own(SDelta, l):copy(own(Delta, l)):scale(n * lambda)
      squares[l] = { own(Delta, l):norm() ^ 2, own(alpha_b, l):add(own(Delta, l)):norm() ^ 2 }
    end
    alpha:add_rows(B, Delta)
    E:sub(K_b * Delta):sub(S_b * SDelta)
    return squares
  end

  -- f(x) = K(x, J) α
  local function scores(Xtest, columns)
    local F = Matrix.zeros(Xtest.rows.nrows, columns.ncols)
    for _, B in ipairs(Index.range(1, o.p):partition(o.b)) do
      F:add(kbcd.KernelBlock(Xtest, J:take(B), o.kernel, { centers = X }) * columns:take(B))
    end
    return F
  end

  return steps("nystrom", o, o.p, update, kbcd.path(o.lambdas, k, scores, alpha))
end
