-- rfm: the recursive feature machine (Radhakrishnan, Beaglehole, Pandit and Belkin 2024): kernel regression in a metric that
-- it learns, κ(x, z) = k(‖x − z‖_M), ‖v‖_M² = vᵀMv. From M = I, each round is
--
--     α = (K_M + nλI)⁻¹Y,     G = (1/m) Σ_i Σ_c ∇f_c(x_i) ∇f_c(x_i)ᵀ,     M = G^(1/2) / max|G^(1/2)|   (or G / max|G|)
--
-- on a sample of m rows, for all λ and several widths, whose leave-one-out errors are known in closed form
-- (metric_search.lua). The kernel, metric and width of the least error make the model. The last round fits it to all rows, by
-- conjugate gradients (held_out_path.lua), or to p centres; its own errors, left out or held out, choose λ. Without a
-- kernel, those of `candidates` are tried. A kernel of Manhattan distance has a diagonal metric: a width for each column.
-- Y is centred by its mean, which the model adds.

local kbcd = require "kbcd"
local metric_round = require "kbcd.solvers.metric_round"
local metric_search = require "kbcd.solvers.metric_search"
local held_out_path = require "kbcd.solvers.held_out_path"
local metric, Matrix, Index = kbcd.metric, kbcd.Matrix, kbcd.Index

local candidates = { kbcd.kernel.laplacian{ sigma = 1 }, kbcd.kernel.matern{ nu = 0.5, sigma = 1 },
  kbcd.kernel.matern{ nu = 1.5, sigma = 1 } }
local path = { 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9 }

return kbcd.algorithm("rfm", {
  "RFM: kernel regression in a metric that it learns, by the recursive feature machine",
  kernel = { "kernel", "the kernel (several are tried)", default = false },
  b = false, epochs = { "count", "rounds of learning", default = 4 },
  lambda = { "lambda", "the regulariser, or several to choose from", default = path },
  p = { "count", "the number of centres of the model (all rows)", default = false },
  sample = { "count", "learn the metric on so many rows", default = function(X) return math.min(X.n, 1500) end },
  diagonal = { "flag", "learn a width for each column alone, of any kernel" },
  root = { "flag", "false: M = G in place of its square root", default = true },
  search = { "flag", "false: try no other widths than the kernel's", default = true },
  accuracy = { "positive", "the relative residual to solve to, by conjugate gradients", default = 1e-4 },
  iterations = { "count", "of conjugate gradients, at most", default = 200 },
}, function(X, Y, o, run)
  if o.start then error("rfm: option start: it begins with the plain metric; --start and start are for other methods", 0) end
  local lambda, kernels, all = o.lambda, o.kernel and { o.kernel } or candidates, o.sample >= X.n
  local J = o.p and run.centers(o.p, kernels[1]) or nil
  local model = run.kernel_model(kernels[1], J, 32 * math.min(o.sample, X.n) ^ 2)
  local mean = kbcd.allreduce(Y:sum(1)):scale(1 / X.n)
  local T = Y:clone():sub(mean)
  local S = Index.sample(X.n, math.min(o.sample, X.n), { seed = o.seed }):sorted()
  local X_S, Y_S = X:subset(S), kbcd.DataSet.local_part(X.n, T):subset(S).rows
  local search = metric_search(run, X_S, Y_S, { kernels = kernels, lambda = lambda, diagonal = o.diagonal, root = o.root,
    search = o.search, seed = o.seed, unit = o.kernel and metric_round.median(X_S, o.kernel, o.seed) or 1 })
  local fitted = run.distributed("fitted", Matrix.zeros(X.local_n, run.columns))
  model.learned, model.offset = true, mean

  -- The model of all rows in the metric that was found.
  local function fit()
    if J then
      local left_out = kbcd.leave_one_out(model.X, T, { kernel = model.kernel, lambda = lambda.values, centers = J })
      return left_out.coefficients, metric_round.errors(X, left_out.residuals)
    end
    return held_out_path(model.X, T, { kernel = model.kernel, lambda = lambda, seed = o.seed, keep = o.keep,
      tol = o.accuracy, iterations = o.iterations })
  end

  return {
    weights = false, targets = false,
    fitted = function() return fitted end,
    errors = function() return search.errors:totable()[1] end,
    iterate = function(t)
      local found, alpha, errors = search.round(), nil, nil
      local kernel, L = search.kernel()
      model.kernel, model.metric, model.X = kernel, metric.compose(run.metric, L), metric.apply(L, X)
      if t == o.epochs and (J or not all) then alpha, errors = fit() end
      if errors then search.errors:copy(Matrix{ errors }) end
      if found and not alpha and not J then alpha = kbcd.Selector(X.n, S) * kbcd.gather(found.coefficients) end
      if alpha then model.coefficients:copy(alpha) end
      fitted:copy(model:scores(model.X, model.coefficients))
    end,
  }
end, { preprocess = "standardize", own_errors = true, weights = false })
