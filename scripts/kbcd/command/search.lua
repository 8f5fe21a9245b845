-- search(o, data, algorithm): chooses what the flags o leave open of scaling, kernel, width and metric, by leave-one-out
-- errors (closed form, width_search.lua) of the full kernel on a sample of the training rows. Test rows and held-out rows
-- choose nothing.
--
--     1. Each scaling and kernel, with its best width and λ, on few rows.
--     2. On more rows: rounds of the recursive feature machine (metric_round.lua) from the best of them: they learn a metric.
--        The plain kernel is the first round.
--
-- The plan depends on --effort and on the sizes of the data alone, never on a clock: the choice is the same on any machine
-- and on any number of ranks. It returns nil where nothing is searched, or { scaling, kernel (name), params, width, metric,
-- lambda, path (of λ around it), error, lines (the table), spreads (a line on columns of different scales, or nil) }.

local kbcd = require "kbcd"
local kernel_flags = require "kbcd.command.kernel_flags"
local streams = require "kbcd.support.streams"
local target_scale = require "kbcd.data.target_scale"
local metric_round = require "kbcd.solvers.metric_round"
local width_search = require "kbcd.solvers.width_search"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local rbf, laplacian = { name = "rbf", params = {} }, { name = "laplacian", params = {} }
local matern, exponential = { name = "matern", params = { nu = 1.5 } }, { name = "matern", params = { nu = 0.5 } }

-- rows: of step 1; more: of step 2, chains of rounds from the best kernels.
local plans = {
  low = { rows = 500, kernels = { rbf, laplacian }, rounds = 0 },
  normal = { rows = 600, kernels = { rbf, laplacian, matern, exponential }, more = 1400, rounds = 4, chains = 2 },
  high = { rows = 1500, kernels = { rbf, laplacian, matern, exponential }, more = 2500, rounds = 6, chains = 3 },
}
local fewest_rows, most_columns = 30, 256  -- to search at all; of a metric
local raw_gain = 0.97                       -- rows as they are must be so much better than standardized ones
local least_lambda = 1e-10                  -- of a path
local metric_gain = 0.98                    -- and a metric than none

local function sampled(data, count, scaling)
  local I = Index.sample(data.X.n, math.min(count, data.X.n), { seed = kbcd.seed(), stream = streams.search }):sorted()
  local X, y = data.X:subset(I):to("f64"), data.y:subset(I)
  local rows = kbcd.DataSet.local_part(X.n, X.rows:clone())
  if scaling.fitted then kbcd.preprocess.apply(scaling.fitted, rows) end
  if data.task == "classify" then return rows, kbcd.labels.one_vs_all(y, { classes = data.k, first = 1 }), 1, y end
  local units = target_scale.fit(y)
  return rows, units.targets(y), units.size
end

-- An error as the table shows it: the share of wrong classes, or the RMSE in the unit of the targets.
local function shown(fit, Y, unit, y)
  if y then return kbcd.scoring.wrong(Y - fit.residuals, y) end
  return fit.error * unit
end

-- The kernels that the flags leave open, or nil: none.
local function kernels_of(o, algorithm, plan)
  local has_kernel, has_map
  for _, entry in pairs(algorithm.schema) do
    has_kernel, has_map = has_kernel or entry.kind == "kernel", has_map or entry.kind == "map"
  end
  if not (has_kernel or has_map) or kernel_flags.left_to(algorithm, o) or not kernel_flags.width(o) then return nil end
  if o.kernel then return { kernel_flags.named(o) } end
  return has_map and { rbf } or plan.kernels
end

-- The least spread of a column, the largest, and a line if they differ by 100 times and more.
local function spreads(data, fitted)
  local least, most, first, last = math.huge, 0, nil, nil
  for j = 1, data.X.d do
    local spread = 1 / fitted.scale(1, j)
    if fitted.varies[j] and spread < least then least, first = spread, j end
    if fitted.varies[j] and spread > most then most, last = spread, j end
  end
  if not first or most < 100 * least then return nil end
  local function name(j) return data.columns and data.columns[j] or tostring(j) end
  return ("the scales of the columns differ by a factor of %.2g (from column %s to column %s)"):format(most / least,
    name(first), name(last))
end

-- What "standardize" does, and which columns are not constant.
local function standardized(X)
  local fitted = kbcd.preprocess.fit("standardize", kbcd.DataSet.local_part(X.n, X.rows))
  fitted.varies = {}
  for j = 1, X.d do fitted.varies[j] = fitted.scale(1, j) ~= 1 end
  return fitted
end

local function scalings_of(o, data, fitted)
  if o.preprocess then
    return { { name = o.preprocess, fitted = o.preprocess == "standardize" and fitted or
      kbcd.preprocess.fit(o.preprocess, data.X) } }
  end
  local raw = { name = "raw" }
  return o.raw and { raw } or { { name = "standardize", fitted = fitted }, raw }
end

local function kernel_of(choice) return kbcd.kernel[choice.name]{ sigma = 1, nu = choice.params.nu } end

local function row_of(scaling, choice, fit, error_text, what)
  local nu = choice.params.nu
  return ("  %-12s %-17s %-10s %8s  %s"):format(scaling.name, choice.name .. (nu and (" nu = %g"):format(nu) or ""),
    what or ("%.4g"):format(fit.sigma), ("%g"):format(fit.lambda), error_text)
end

-- Step 1: the fits of each scaling and kernel, the best first.
local function plain_fits(o, data, plan, scalings, kernels, lines)
  local fits = {}
  for _, scaling in ipairs(scalings) do
    local X, Y, unit, y = sampled(data, plan.rows, scaling)
    local ones = Matrix.full(X.d, 1, 1)
    for _, choice in ipairs(kernels) do
      local fit = width_search(X, Y, ones, { kernel = kernel_of(choice), width = 0.5, lambda = 1e-4, seed = o.seed })
      fit.sigma = 1 / fit.scale(1, 1)
      fits[#fits + 1] = { scaling = scaling, choice = choice, fit = fit,
        judged = fit.error / (scaling.fitted and 1 or #scalings > 1 and raw_gain or 1) }
      lines[#lines + 1] = row_of(scaling, choice, fit, kbcd.scoring.show(data.task, { shown(fit, Y, unit, y) }))
    end
  end
  local function less(a, b) return a.judged < b.judged end
  table.sort(fits, less)
  return fits
end

-- Step 2: rounds from the best kernels, in the scaling of the best; the best round of all, or nil.
local function learned(o, data, plan, fits, lines)
  local scaling, best, plain, chains = fits[1].scaling, nil, math.huge, {}
  for _, entry in ipairs(fits) do
    if rawequal(entry.scaling, scaling) and #chains < plan.chains then chains[#chains + 1] = entry end
  end
  local X, Y, unit, y = sampled(data, plan.more, scaling)
  for _, entry in ipairs(chains) do
    local kernel = kernel_of(entry.choice)
    local L = kernel.metric == "manhattan" and Matrix.full(X.d, 1, 1) or Matrix.eye(X.d)
    local width, lambda = entry.fit.width, entry.fit.lambda
    local best_here
    for round = 0, plan.rounds do
      local fit = width_search(X, Y, L,
        { kernel = kernel, width = width, lambda = lambda, seed = o.seed, fixed = round == 0 })
      if round == 0 then plain = math.min(plain, fit.error) end
      if round > 0 and (not best_here or fit.error < best_here.fit.error) then
        best_here = { scaling = scaling, choice = entry.choice, fit = fit, metric = fit.scale, round = round }
      end
      width, lambda = fit.width, fit.lambda
      L = round < plan.rounds and metric_round.next_metric(fit, { kernel = kernel, k = Y.ncols, root = true }) or nil
      if not L then break end
    end
    if best_here then
      lines[#lines + 1] = row_of(scaling, entry.choice, best_here.fit, kbcd.scoring.show(data.task,
        { shown(best_here.fit, Y, unit, y) }), "metric")
      if not best or best_here.fit.error < best.fit.error then best = best_here end
    end
  end
  if not best then return nil end
  lines[#lines + 1] = ("  (metric: learned on %d rows; without it the error of these is %s)"):format(X.n,
    data.task == "classify" and ("%.4g of the scores"):format(plain) or ("%.5g"):format(plain * unit))
  return best.fit.error < metric_gain * plain and best or nil
end

-- A path of λ around the best one. With more rows than the search had, less of it is needed.
local function path(lambda, all_rows)
  local list = {}
  local first = all_rows and 1 or 0
  for e = first, first - 2, -1 do
    local value = tonumber(("%.3g"):format(lambda * 10 ^ e))
    if value >= least_lambda then list[#list + 1] = value end
  end
  return list
end

-- Six digits: the same on any number of ranks.
local function rounded(L) return L:clone():apply(function(x) return tonumber(("%.6g"):format(x)) end) end

return function(o, data, algorithm)
  local plan = plans[o.effort or "normal"]
  local kernels = kernels_of(o, algorithm, plan)
  local X = data.X
  if not kernels or X.sparse or o.start or X.n < fewest_rows then return nil end
  local fitted = standardized(X)
  local lines, found = {}, { spreads = spreads(data, fitted) }
  lines[1] = ("tried, with leave-one-out errors of %d of %d rows (--effort %s):"):format(math.min(plan.rows, X.n), X.n,
    o.effort or "normal")
  lines[2] = ("  %-12s %-17s %-10s %8s  %s"):format("scaling", "kernel", "width", "lambda", "error")
  local fits = plain_fits(o, data, plan, scalings_of(o, data, fitted), kernels, lines)
  local may_learn = plan.rounds > 0 and not o.method and not o.kernel and X.d > 1 and X.d <= most_columns
  local best = may_learn and learned(o, data, plan, fits, lines) or fits[1]
  found.scaling, found.kernel, found.params = best.scaling.name, best.choice.name, best.choice.params
  found.metric = best.metric and rounded(best.metric)
  found.width = not best.metric and tonumber(("%.4g"):format(best.fit.sigma)) or 1
  found.lambda, found.error, found.lines = best.fit.lambda, best.fit.error, lines
  found.path = path(found.lambda, X.n <= (best.metric and plan.more or plan.rows))
  return found
end
