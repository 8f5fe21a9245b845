-- width_search(X, Y, L, o): the width and the λ of the least leave-one-out error, of the full kernel of some rows in the
-- metric L. It climbs from o.width and o.lambda by factors of 2 and 10, to the best of their neighbours, until none is
-- better. With A = K + nλI = C Cᵀ and α = A⁻¹Y, the residual of a row that is left out is α_i / (A⁻¹)_ii, and (A⁻¹)_ii is the
-- squared length of column i of C⁻¹.
--
-- o: kernel (of width 1), width (in median distances of the rows x L), lambda, seed. Gives { width, lambda, error (the root
-- mean square of the residuals), residuals, scale (L over the width), X (the rows x scale), coefficients, best = 1 }, as
-- metric_round.next_metric takes it.

local kbcd = require "kbcd"
local metric = require "kbcd.data.metric"
local metric_round = require "kbcd.solvers.metric_round"
local inverse_diagonal = require "kbcd.solvers.inverse_diagonal"
local Index = kbcd.Index

local widths, lambdas = { least = 2 ^ -5, most = 2 ^ 6 }, { least = 1e-9, most = 10 }

-- f(λ) for one width: its fit.
local function fits_of(X, Y, scale, kernel)
  local U = metric.apply(scale, X)
  local K, all = kbcd.KernelMatrix(U, nil, kernel):square():to("f64"), kbcd.gather(Y)
  local mine = Index.range(X.first, X.first + X.local_n - 1)
  return function(lambda)
    local factor = kbcd.chol(K:clone():add_diagonal(X.n * lambda), { jitter = true })
    local alpha = factor:solve(all):take(mine)
    local residuals = alpha:clone():cdiv(inverse_diagonal(factor.lower, X.first, X.first + X.local_n - 1))
    return { scale = scale, X = U, coefficients = alpha, residuals = residuals, best = 1, lambda = lambda,
      error = metric_round.errors(X, { residuals })[1] }
  end
end

return function(X, Y, L, o)
  local median = metric_round.median(metric.apply(L, X), o.kernel, o.seed)
  local at_width, seen = {}, {}

  local function at(width, exponent)
    local lambda = 10 ^ exponent
    if width < widths.least or width > widths.most or lambda < lambdas.least * 0.99 or lambda > lambdas.most * 1.01 then
      return { error = math.huge }
    end
    local key = ("%g %d"):format(width, exponent)
    if not seen[key] then
      at_width[width] = at_width[width] or fits_of(X, Y, L * (1 / (median * width)), o.kernel)
      seen[key] = at_width[width](lambda)
      seen[key].width, seen[key].exponent = width, exponent
    end
    return seen[key]
  end

  local best = at(o.width, math.floor(math.log10(o.lambda) + 0.5))
  local steps = { { 1, -1 }, { 1, 1 }, { 0.5, 0 }, { 2, 0 }, { 2, -1 }, { 0.5, 1 } }
  local improved = true
  while improved do
    improved = false
    for _, step in ipairs(steps) do
      local other = at(best.width * step[1], best.exponent + step[2])
      if other.error < best.error * 0.999 then best, improved = other, true break end
    end
  end
  return best
end
