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

  -- For each λ, what α leaves of its equations on the rows of S, computed anew: rounding leads the residual of conjugate
  -- gradients away from it. A = K α.
  local function left_over(S, alpha, A)
    local R, list = (lambda:each(Y) - A - nl * alpha):cmul(S), {}
    local squares, size = allreduce(R:dots(R), lambda:each(Y):cmul(S):square():sum(1))
    for l = 1, lambda.count do
      list[l] = 0
      for j = 1, Y.ncols do
        local at = (l - 1) * Y.ncols + j
        list[l] = math.max(list[l], math.sqrt(squares(1, at) / math.max(size(1, at), 1e-300)))
      end
    end
    return list
  end

  local S, count = mask(X, o.seed)
  local alpha = solve(S)
  local A = K * alpha
  local errors = metric_round.errors({ n = count }, lambda:split((lambda:each(Y) - A):cmul(1 - S)))
  local first, all = left_over(S, alpha, A), Matrix.full(X.local_n, 1, 1)
  alpha = solve(all, alpha)
  local second, zero = left_over(all, alpha, K * alpha), metric_round.errors(X, { Y })[1]
  for l = 1, lambda.count do  -- a λ that is not solved is no choice: its error is that of f = 0
    local left = math.max(first[l], second[l])
    if left > 10 * o.tol or left ~= left then errors[l] = math.max(errors[l], zero) end
  end
  K:release()
  return alpha, errors
end
