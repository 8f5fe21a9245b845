-- metric_round: one round of the recursive feature machine on some rows, with the full kernel of these rows:
--
--     fit(X, Y, L, …)        α = (K_M + nλI)⁻¹Y for M = L Lᵀ over all λ and a few widths, with leave-one-out errors
--     next_metric(fit, …)    L of the next round, L Lᵀ = G / max|G| or G^(1/2) / max|G^(1/2)|, with
--                            G = (1/m) Σ_i Σ_c ∇f_c(x_i) ∇f_c(x_i)ᵀ at the λ and the width of the least error
--
-- The width is part of the metric: rows become x L / s, for a kernel of fixed width; s is a multiple of the median distance
-- of the rows x L.

local kbcd = require "kbcd"
local metric = require "kbcd.data.metric"
local inverse_diagonal = require "kbcd.solvers.inverse_diagonal"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local metric_round = {}

local most, least = 2 ^ 8, 2 ^ -5  -- widths

-- The root mean square of residuals, for each λ.
function metric_round.errors(X, residuals)
  local squares = Matrix.zeros(1, #residuals)
  for l, R in ipairs(residuals) do squares:set(1, l, R:norm() ^ 2) end
  kbcd.allreduce(squares)
  local list = {}
  for l, R in ipairs(residuals) do list[l] = math.sqrt(squares(1, l) / (X.n * R.ncols)) end
  return list
end

-- The fit of one width s: { scale = L / s, X (in that metric), coefficients, errors, best (which λ), error }.
-- With A = K + nλI = C Cᵀ, of a few λ by Cholesky's factors, which take less time than eigenvalues: the residual of a row
-- that is left out is α_i / (A⁻¹)_ii, and (A⁻¹)_ii is the squared length of column i of C⁻¹.
local function fit_of(X, Y, scale, o)
  local U = metric.apply(scale, X)
  local K, all = kbcd.KernelMatrix(U, nil, o.kernel):square():to("f64"), kbcd.gather(Y)
  local mine = Index.range(X.first, X.first + X.local_n - 1)
  local residuals, coefficients = {}, {}
  for l, lambda in ipairs(o.lambda) do
    local factor = kbcd.chol(K:clone():add_diagonal(X.n * lambda), { jitter = true })
    coefficients[l] = factor:solve(all):take(mine)
    residuals[l] = coefficients[l]:clone():cdiv(inverse_diagonal(factor.lower, X.first, X.first + X.local_n - 1))
  end
  local errors = metric_round.errors(X, residuals)
  local best = kbcd.scoring.best(errors)
  return { scale = scale, X = U, coefficients = Matrix.hcat(coefficients), errors = errors, best = best,
    error = errors[best] }
end

-- The median distance in a kernel's own metric.
function metric_round.median(X, kernel, seed)
  return kbcd.median_distance(X, { seed = seed, metric = kernel.metric == "manhattan" and "manhattan" or nil })
end

-- o: kernel, lambda (a list), seed, unit (the median distance that the rows get for a width of 1), width (where the search
-- begins), search (whether to try others: twice and half of the best so far, until neither is better). Gives the best fit,
-- with its width.
function metric_round.fit(X, Y, L, o)
  local median = metric_round.median(metric.apply(L, X), o.kernel, o.seed)
  local seen = {}
  local function at(width)
    if width > most or width < least then return { error = math.huge } end
    seen[width] = seen[width] or fit_of(X, Y, L * (o.unit / (median * width)), o)
    seen[width].width = width
    return seen[width]
  end
  local best = at(o.width)
  while o.search do
    local other = at(best.width * 2)
    if other.error >= best.error then other = at(best.width / 2) end
    if other.error >= best.error then break end
    best = other
  end
  return best
end

-- V diag(v^power) Vᵀ of a positive semidefinite matrix.
local function power_of(G, power)
  local values, V = G:eig()
  return V:clone():cmul(values:clamp(0, math.huge):pow(power):t()) * V:t()
end

-- o: kernel, k, root. nil where the gradients vanish.
function metric_round.next_metric(fit, o)
  local X, L = fit.X, fit.scale
  local alpha = fit.coefficients:cols((fit.best - 1) * o.k + 1, fit.best * o.k)
  local G, diagonal = 0, L.ncols == 1
  for _, g in ipairs(kbcd.kernel_gradient(X, alpha, X, o.kernel)) do
    G = G + (diagonal and g:square():sum(1):t():clone() or g:gram())        -- in the metric: ∇_u f, with ∇_x f = L ∇_u f
  end
  if not diagonal then G = L * G * L:t() else G:cmul(L:clone():square()) end
  local largest = G:clone():abs():max()
  if not (largest > 0 and largest < math.huge) then return nil end
  G:scale(1 / largest)
  local power = o.root and 0.25 or 0.5                                      -- L of M = L Lᵀ
  local next_L = diagonal and G:clamp(0, math.huge):pow(power) or power_of(G, power)
  local size = metric.diagonal(next_L):max()
  return next_L:scale(1 / math.sqrt(size))
end

return metric_round
