-- kbcd tune: the error of every sigma and lambda of a grid or a random search, and the `kbcd train` command of the best. The
-- lambdas of one sigma come from one run.

local kbcd = require "kbcd"
local streams = require "kbcd.support.streams"
local train_command = require "kbcd.command.train_command"
local training_arguments = require "kbcd.command.training_arguments"
local arguments, types = training_arguments, kbcd.argument_types

local parser = kbcd.arguments("tune", "Searches sigma and lambda by held-out or k-fold error.")
arguments.add(parser)
parser:mutex(
  parser:option("--sigma", "The widths to try, with commas between (around half the median distance).", nil, types.positives),
  parser:option("--random", "Try so many random widths, from a fifth to three times the median distance.", nil, types.count))
parser:option("--folds", "k-fold error instead of held-out error.", nil, types.count)
local o = parser:parse(arg)
arguments.check(parser, o)
if o.folds and o.folds < 2 then parser:error("--folds: at least 2 expected") end
if o.folds and (o.test_x or o.test_data or o.hold_out) then
  parser:error("--folds makes its own test sets; it does not go with --test-x, --test-data or --hold-out")
end
if not kbcd.choices.needs_width{ kernel = o.kernel } and (o.sigma or o.random) then
  parser:error(("--sigma and --random are for kernels with a width, not for %s"):format(o.kernel))
end
o.lambda = o.lambda or { 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8 }
o.jitter = true

local function main()
  local data = kbcd.training_data(o)

  -- Each set of training and test rows, preprocessed.
  local function sets()
    if not o.folds then return { kbcd.training_data.prepare(data, o.preprocess) } end
    local n, list = data.X.n, {}
    if o.folds > n then error(("--folds %d: at most the %d rows expected"):format(o.folds, n), 0) end
    local order = kbcd.Index.permutation(n, { seed = o.seed, stream = streams.folds })
    for f = 1, o.folds do
      local first, last = math.floor(n * (f - 1) / o.folds) + 1, math.floor(n * f / o.folds)
      local parts = {}
      if first > 1 then parts[#parts + 1] = order:slice(1, first - 1) end
      if last < n then parts[#parts + 1] = order:slice(last + 1, n) end
      local train, test = kbcd.Index.concat(parts):sorted(), order:slice(first, last):sorted()
      list[f] = function() return kbcd.training_data.prepare(kbcd.training_data.split(data, train, test), o.preprocess) end
    end
    return list
  end

  local folds = sets()
  if not o.folds and not data.test then error("no rows to test on; raise --hold-out or give --test-x and --test-y", 0) end

  local function widths()
    if o.sigma then return o.sigma end
    if not kbcd.choices.needs_width{ kernel = o.kernel } then return { false } end
    local first = type(folds[1]) == "function" and folds[1]() or folds[1]
    local median, list = kbcd.choices.median_distance(first.X, o.kernel, o.seed), {}
    if o.random then
      local draws = kbcd.Matrix.rand(o.random, 1, { seed = o.seed, stream = streams.widths })
      for i = 1, o.random do list[i] = median / 5 * 15 ^ draws(i, 1) end
    else
      for i, factor in ipairs{ 0.25, 0.35, 0.5, 0.7, 1, 1.4 } do list[i] = median * factor end
    end
    for i, width in ipairs(list) do list[i] = tonumber(("%.4g"):format(width)) end
    table.sort(list)
    return list
  end

  -- The errors of every λ with one σ: the mean over the sets.
  local function errors_of(sigma)
    local sums, settings = {}, nil
    o.sigma = sigma or nil
    for _, fold in ipairs(folds) do
      local set = type(fold) == "function" and fold() or fold
      settings = kbcd.choices(o, set)
      local last
      for step in kbcd.progress(kbcd.fit(set, settings)) do last = step end
      for l, e in ipairs(last.test_error) do sums[l] = (sums[l] or 0) + e / #folds end
    end
    return sums, settings
  end

  local scoring = kbcd.scoring
  kbcd.say("%s: %d rows to %s, %s error", data.source, data.X.n, data.task,
    o.folds and o.folds .. "-fold" or data.held_out and "held-out" or "test")
  local head = {}
  for l, lambda in ipairs(o.lambda) do head[l] = ("%9s"):format(("%g"):format(lambda)) end
  kbcd.say("%14s  %s", "sigma \\ lambda", table.concat(head, " "))

  local best
  for _, sigma in ipairs(widths()) do
    local errors, settings = errors_of(sigma)
    local cells = {}
    for l, e in ipairs(errors) do cells[l] = ("%9s"):format(scoring.show(data.task, { e })) end
    kbcd.say("%14s  %s", sigma and ("%.4g"):format(sigma) or "-", table.concat(cells, " "))
    local l = scoring.best(errors)
    if not best or errors[l] < best.error then
      best = { error = errors[l], sigma = sigma, lambda = o.lambda[l], settings = settings }
    end
  end
  kbcd.say("\nbest: %slambda = %g, error %s", best.sigma and ("sigma = %.4g, "):format(best.sigma) or "", best.lambda,
    scoring.show(data.task, { best.error }))
  kbcd.say("%s", train_command(o, best))
end

kbcd.command("tune", main)
