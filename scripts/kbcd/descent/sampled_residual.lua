-- sampled_residual(run): a function that estimates, for each λ, what a model of all rows leaves of its equations,
--
--     |Y − (K + nλI) α| / |Y|,     from the rows S:  √(n/m) |Y_S − K(S, [n]) α − nλ α_S| / |Y|,
--
-- where S are m random rows, the same in each epoch; all of them where n <= m, and then it is exact. It is for methods that
-- keep no residual: a row costs n kernel values, once where they fit in memory. Every rank calls it.

local kbcd = require "kbcd"
local streams = require "kbcd.support.streams"

local most_rows = 512  -- the estimate is off by some per cent

return function(run)
  local X, o, lambda, model = run.X, run.o, run.lambda, run.model
  local S = kbcd.Index.sample(X.n, math.min(most_rows, X.n), { seed = o.seed, stream = streams.residual })
  local S_S, K_S = kbcd.Selector(X.n, S), nil
  return function(size_of_Y)
    K_S = K_S or model:block(S, nil, o.epochs > 1 and o.keep or "none")
    local alpha = model.coefficients
    local K_alpha, Y_S, alpha_S = kbcd.allreduce(K_S:t() * alpha, S_S:t() * run.Y, S_S:t() * alpha)
    local R, list = lambda:each(Y_S) - K_alpha - (X.n * lambda) * alpha_S, {}
    for l, R_l in ipairs(lambda:split(R)) do
      list[l] = R_l:norm() * math.sqrt(X.n / #S / math.max(size_of_Y, 1e-300))
    end
    return list
  end
end
