-- full_kernel: the paper's Algorithm 1, corrected. Block Gauss–Seidel on (K + nλI) α = Y: for a block I of rows,
--
--     α_I ← (K(I,I) + nλ I)⁻¹ (Y_I − Σ_J K(I,J) α_J),     J the other blocks.
--
-- K is symmetric, so K(J,I) serves twice: with J later in the epoch's order than I, for what α_J of the last epoch gives I
-- now, and for what the new α_I will give J. With T = K(later, I), generated once, and l collecting the latter,
--
--     α_I ← (K(I,I) + nλ I)⁻¹ (Y_I − l_I − Tᵀ α_later),     l_later ← l_later + T α_I
--
-- are the same iterates for half the kernel. α and l are n x k, each rank holds its own rows.
--
-- Where K stays in memory (partition = "regrouped"), as one triangle of tiles, a block of tiles K_b = K([n], I) gives all of
-- K(I, [n]) α, and
--
--     α_I ← α_I + (K(I,I) + nλ I)⁻¹ (Y_I − K_bᵀ α − nλ α_I)
--
-- are the same iterates again. Each epoch makes its blocks of other tiles, which converges faster than fixed blocks.

local kbcd = require "kbcd"
local Matrix, Selector, allreduce = kbcd.Matrix, kbcd.Selector, kbcd.allreduce

return kbcd.algorithm("full_kernel", {
  "full kernel: the exact kernel machine on all rows, by block Gauss-Seidel (the paper's Algorithm 1)",
  kernel = "kernel", partition = "regrouped",
}, function(X, Y, o, run)
  local n, lambda = X.n, o.lambda
  local nl = n * lambda
  local alpha = run.kernel_model(o.kernel).coefficients          -- f(x) = K(x, [n]) α

  local function system(T) return T:square() + nl end
  local function fitted() return lambda:each(Y) - nl * alpha end   -- of a block, after its step

  if o.partition == "regrouped" then
    return {
      system = system, fitted = fitted,
      step = function(I, K_b, solve)
        local S_b = Selector(n, I)
        local Delta = solve(allreduce(lambda:each(S_b:t() * Y) - nl * (S_b:t() * alpha) - K_b:t() * alpha))
        alpha:add(S_b * Delta)
        return Delta
      end,
    }
  end

  local l = run.distributed("l", Matrix.zeros(X.local_n, run.columns))
  return {
    later = true, system = system, fitted = fitted,
    start_epoch = function() l:fill(0) end,
    step = function(I, T, solve, here)                           -- here: this rank's rows of `later`
      local S_b = Selector(n, I)
      local right, alpha_b = allreduce(lambda:each(S_b:t() * Y) - S_b:t() * l - T:t() * alpha:take(here), S_b:t() * alpha)
      local Delta = solve(right, alpha_b)                        -- H⁻¹ right − α_I
      alpha:add(S_b * Delta)
      l:add_rows(here, T * (alpha_b + Delta))
      return Delta
    end,
  }
end, { least_squares = true, suits = function(case)
  local fits = case.fits(case.n ^ 2 / 2) and case.seconds(case.n ^ 2 / 2) < 600
  return fits and 4 or 0, fits and "the kernel of all rows fits in memory" or "the exact kernel machine"
end })
