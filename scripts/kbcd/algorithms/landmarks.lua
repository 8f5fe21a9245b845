-- landmarks: block Gauss–Seidel on (K + nλI) α = Y after the elimination of d landmarks S, after Lok and Rebrova (2025). With
-- A = K + nλI, L Lᵀ = A_SS, W = L⁻¹ A_SJ, a step on a block J of the other rows is
--
--     (A_JJ − WᵀW) Δ = Y_J − A_J: α,     α_J ← α_J + Δ,     α_S ← α_S − L⁻ᵀ W Δ,
--
-- so that the landmarks' equations A_S: α = Y_S hold throughout. This is the step of block descent on J and S together, which
-- costs about as much for d = b, and whose systems the driver factors ahead:
--
--     ⎛A_SS  A_SJ⎞ ⎛α_S⎞     ⎛Y_S − A_S,others α_others⎞     ⎛(A_SS α_S + A_SJ α_J) before the step⎞
--     ⎝A_JS  A_JJ⎠ ⎝α_J⎠  ←  ⎝Y_J − A_J,others α_others⎠  =  ⎝Y_J − l_J − Tᵀ α_later               ⎠
--
-- with T = K(later, J) and l as in full_kernel.lua: half the kernel is computed in an epoch, and S of every block. Each epoch
-- begins with α_S = A_SS⁻¹ (Y_S − A_S,others α_others). It pays where the kernel is not kept.

local kbcd = require "kbcd"
local Matrix, Index, Selector, allreduce = kbcd.Matrix, kbcd.Index, kbcd.Selector, kbcd.allreduce

return kbcd.algorithm("landmarks", {
  "landmark elimination: the exact kernel machine by block Gauss-Seidel, each block together with d landmarks",
  kernel = "kernel", partition = { choices = { "fresh", "fixed" } },
  d = { "count", "the number of landmarks", default = function(X, o) return math.min(o.b or 2048, X.n) end },
}, function(X, Y, o, run)
  local n, d, b, lambda, nl = X.n, o.d, math.min(o.b or 2048, X.n), o.lambda, X.n * o.lambda
  if d > n then error(("landmarks: d = %d is larger than n = %d"):format(d, n), 0) end
  local model = run.kernel_model(o.kernel, nil,
    8 * ((1 + lambda.count) * kbcd.threads() * ((b + d) ^ 2 - b ^ 2) + 2 * d ^ 2))
  local alpha, l = model.coefficients, run.distributed("l", Matrix.zeros(X.local_n, run.columns))
  local S = Index.sample(n, d, { seed = o.seed, stream = 1 })
  local S_S, K_S = Selector(n, S), model:block(S)
  local K_SS = K_S:square()

  return {
    later = true, dense = true,
    start_epoch = function()
      l:fill(0)
      local R, Y_S, alpha_S = allreduce(K_S:t() * alpha, S_S:t() * Y, S_S:t() * alpha)
      R = lambda:each(Y_S) - R - nl * alpha_S
      for i, r in ipairs(lambda:split(R)) do
        r:copy(kbcd.chol(K_SS:to("f64"):add_diagonal(nl[i]), { jitter = o.jitter }):solve(r))
      end
      alpha:add(S_S * R)
      K_S:release()
    end,
    block = function(B, later)
      local J, rest = B:without(S), later:without(S)
      if #J == 0 then return { square = function() return K_SS end, release = function() end } end
      local K_J, T = model:block(J), model:block(J, rest)
      local K_SJ = K_J:rows(S)
      local function square()                                    -- K_UU of U = S ∪ J
        local u, K_UU = d + #J, Matrix.zeros(d + #J, d + #J, X.dtype)
        K_UU:block(1, d, 1, d):copy(K_SS)
        K_UU:block(1, d, d + 1, u):copy(K_SJ)
        K_UU:block(d + 1, u, 1, d):copy(K_SJ:t())
        K_UU:block(d + 1, u, d + 1, u):copy(K_J:square())
        return K_UU
      end
      return { J = J, T = T, K_SJ = K_SJ, here = X:local_rows(rest), square = square, release = function() T:release() end }
    end,
    system = function(K_b) return K_b:square() + nl end,
    step = function(_, K_b, solve)
      local J, T, here = K_b.J, K_b.T, K_b.here
      if not J then return end                                   -- all of the block are landmarks
      local S_J = Selector(n, J)
      local R, l_J, Y_J, alpha_J, alpha_S = allreduce(T:t() * alpha:take(here), S_J:t() * l, S_J:t() * Y, S_J:t() * alpha,
        S_S:t() * alpha)
      local right_S = K_SS * alpha_S + nl * alpha_S + K_b.K_SJ * alpha_J
      local Delta = solve(Matrix.vcat{ right_S, lambda:each(Y_J) - R - l_J }, Matrix.vcat{ alpha_S, alpha_J })
      local Delta_J = Delta:rows(d + 1, d + #J)
      alpha:add(S_S * Delta:rows(1, d)):add(S_J * Delta_J)
      l:add_rows(here, T * (alpha_J + Delta_J))
    end,
    fitted = function() return lambda:each(Y) - nl * alpha end,  -- of the landmarks and of a block, after its step
  }
end, { least_squares = true, suits = function(case)
  return case.seconds(case.n ^ 2 / 2) < 120 and 3 or 0, "the kernel of all rows does not fit in memory"
end })
