-- kbcd train: trains a model on files and writes a model file. It chooses and reports the options that are not given.

local kbcd = require "kbcd"
local run_settings = require "kbcd.descent.run_settings"
local kernel_flags = require "kbcd.command.kernel_flags"
local arguments = require "kbcd.command.training_arguments"
local load_model = require "kbcd.command.load_model"
local column_table = require "kbcd.reports.column_table"
local search = require "kbcd.command.search"
local lambda_path = require "kbcd.command.lambda_path"
local refit = require "kbcd.command.refit"
local baseline = require "kbcd.data.baseline"
local log_details = require "kbcd.reports.log_details"
local run_table = require "kbcd.reports.run_table"
local leave_one_out_errors = require "kbcd.command.leave_one_out_errors"
local runtime = require "kbcd.runtime"
local types, scoring = kbcd.argument_types, kbcd.scoring

local most_extended = 2  -- runs beyond the edge of a path of λ

local parser = kbcd.arguments("train", "Trains a model on files and writes it to one HDF5 file.")
arguments.add_data(parser)
parser:option("--effort", "How long to search scaling, kernel, width and metric, unless they are given: about 3, 15 or " ..
  "60 seconds on two cores.", "normal"):choices{ "low", "normal", "high" }
parser:option("--start", "A model file to start from: its coefficients at the rows that are in this data, too.")
  :argname("FILE")
parser:option("--with", "A Lua file that returns the kernel or feature map of --start, where that is written in Lua.")
  :argname("FILE")
parser:option("--model", "The file to write (model.h5, if there is none yet)."):argname("FILE")
arguments.add_follow(parser)
parser:option("--log", "Write a line of JSON a block to this file."):argname("FILE")
parser:flag("--resume", "Resume from MODEL.checkpoint, of a run that was stopped, if it is there; and write it.")
parser:option("--checkpoint-every", "Write MODEL.checkpoint every so many seconds (60 with --resume, else never).", nil,
  types.not_negative)
parser:option("--checkpoint-blocks", "Write it after so many blocks.", nil, types.count)
parser:flag("--no-refit", "Save the model of the rows that were not held out (else it is fitted to all of them again).")
parser:flag("--quiet", "No lines of progress, and no table of where the time went.")
arguments.add_method(parser)  -- last: its own flags make way for those of the command
local o = parser:parse(arg)
require("kbcd.support.from_root").files(o)
arguments.check(parser, o)
o.searches, o.leaves_out = not o.raw, arguments.leaves_out(o)

-- Scaling, kernel, width and metric that the flags leave open, from now on as if they were given.
local function search_settings(data)
  local algorithm = arguments.algorithm(parser, o, data.X)
  local found = search(o, data, algorithm)
  if not found then return nil end
  o.preprocess = found.scaling ~= "raw" and found.scaling or nil
  local width = { sigma = found.width }
  for name, value in pairs(found.params) do width[name] = value end
  kernel_flags.set(o, found.kernel, width)
  o.metric, o.path = found.metric, not o.lambda and found.path or nil
  return found
end

local function wants_checkpoint() return o.resume or o.checkpoint_every or o.checkpoint_blocks end

-- The checkpoint beside the model, with fingerprints of the data as it was read.
local function open_checkpoint(data)
  if not wants_checkpoint() then return nil end
  local read = { x = data.X, y = data.y }
  read.weights = data.weights
  if data.held then read["held-out weights"] = data.held.weights end
  if data.test then read["test x"], read["test y"] = data.test.X, data.test.y end
  if data.held and data.held ~= data.test then read["held-out x"], read["held-out y"] = data.held.X, data.held.y end
  local checkpoint = kbcd.checkpoint(o.model .. ".checkpoint", {
    every = o.checkpoint_every, every_blocks = o.checkpoint_blocks, resume = o.resume or false, data = read,
    settings = { task = data.task, preprocess = o.preprocess, follow = o.follow } })
  local saved = checkpoint.saved_settings or {}  -- a run that resumes keeps what was chosen
  o.b = o.b or tonumber(saved.b)
  local width = arguments.flags.has_kernel and kernel_flags.width(o)
  if width then o[width] = tonumber(saved.width) end
  return checkpoint
end

-- Probabilities of a classifier, of scores of rows that it was not trained on: how well they do, as a text. Those of another
-- loss than the logistic are calibrated here.
local function add_probabilities(model, best, scores, set, measure)
  if model.loss.task == "regress" or not scores then return nil end
  local calibrated = not model.loss.probabilities
  if calibrated then model.calibration = kbcd.calibration(scores, set.y, set.weights) end
  return ("%s log-loss %.4f%s"):format(measure, kbcd.scoring.log_loss(model:probabilities_of(best, scores[best]), set.y,
    set.weights), calibrated and ", of probabilities that are calibrated by these rows" or "")
end

-- In a line what else is known of scores S of some rows; AUC takes a sort for each class.
local function say_metrics(say, which, task, S, set)
  local m = task == "regress" and kbcd.metrics.regression(S, set.y, set.weights) or
    set.y.n * S.ncols <= 1e6 and kbcd.metrics.classification(S, set.y, nil, set.weights)
  if m then say("%s: %s %s", o.model, which, kbcd.metrics.text(m)) end
end

-- In a line why the run ended, and whether what it is judged by had settled; best: the place of the chosen λ.
local function say_why_it_ends(say, last, measure, best)
  local more = last.p and "centres (--p)" or "--epochs"
  if last.ended == "tol" then
    say("the model changes by less than tol: it ends after %d epochs", last.epoch)
  elseif last.ended == "patience" then
    say("the %s has settled: it ends after %d epochs", measure, last.epoch)
  elseif not last.own_error and last.epoch > 1 and last.unimproved and last.unimproved[best] == 0 then
    say("the %s was still falling at the end: give more %s", measure, more)
  end
end

-- The rows, the task and the settings of a run, in a few lines.
local function describe(say, data, s, found, notes)
  local X, held, test = data.X, data.held, data.test ~= data.held and data.test or nil
  say("%s: %d rows of %d numbers, %s; %s", data.source, X.n, X.d,
    data.task == "classify" and data.k .. " classes" or data.k .. (data.k == 1 and " target" or " targets"),
    test and held and ("%d rows held out to choose by, %d rows to test, which choose nothing"):format(held.X.n, test.X.n)
      or held and ("%d rows held out"):format(held.X.n) or test and ("%d rows to test"):format(test.X.n)
      or "no rows to test")
  if test and o.follow and o.follow < test.X.n then
    say("the test error of epochs is that of %d of the %d rows to test; all are scored at the end", o.follow, test.X.n)
  end
  if data.task_reason then say("%s", data.task_reason) end
  if found then
    if found.spreads then say("%s", found.spreads) end
    for _, line in ipairs(found.lines) do say("%s", line) end
    o.preprocess_chosen = o.preprocess
  end
  if data.weights then say("%s", kbcd.row_weights.describe(data.weights)) end
  if o.preprocess_chosen then notes = ("--%s%s%s"):format(o.preprocess, notes ~= "" and ", " or "", notes) end
  if notes ~= "" then say("chosen: %s", notes) end
  say("%s%s%s%s%s, lambda = %s, %s, %d rank%s of %d thread%s", s.method,
    s.loss.name ~= "squared" and (", %s loss"):format(tostring(s.loss)) or "", s.kernel and ", " .. tostring(s.kernel) or "",
    s.p and ", p = " .. s.p or "", s.b and ", b = " .. s.b or "", lambda_path.text(s.options.lambda, " "),
    X.dtype .. (X.bytes and " of bytes" or ""),
    kbcd.size(), kbcd.size() == 1 and "" or "s", kbcd.threads(), kbcd.threads() == 1 and "" or "s")
end

-- One run, with a line for each epoch: its last step, and what the log will have of it.
local function run(say, data, s)
  local last
  local function epoch_line(step)
    local residuals, known = {}, step.residual or step.residual_before
    for l, r in ipairs(known or {}) do residuals[l] = ("%.2e"):format(r) end
    local function errors(what, list) return list and ("  %s %s"):format(what, scoring.show(data.task, list)) or "" end
    say("epoch %d/%d%s%s%s%s%s  %.1f s", step.epoch, step.epochs, step.p and ("  p = %d"):format(step.p) or "",
      known and ("  residual%s %s"):format(step.residual and "" or " before steps", table.concat(residuals, " ")) or "",
      errors("train", step.train_error), errors("held-out", step.held_out_error),
      errors("test", data.test ~= data.held and step.test_error or nil), step.seconds)
  end
  local steps, details, checkpoint = kbcd.fit(data, s), log_details(), s.checkpoint
  local resumed = checkpoint and checkpoint.resumed
  if resumed then say("resumes from %s, after block %d of epoch %d", checkpoint.path, resumed.block, resumed.epoch) end
  for step in o.quiet and steps or kbcd.progress(steps) do
    last = step
    details.step(step)
    if step.epoch_end then epoch_line(step) end
    if step.epoch_end and step.epoch == 1 and step.epochs > 1 then
      local kept = kbcd.allreduce(runtime.memory.reserved())
      if kept > 0 then say("kept in memory for the next epochs: %.3g GB of blocks and factors", kept / 1e9) end
    end
  end
  return last, details
end

-- What λ is chosen by: { errors, measure (their name), best (a place), left_out (leave-one-out errors, or nil), scores (of
-- the rows that were not trained on, or nil) }.
local function judge(say, data, s, last)
  local j = { errors = last.held_out_error, measure = "held-out", scores = last.held_out_scores }
  if last.own_error then  -- the method has rows of its own to choose by
    say("lambda is chosen by the method's own error, %.4g", last.own_error[scoring.best(last.own_error)])
    if not data.held then j.errors, j.measure = last.train_error, "training" end
  elseif not data.held then
    local why
    if s.left_out then
      j.left_out, j.scores = s.left_out.errors, s.left_out.scores
    elseif #s.options.lambda > 1 or data.task == "classify" or data.leaves_out then
      j.left_out, why, j.scores = leave_one_out_errors(data, s, last.model)
    end
    if #s.options.lambda == 1 and not data.leaves_out then j.left_out, why = nil, nil end
    j.errors, j.measure = j.left_out or last.train_error, j.left_out and "leave-one-out" or "training"
    if j.left_out then say("leave-one-out error of the solution %s", scoring.show(data.task, j.left_out)) end
    if why then say("lambda is chosen by the training error: %s; --hold-out 0.1 holds rows out", why) end
  end
  j.best = scoring.best(last.own_error or j.errors)
  return j
end

-- Runs until the best λ of a path that was chosen here is not at an edge of it, or no run is left.
local function run_path(say, data, s)
  local last, details = run(say, data, s)
  local j = judge(say, data, s, last)
  local free = not (o.lambda or last.own_error or s.left_out) and j.measure ~= "training"
  local tried, errors, best = { unpack(s.options.lambda) }, { unpack(j.errors) }, j.best  -- of all runs
  for _ = 1, free and most_extended or 0 do
    local more = lambda_path.further(tried, errors, best)
    if not more then break end
    say("the best lambda is at an edge of the path: another run, with lambda = %s", lambda_path.text(more, ", "))
    last.model = nil  -- its blocks need not stay in memory
    s.options.lambda, s.checkpoint = more, nil
    last, details = run(say, data, s)
    j = judge(say, data, s, last)
    local known = tried[best]
    for l, lambda in ipairs(more) do
      if lambda ~= known then tried[#tried + 1], errors[#errors + 1] = lambda, j.errors[l] end
      if l == j.best and lambda ~= known then best = #tried end
    end
  end
  local edge = free and lambda_path.edge(tried, best)
  if edge then say("%s", edge) end
  return last, j, details
end

-- Settings of the run that the model file keeps: numbers, texts and booleans.
local function stored_options(data, s, epochs)
  local options = { held_out = data.held_out or 0, data = data.source, weights = o.weights, balance = o.balance,
    zero_based = data.zero_based }
  for name, value in pairs(s.options) do
    if name == "loss" then value = tostring(value) end
    local kind = kbcd.type(value)
    if kind == "number" or kind == "string" or kind == "boolean" then options[name] = value end
  end
  options.epochs = epochs
  return options
end

local function check_files()
  if not o.model then
    o.model = "model.h5"
    local there = io.open(o.model)
    if there then parser:error("model.h5 is there already; say with --model which file to write") end
  end
  local outputs, inputs = { ["--model"] = o.model, ["--log"] = o.log }, arguments.files(o)
  inputs["--start"] = o.start
  if wants_checkpoint() then outputs["MODEL.checkpoint"] = o.model .. ".checkpoint" end
  kbcd.output_file.check_command(inputs, outputs)
  -- A job that was killed while it wrote leaves the checkpoint and the previous one as two names of one file.
  local previous = wants_checkpoint() and o.model .. ".checkpoint.previous" or nil
  kbcd.output_file.check_command(inputs, { ["MODEL.checkpoint.previous"] = previous })
end

local function main()
  check_files()
  local start = o.start and load_model(o.start, o.with)
  o.table = start and start.table
  local data = kbcd.training_data(o)
  local function say(...) if not o.quiet then kbcd.say(...) end end
  local found = search_settings(data)
  local checkpoint = open_checkpoint(data)
  kbcd.training_data.prepare(data, o.preprocess, start and start.preprocess)
  local algorithm, given, reason = arguments.algorithm(parser, o, data.X)
  if found and algorithm.schema.jitter and given.jitter == nil then given.jitter = "auto" end
  local s, notes = kbcd.choices(o, data, algorithm, given, reason)
  if data.leaves_out and not o.lambda then lambda_path.choose(data, s) end
  if checkpoint then
    s.checkpoint = checkpoint
    checkpoint.settings.kernel = s.kernel and run_settings.kernel(s.kernel)
    local width = s.kernel and kernel_flags.has_width(o)
    checkpoint.settings.width = width and s.kernel.params[width]
  end
  s.start, s.log, s.follow = start, o.log, o.follow
  describe(say, data, s, found, notes)

  kbcd.timers.reset()
  local begin = kbcd.now()
  local last, j, details = run_path(say, data, s)
  local run_lines = o.quiet and {} or run_table.lines(kbcd.now() - begin, data.X.d)
  local held, best, classify = data.held, j.best, data.task == "classify"
  local test = data.test ~= held and data.test or nil
  local probabilities = classify and add_probabilities(last.model, best, j.scores, held or data,
    held and j.measure or "leave-one-out")
  say_why_it_ends(say, last, held and "held-out error" or last.residual and "residual" or "change of the model", best)

  local final, of, place = last, data, best
  local refitted = held and data.whole and not o.no_refit and not o.start and not last.own_error
  if refitted then
    final, s, of = refit(data, s, last, best, o.lambda)
    place = o.lambda and best or 1
    say("fitted to all %d rows again, %d of which were held out to choose", of.X.n, held.X.n)
  end
  kbcd.fit.score_test(of, s, final)
  local seen, rows = (held or j.left_out) and j.scores or nil, held and "held-out" or "leave-one-out"
  if test and final.test_scores then
    details.write(o.log, data, final.model, place, final.test_scores[place], test, "test")
  else
    details.write(o.log, data, final.model, place, seen and seen[best], held or data, rows)
  end

  local function kept(list) return list and #list ~= #s.options.lambda and { list[best] } or list end
  local test_error = test and final.test_error or kept(last.test_error)
  kbcd.fit.finish(of, s, final.model):save(o.model, {
    method = s.method, task = data.task, best = place, preprocess = data.preprocess, names = data.names or data.targets,
    table = data.table, options = stored_options(data, s, last.epoch),
    metrics = { train_error = final.train_error, test_error = test_error, held_out_error = kept(last.held_out_error),
      leave_one_out_error = j.left_out, own_error = last.own_error, residual = final.residual,
      seconds = last.seconds + (refitted and final.seconds or 0) },
  })
  if checkpoint then checkpoint:remove() end

  local what = data.task == "regress" and s.loss.name ~= "squared" and "loss" or "error"
  local function shown(whose, e) return ("%s %s %s"):format(whose, what, scoring.show(data.task, { e })) end
  local texts = { shown(j.measure, j.errors[best]) }
  if test then table.insert(texts, j.measure == "training" and 1 or 2, shown("test", test_error[place])) end
  say("%s: best lambda = %g, %s%s", o.model, s.options.lambda[place], table.concat(texts, ", "),
    refitted and (" (held-out: of the model of %d rows)"):format(data.X.n) or "")
  local warning = what == "error" and not data.weights and
    baseline.warning(data.task, j.errors[best], held and held.y or data.y)
  if warning then say("%s", warning) end
  if seen then say_metrics(say, rows, data.task, seen[best], held or data) end
  if test and final.test_scores then say_metrics(say, "test", data.task, final.test_scores[place], test) end
  if probabilities then say("%s: %s", o.model, probabilities) end
  if final.model.metric then say("%s", column_table.text(final.model.metric, data.columns)) end
  for _, line in ipairs(run_lines) do say("%s", line) end
end

kbcd.command("train", main)
