-- kbcd tune: the error of every sigma and lambda of a grid or a random search, and the `kbcd train` command of the best.
-- The lambdas of one sigma come from one run.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local arguments = require "kbcd.command.training_arguments"
local kernel_flags = require "kbcd.command.kernel_flags"
local streams = require "kbcd.support.streams"
local train_command = require "kbcd.command.train_command"
local leave_one_out_errors = require "kbcd.command.leave_one_out_errors"
local lambda_path = require "kbcd.command.lambda_path"
local types = kbcd.argument_types

local parser = kbcd.arguments("tune", "Searches the kernel's width and lambda by held-out, k-fold or (--hold-out 0) " ..
  "leave-one-out error.")
arguments.add_data(parser)
-- The widths of kernels are lists here.
local widths = {}
for _, kernel in ipairs(runtime.kernels.declared()) do
  if kernel.width and not widths[kernel.width] then
    widths[kernel.width] = true
    parser:option("--" .. kernel.width, "The widths to try, with commas between (around half the median distance). " ..
      "A width for each column is learned by --method rfm.", nil,
      types.positives)
  end
end
parser:option("--random", "Try so many random widths, from a fifth to three times the median distance.", nil, types.count)
parser:option("--folds", "k-fold error instead of held-out error.", nil, types.count)
arguments.add_method(parser, widths)
local o = parser:parse(arg)
require("kbcd.support.from_root").files(o)
arguments.check(parser, o)
o.chooses = true
if o.folds and o.folds < 2 then parser:error("--folds: at least 2 expected") end
if o.folds and (o.test_x or o.test_data or o.hold_out) then
  parser:error("--folds makes its own held-out sets; it does not go with --test-x, --test-data or --hold-out")
end
-- A method that chooses its kernel also chooses its width.
local learns = o.method and kernel_flags.left_to(arguments.candidates[1], o)
local width = arguments.flags.has_kernel and not learns and kernel_flags.has_width(o) or nil  -- its name
local given_widths = width and o[width]
if o.random and not width then parser:error(("--random is for kernels with a width, not for %s"):format(o.kernel)) end
if o.random and given_widths then parser:error(("--random and --%s do not go together"):format(width)) end
local path = o.method and arguments.candidates[1].schema.lambda
local given_lambda = o.lambda
o.lambda = o.lambda or path and path.declared and path[2] or { 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8 }

local most_more = 6  -- steps beyond an edge

local function place_of(list, value)
  for i, other in ipairs(list) do if other == value then return i end end
end

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
  local leaves_out = not o.folds and not data.held  -- one row after the other
  local tested = data.test and data.test ~= data.held  -- with the best settings alone

  local function widths_to_try()
    if given_widths then return given_widths end
    if not width then return { false } end
    o[width] = nil
    local first = type(folds[1]) == "function" and folds[1]() or folds[1]
    local median, list = kernel_flags.median_distance(first.X, o), {}
    if o.random then
      local draws = kbcd.Matrix.rand(o.random, 1, { seed = o.seed, stream = streams.widths })
      for i = 1, o.random do list[i] = median / 5 * 15 ^ draws(i, 1) end
    else
      for i, factor in ipairs{ 0.25, 0.35, 0.5, 0.7, 1, 1.4 } do list[i] = median * factor end
    end
    for i, value in ipairs(list) do list[i] = tonumber(("%.4g"):format(value)) end
    table.sort(list)
    return list
  end

  -- The errors of every λ with one width: the mean over the sets; the settings; and the test errors, if there is a test set.
  local function errors_of(value)
    local sums, settings, test_errors = {}, nil, nil
    if width then o[width] = value or nil end
    for _, fold in ipairs(folds) do
      local set = type(fold) == "function" and fold() or fold
      local algorithm, given, reason = arguments.algorithm(parser, o, set.X)
      given.lambda = o.lambda
      if algorithm.schema.jitter and given.jitter == nil then given.jitter = "auto" end
      settings = kbcd.choices(o, set, algorithm, given, reason)
      settings.given_b = given.b
      local errors, why
      if leaves_out and not settings.algorithm.own_errors then
        errors, why = leave_one_out_errors(set, settings)
        if not errors then
          error(("no rows to test on, and %s; raise --hold-out or give --test-x and --test-y"):format(why), 0)
        end
      else
        for step in kbcd.progress(kbcd.fit(set, settings)) do
          errors, test_errors = step.own_error or step.held_out_error or errors, step.test_error or test_errors
          settings.epochs_taken = step.epoch
        end
      end
      for l, e in ipairs(errors) do sums[l] = (sums[l] or 0) + e / #folds end
    end
    return sums, settings, test_errors
  end

  local scoring = kbcd.scoring
  kbcd.say("%s: %d rows to %s, %s %s", data.source, data.X.n, data.task,
    o.folds and o.folds .. "-fold" or leaves_out and "leave-one-out" or "held-out",
    data.task == "regress" and (o.loss or "squared") ~= "squared" and o.loss .. " loss" or "error")
  local head = {}
  for l, lambda in ipairs(o.lambda) do head[l] = ("%9s"):format(("%g"):format(lambda)) end
  kbcd.say("%14s  %s", (width or "-") .. " \\ lambda", table.concat(head, " "))

  local best
  local function try(value)
    local errors, settings, test_errors = errors_of(value)
    local cells = {}
    for l, e in ipairs(errors) do cells[l] = ("%9s"):format(scoring.show(data.task, { e })) end
    kbcd.say("%14s  %s", value and ("%.4g"):format(value) or "-", table.concat(cells, " "))
    local l = scoring.best(errors)
    if not best or errors[l] < best.error then
      best = { error = errors[l], width = value and { width, value }, lambda = o.lambda[l], settings = settings,
        test_error = tested and test_errors and test_errors[l] }
    end
  end

  local tried = widths_to_try()
  for _, value in ipairs(tried) do try(value) end
  -- Widths and λ beyond the edges of the grid, while the best is there.
  for _ = 1, width and not given_widths and not o.random and most_more or 0 do
    local at = best.width[2]
    local more = at == tried[1] and tonumber(("%.4g"):format(at / 1.4)) or
      at == tried[#tried] and tonumber(("%.4g"):format(at * 1.4))
    if not more then break end
    table.insert(tried, more < at and 1 or #tried + 1, more)
    try(more)
  end
  local lambdas = { unpack(o.lambda) }
  for _ = 1, not given_lambda and most_more or 0 do
    local more = lambda_path.beyond(lambdas, place_of(lambdas, best.lambda))
    if not more then break end
    lambdas[#lambdas + 1], o.lambda = more, { more }
    kbcd.say("%14s  %9s", "", ("%g"):format(more))
    try(best.width and best.width[2] or false)
  end
  kbcd.say("\nbest: %slambda = %g, error %s", best.width and ("%s = %.4g, "):format(width, best.width[2]) or "", best.lambda,
    scoring.show(data.task, { best.error }))
  if best.test_error then
    kbcd.say("test error of this choice, which was made without the test rows: %s", scoring.show(data.task,
      { best.test_error }))
  end
  local edge = lambda_path.edge(lambdas, place_of(lambdas, best.lambda))
  if edge then kbcd.say("%s", edge) end
  if best.width and #tried > 1 and (best.width[2] == tried[1] or best.width[2] == tried[#tried]) then
    kbcd.say("%s = %.4g is the %s that was tried; --%s takes others", width, best.width[2],
      best.width[2] == tried[1] and "smallest" or "largest", width)
  end
  local algorithm = best.settings.algorithm
  kbcd.say("%s", train_command(o, arguments.flags.words(o, algorithm), best))
end

kbcd.command("tune", main)
