-- cdpp: block descent on A α = Y, A = K + nλI, with momentum that tunes itself, after CD++ (Dereziński, Needell, Rebrova and
-- Yang 2025). For a block I of rows,
--
--     Δ = A_II⁻¹ (Y_I − A_I: α),     z ← ζ (z − S_I Δ),     α ← α + S_I Δ − (b / 2n) z.
--
-- ζ is 0 at first. Every 2m steps, m = ⌈n/b⌉ + 1, with q the sum of |Y_I − A_I: α|² of the last m steps over that of the m
-- before, a step has left q^(1/m) = 1 − r of it, and ζ = (1 − r) / (1 + r); 0 if it has grown. Each λ has its own ζ. All of α
-- changes in a step, so that a block needs all n rows of its columns of K: it pays where K is kept, as a triangle of tiles.

local kbcd = require "kbcd"
local Matrix, Selector, allreduce = kbcd.Matrix, kbcd.Selector, kbcd.allreduce

return kbcd.algorithm("cdpp", {
  "CD++: the exact kernel machine by block descent with momentum that tunes itself",
  kernel = "kernel", partition = "regrouped", epochs = 20,
}, function(X, Y, o, run)
  local n, lambda, nl = X.n, o.lambda, X.n * o.lambda
  local alpha = run.kernel_model(o.kernel).coefficients
  local z = run.distributed("z", Matrix.zeros(X.local_n, run.columns))
  local zeta = run.replicated("zeta", Matrix.zeros(1, run.columns))
  local sizes = run.replicated("sizes", Matrix.zeros(2, lambda.count))  -- of m steps, and of the m after them
  local m = math.ceil(n / o.b) + 1

  local function tune(R)
    local at = (run.t - 1) % (2 * m)
    if at == 0 then sizes:fill(0) end
    for l, R_l in ipairs(lambda:split(R)) do
      local row = at < m and 1 or 2
      sizes:set(row, l, sizes(row, l) + R_l:norm() ^ 2)
      local q = sizes(2, l) / math.max(sizes(1, l), 1e-300)
      local left = q ^ (1 / m)                                          -- 1 − r
      if at == 2 * m - 1 then lambda:columns(zeta, l):fill(q < 1 and left / (2 - left) or 0) end
    end
  end

  return {
    dense = true,
    system = function(K_b) return K_b:square() + nl end,
    step = function(I, K_b, solve)
      local S_b = Selector(n, I)
      local R, alpha_b, Y_b = allreduce(K_b:t() * alpha, S_b:t() * alpha, S_b:t() * Y)
      R = lambda:each(Y_b) - R - nl * alpha_b
      local D = S_b * solve(R, Matrix.zeros(#I, run.columns))
      z:sub(D):cmul(zeta)
      alpha:add(D):add(z, -o.b / (2 * n))
      tune(R)
    end,
  }
end, { least_squares = true })
