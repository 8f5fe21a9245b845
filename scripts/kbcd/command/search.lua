-- search(o, data, algorithm): chooses what the flags o leave open of scaling, kernel, width and metric, by leave-one-out
-- errors (closed form, width_search.lua) of the full kernel on a sample of the training rows. Test rows and held-out rows
-- choose nothing.
--
--     1. Each scaling and kernel, with its best width and λ, on few rows.
--     2. On more rows: rounds of the recursive feature machine (metric_round.lua) from the best of them, which learn a
--        metric. The plain kernel is round 0. Rows that were not used to learn a metric judge it.
--
-- The plan depends on --effort and on the sizes of the data alone, never on a clock: the choice is the same on any machine
-- and on any number of ranks. It returns nil where nothing is searched, or { scaling, kernel (name), params, width, metric,
-- lambda, path (of λ around it), error, lines (the table), spreads (a line on columns of different scales, or nil) }.

local kbcd = require "kbcd"
local kernel_flags = require "kbcd.command.kernel_flags"
local streams = require "kbcd.support.streams"
local target_scale = require "kbcd.data.target_scale"
local metric = require "kbcd.data.metric"
local metric_round = require "kbcd.solvers.metric_round"
local width_search = require "kbcd.solvers.width_search"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local rbf, laplacian = { name = "rbf", params = {} }, { name = "laplacian", params = {} }
local matern, exponential = { name = "matern", params = { nu = 1.5 } }, { name = "matern", params = { nu = 0.5 } }

-- rows: of step 1; more: of step 2, to learn a metric in chains of rounds from the best kernels; half as many judge it.
local plans = {
  low = { rows = 500, kernels = { rbf, laplacian }, rounds = 0 },
  normal = { rows = 600, kernels = { rbf, laplacian, matern, exponential }, more = 1400, rounds = 4, chains = 2 },
  high = { rows = 1500, kernels = { rbf, laplacian, matern, exponential }, more = 2500, rounds = 6, chains = 3 },
}
local fewest_rows, most_columns = 30, 256  -- to search at all; of a metric
-- Rows as they are must be so much better than standardized ones: columns of a table have units of their own, which should
-- not matter, while those of an array, such as pixels, often share one.
local raw_gain = { table = 0.85, array = 1.05 }
-- The Laplacian kernel is no matrix product and takes several times as long: of many rows, it must be so much better.
local slow_gain, many_rows = 0.97, 10000
local least_lambda = 1e-10                  -- of a path
local metric_gain = 0.98                    -- a metric must be so much better than none

local function sampled(data, count, scaling)
  local I = Index.sample(data.X.n, math.min(count, data.X.n), { seed = kbcd.seed(), stream = streams.search }):sorted()
  local X, y = data.X:subset(I):to("f64"), data.y:subset(I)
  local rows = kbcd.DataSet.local_part(X.n, X.rows:clone())
  if scaling.fitted then kbcd.preprocess.apply(scaling.fitted, rows) end
  if data.task == "classify" then return rows, kbcd.labels.one_vs_all(y, { classes = data.k, first = 1 }), 1, y end
  local units = target_scale.fit(y)
  return rows, units.targets(y), units.size
end

-- A leave-one-out error as the table shows it: the share of wrong classes, or the RMSE in the unit of the targets.
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
  local fitted = kbcd.preprocess.fit("standardize", X)
  fitted.varies = {}
  for j = 1, X.d do fitted.varies[j] = fitted.scale(1, j) ~= 1 end
  return fitted
end

-- The scalings to try: columns of 0 and 1 beside numbers, as categories become, may stay as they are.
local function scalings_of(o, data, fitted)
  local function named(name) return { name = name, fitted = kbcd.preprocess.fit(name, data.X) } end
  if o.preprocess then return { named(o.preprocess) } end
  local list, plain = {}, { name = "raw" }
  if o.raw then return { plain } end
  local numbers, mixed = named("standardize-numbers"), false
  for j = 1, data.X.d do mixed = mixed or fitted.varies[j] and numbers.fitted.scale(1, j) ~= fitted.scale(1, j) end
  if mixed then list[1] = numbers end
  list[#list + 1] = { name = "standardize", fitted = fitted }
  list[#list + 1] = plain
  return list
end

local function kernel_of(choice) return kbcd.kernel[choice.name]{ sigma = 1, nu = choice.params.nu } end

local function row_of(scaling, choice, fit, error_text, what)
  local nu = choice.params.nu
  return ("  %-20s %-17s %-10s %8s  %s"):format(scaling.name, choice.name .. (nu and (" nu = %g"):format(nu) or ""),
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
      local gain = scaling.fitted and 1 or raw_gain[data.table and "table" or "array"]
      if choice.name == "laplacian" and data.X.n > many_rows then gain = gain * slow_gain end
      fits[#fits + 1] = { scaling = scaling, choice = choice, fit = fit, judged = fit.error / gain }
      lines[#lines + 1] = row_of(scaling, choice, fit, kbcd.scoring.show(data.task, { shown(fit, Y, unit, y) }))
    end
  end
  local function less(a, b) return a.judged < b.judged end
  table.sort(fits, less)
  return fits
end

-- f(fit, round) for round 0, the plain kernel, and some rounds that learn a metric from the one before.
local function each_round(X, Y, entry, rounds, seed, f)
  local kernel = kernel_of(entry.choice)
  local L = kernel.metric == "manhattan" and Matrix.full(X.d, 1, 1) or Matrix.eye(X.d)
  local width, lambda = entry.fit.width, entry.fit.lambda
  for round = 0, rounds do
    local fit = width_search(X, Y, L, { kernel = kernel, width = width, lambda = lambda, seed = seed })
    fit.sigma = 1 / fit.scale(1, 1)  -- of round 0
    f(fit, round)
    width, lambda = fit.width, fit.lambda
    L = round < rounds and metric_round.next_metric(fit, { kernel = kernel, k = Y.ncols, root = true }) or nil
    if not L then break end
  end
end

-- Step 2: rounds from the best kernels, in the scaling of the best, judged by rows that they do not see. Gives the best round
-- of all, or the best plain kernel if no metric is clearly better.
local function learned(o, data, plan, fits, lines)
  local scaling, best, plain, chains = fits[1].scaling, nil, nil, {}
  for _, entry in ipairs(fits) do
    if rawequal(entry.scaling, scaling) and #chains < plan.chains then chains[#chains + 1] = entry end
  end
  local X, Y, unit, y = sampled(data, plan.more * 3 / 2, scaling)
  local order, count = Index.permutation(X.n, { seed = o.seed, stream = streams.search }), math.floor(X.n * 2 / 3)
  local seen, rest = order:slice(1, count):sorted(), order:slice(count + 1, X.n):sorted()
  local targets = kbcd.DataSet.local_part(X.n, Y)
  local own, own_Y, held, held_Y = X:subset(seen), targets:subset(seen).rows, X:subset(rest), targets:subset(rest).rows
  for _, entry in ipairs(chains) do
    local here
    each_round(own, own_Y, entry, plan.rounds, o.seed, function(fit, round)
      local S = kbcd.Model{ kernel = kernel_of(entry.choice), X = fit.X, coefficients = fit.coefficients }:predict(
        metric.apply(fit.scale, held))[1]
      local tried = { scaling = scaling, choice = entry.choice, fit = fit, round = round, rows = own.n, entry = entry,
        error = metric_round.errors(held, { S - held_Y })[1] }
      tried.shown = y and kbcd.scoring.wrong(S, y:subset(rest)) or tried.error * unit
      if round == 0 and (not plain or tried.error < plain.error) then plain = tried end
      if round == 0 or tried.error < here.error then here = tried end
    end)
    lines[#lines + 1] = row_of(scaling, entry.choice, here.fit, kbcd.scoring.show(data.task, { here.shown }),
      here.round > 0 and "metric" or nil)
    if not best or here.error < best.error then best = here end
  end
  lines[#lines + 1] = ("  (the last %d: learned on %d rows, errors of %d others; without a metric %s)"):format(#chains, own.n,
    held.n, kbcd.scoring.show(data.task, { plain.shown }))
  if best.round == 0 or best.error >= metric_gain * plain.error then return plain end
  if X.n == data.X.n then  -- the same rounds once more, on all rows
    each_round(X, Y, best.entry, best.round, o.seed, function(fit) best.fit, best.rows = fit, X.n end)
  end
  best.metric = best.fit.scale
  return best
end

-- A path of λ around the best one. With more rows than the search had, less of it is needed.
local function path(lambda, all_rows)
  local list = {}
  local first = all_rows and 1 or 0
  for e = first, first - 3, -1 do
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
  lines[2] = ("  %-20s %-17s %-10s %8s  %s"):format("scaling", "kernel", "width", "lambda", "error")
  local fits = plain_fits(o, data, plan, scalings_of(o, data, fitted), kernels, lines)
  local may_learn = plan.rounds > 0 and not o.method and not o.kernel and X.d > 1 and X.d <= most_columns
  local best = may_learn and learned(o, data, plan, fits, lines) or fits[1]
  found.scaling, found.kernel, found.params = best.scaling.name, best.choice.name, best.choice.params
  found.metric = best.metric and rounded(best.metric)
  found.width = not best.metric and tonumber(("%.4g"):format(best.fit.sigma)) or 1
  found.lambda, found.error, found.lines = best.fit.lambda, best.fit.error, lines
  found.path = path(found.lambda, X.n <= (best.rows or plan.rows))
  return found
end
