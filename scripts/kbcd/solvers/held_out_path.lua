-- held_out_path(X, Y, o): (K + nλI) α = Y of all rows for each λ, and the error of each λ on held-out rows, from one kernel
-- matrix. With S the rows that are not held out, conjugate gradients solve S (K + nλI) S α = S Y first, which gives
-- Y − K α on the others; then the system of all rows, from there. Preconditioner: F Fᵀ + nλI by randomly pivoted Cholesky.
--
-- o: kernel, lambda (of an algorithm), seed, tol, iterations, keep. Gives this rank's rows of α, and the errors.

local kbcd = require "kbcd"
local metric_round = require "kbcd.solvers.metric_round"
local streams = require "kbcd.support.streams"
local Matrix, Index, allreduce = kbcd.Matrix, kbcd.Index, kbcd.allreduce

local share, most_rank = 0.1, 1000

-- 1 at this rank's rows that are not held out, 0 at the others.
local function mask(X, seed)
  local count = math.max(1, math.floor(share * X.n))
  local I = Index.permutation(X.n, { seed = seed, stream = streams.hold_out }):slice(1, count)
  return Matrix.full(X.local_n, 1, 1):sub(kbcd.Selector(X.n, I) * Matrix.full(#I, 1, 1)), count
end

return function(X, Y, o)
  local lambda, nl = o.lambda, X.n * o.lambda
  local K = kbcd.KernelMatrix(X, nil, o.kernel, { keep = o.keep, seed = o.seed })
  local _, F = kbcd.centers.rpcholesky(X, math.min(most_rank, math.ceil(X.n / 4)), o.kernel, { factor = true, seed = o.seed })

  -- Solves on the rows of S, from a start.
  local function solve(S, start)
    local F_S, factors = F:clone():cmul(S), {}
    local G = allreduce(F_S:gram())
    for l = 1, lambda.count do factors[l] = kbcd.chol(G:clone():add_diagonal(nl[l]), { jitter = true }) end
    return kbcd.conjugate_gradients{ right = lambda:each(Y):cmul(S), start = start, tol = o.tol, iterations = o.iterations,
      distributed = true,
      times = function(D) return (K * D):cmul(S):add(nl * D) end,
      precondition = function(R)
        local B = allreduce(F_S:t() * R)
        for l, factor in ipairs(factors) do lambda:columns(B, l):copy(factor:solve(lambda:columns(B, l))) end
        return R - F_S * B
      end }:solve()
  end

  local S, count = mask(X, o.seed)
  local alpha, step = solve(S)
  local left = (lambda:each(Y) - K * alpha):cmul(1 - S)
  local errors = metric_round.errors({ n = count }, lambda:split(left))
  local first = step.residuals:clone()
  alpha, step = solve(Matrix.full(X.local_n, 1, 1), alpha)
  local zero = metric_round.errors(X, { Y })[1]
  for l = 1, lambda.count do  -- a λ that is not solved is no choice: its error is that of f = 0
    local left_over = math.max(lambda:columns(first, l):max(), lambda:columns(step.residuals, l):max())
    if left_over > 100 * o.tol or left_over ~= left_over then errors[l] = math.max(errors[l], zero) end
  end
  K:release()
  return alpha, errors
end
