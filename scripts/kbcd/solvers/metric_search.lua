-- metric_search(run, X, Y, o): rounds of the recursive feature machine (metric_round.lua) for several kernels, each with a
-- metric of its own, on rows X with targets Y; the state of a run. o: kernels, unit (of widths, see metric_round), lambda,
-- diagonal, root, search, seed.
--
--     search.round()     one round of each kernel; gives the fit, if it has less error than all before
--     search.kernel()    the kernel of the least leave-one-out error so far, and its metric L, with the width in it
--     search.errors      1 x L, for each λ: the leave-one-out errors of that

local kbcd = require "kbcd"
local metric_round = require "kbcd.solvers.metric_round"
local Matrix = kbcd.Matrix

return function(run, X, Y, o)
  local lambda, chains = o.lambda, {}
  local best = run.replicated("best", Matrix{ { math.huge, 1 } })         -- the least error, and its kernel
  local errors = run.replicated("errors", Matrix.full(1, lambda.count, math.huge))
  for i, kernel in ipairs(o.kernels) do
    local alone = o.diagonal or kernel.metric == "manhattan"
    local L = alone and Matrix.full(X.d, 1, 1) or Matrix.eye(X.d)
    chains[i] = { kernel = kernel, L = run.replicated("L" .. i, L), kept = run.replicated("kept" .. i, L:clone()),
      width = run.replicated("width" .. i, Matrix.full(1, 1, 1)) }
  end
  local search = { errors = errors }

  function search.kernel()
    local chain = chains[best(1, 2)]
    return chain.kernel, chain.kept
  end

  function search.round()
    local found
    for i, chain in ipairs(chains) do
      local kernel = chain.kernel
      local fit = metric_round.fit(X, Y, chain.L, { kernel = kernel, lambda = lambda.values, seed = o.seed, unit = o.unit,
        width = chain.width(1, 1), search = o.search })
      chain.width:fill(fit.width)
      if fit.error < best(1, 1) then
        found = fit
        best:copy(Matrix{ { fit.error, i } })
        errors:copy(Matrix{ fit.errors })
        chain.kept:copy(fit.scale)
      end
      local L = metric_round.next_metric(fit, { kernel = kernel, k = lambda.k, root = o.root })
      if L then chain.L:copy(L) end
    end
    return found
  end

  return search
end
