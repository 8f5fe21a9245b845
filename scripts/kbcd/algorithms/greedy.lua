-- greedy: block descent on A α = Y, A = K + nλI, that takes the block with the largest residual next (alternating projection,
-- after Wu, Wenger, Jones, Pleiss and Gardner 2024). With R = Y − A α kept, for the block I of a fixed partition with the
-- largest |R_I|,
--
--     Δ = A_II⁻¹ R_I,     α_I ← α_I + Δ,     R ← R − A_:I Δ.
--
-- Factors are kept, and blocks as far as the memory budget goes: all n rows of each, since any block can be next. An epoch is
-- as many steps as there are blocks. With several λ, |R_I| is that of all of them together.

local kbcd = require "kbcd"
local Matrix, Selector, allreduce = kbcd.Matrix, kbcd.Selector, kbcd.allreduce

return kbcd.algorithm("greedy", {
  "greedy blocks: the exact kernel machine by block descent, the block with the largest residual next",
  kernel = "kernel", partition = { choices = { "fixed", "fresh" } }, epochs = 20,
}, function(X, Y, o, run)
  local n, lambda, nl = X.n, o.lambda, X.n * o.lambda
  local alpha = run.kernel_model(o.kernel).coefficients
  local R = run.distributed("R", lambda:each(Y))

  return {
    residual = R,
    system = function(K_b) return K_b:square() + nl end,
    choose = function(c)
      local rows, sizes, best = R:clone():square():sum(2), Matrix.zeros(1, #c.blocks), 1
      for i, I in ipairs(c.blocks) do sizes:set(1, i, rows:take(X:local_rows(I)):sum()) end
      allreduce(sizes)
      for i = 2, #c.blocks do if sizes(1, i) > sizes(1, best) then best = i end end
      return best
    end,
    step = function(I, K_b, solve)
      local S_b = Selector(n, I)
      local Delta = solve(allreduce(S_b:t() * R))
      alpha:add(S_b * Delta)
      R:sub(K_b * Delta):sub(S_b * (nl * Delta))
      return Delta
    end,
    fitted = function(E) return lambda:each(Y) - E - nl * alpha end,
  }
end, { least_squares = true })
