-- The paper's Algorithm 1 as it is printed (corrected), on the public contract: every block makes the whole K([n], I). The
-- oracle of full_kernel, which makes half of it.

local kbcd = require "kbcd"
local Selector, allreduce = kbcd.Selector, kbcd.allreduce

return kbcd.algorithm("plain_kernel", {
  "plain kernel: block Gauss-Seidel on all rows", kernel = "kernel", partition = "fresh",
}, function(X, Y, o, run)
  local n, lambda = X.n, o.lambda
  local model = run.kernel_model(o.kernel)
  local alpha = model.coefficients
  local function others(I) return kbcd.Index.range(1, n):without(I) end
  return {
    block = function(I) return model:block(I, others(I)) end,
    system = function(K_b) return K_b:square() + n * lambda end,
    step = function(I, K_b, solve)
      local S_b = Selector(n, I)
      local R, Y_b, alpha_b = allreduce(K_b:t() * alpha:take(X:local_rows(others(I))), S_b:t() * Y, S_b:t() * alpha)
      local Delta = solve(lambda:each(Y_b) - R, alpha_b)
      alpha:add(S_b * Delta)
      return Delta
    end,
    fitted = function() return lambda:each(Y) - n * lambda * alpha end,
  }
end)
