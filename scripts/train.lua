-- kbcd train: from files to a model file. What is not said is chosen for the data, and the choice is told.

local kbcd = require "kbcd"
local run_settings = require "kbcd.descent.run_settings"
local training_arguments = require "kbcd.command.training_arguments"
local runtime = require "kbcd.runtime"
local arguments, types = training_arguments, kbcd.argument_types

local parser = kbcd.arguments("train", "Trains a model on files and writes it to one HDF5 file.")
arguments.add(parser)
parser:mutex(
  parser:option("--sigma", "Width of the kernel (half the median distance).", nil, types.positive),
  parser:option("--gamma", "The same as gamma of the kernel's formula.", nil, types.positive))
parser:option("--model", "The file to write (model.h5, if there is none yet)."):argname("FILE")
parser:option("--log", "Write a line of JSON a block to this file."):argname("FILE")
parser:flag("--resume", "Go on from MODEL.checkpoint, of a run that was stopped, if it is there; and write it.")
parser:option("--checkpoint-every", "Write MODEL.checkpoint every so many seconds (60 with --resume, else never).", nil,
  types.not_negative)
parser:option("--checkpoint-blocks", "Write it after so many blocks.", nil, types.count)
parser:flag("--quiet", "No lines of progress.")
local o = parser:parse(arg)
arguments.check(parser, o)

local function wants_checkpoint() return o.resume or o.checkpoint_every or o.checkpoint_blocks end

-- The file that a run can go on from, beside the model; of the data as it was read.
local function open_checkpoint(data)
  if not wants_checkpoint() then return nil end
  local read = { x = data.X, y = data.y }
  if data.test then read["test x"], read["test y"] = data.test.X, data.test.y end
  local checkpoint = kbcd.checkpoint(o.model .. ".checkpoint", {
    every = o.checkpoint_every, every_blocks = o.checkpoint_blocks, resume = o.resume or false, data = read,
    settings = { task = data.task, preprocess = o.preprocess } })
  local saved = checkpoint.saved_settings or {}  -- what was chosen stays as it was
  o.block = o.block or tonumber(saved.b)
  if kbcd.choices.needs_width(o) then o.sigma = tonumber(saved.sigma) end
  return checkpoint
end

local function main()
  if not o.model then
    o.model = "model.h5"
    local there = io.open(o.model)
    if there then parser:error("model.h5 is there already; say with --model which file to write") end
  end
  local outputs = { ["--model"] = o.model, ["--log"] = o.log }
  if wants_checkpoint() then
    for _, ending in ipairs{ ".checkpoint", ".checkpoint.previous" } do outputs["MODEL" .. ending] = o.model .. ending end
  end
  kbcd.output_file.check_command(arguments.files(o), outputs)

  local scoring = kbcd.scoring
  local data = kbcd.training_data(o)
  local checkpoint = open_checkpoint(data)
  kbcd.training_data.prepare(data, o.preprocess)
  local s, notes = kbcd.choices(o, data)
  if checkpoint then
    s.checkpoint = checkpoint
    checkpoint.settings.sigma, checkpoint.settings.kernel = o.sigma or s.sigma, run_settings.kernel(s.kernel)
  end
  local X, test = data.X, data.test
  local function say(...) if not o.quiet then kbcd.say(...) end end

  say("%s: %d rows of %d numbers, %s; %s", data.source, X.n, X.d,
    data.task == "classify" and data.k .. " classes" or data.k .. (data.k == 1 and " target" or " targets"),
    test and ("%d rows %s"):format(test.X.n, data.held_out and "held out" or "to test") or "no rows to test")
  if notes ~= "" then say("chosen: %s", notes) end
  local lambda_texts = {}
  for l, lambda in ipairs(s.lambdas) do lambda_texts[l] = ("%g"):format(lambda) end
  say("%s, %s%s, b = %d, lambda = %s, %s, %d rank%s of %d thread%s", s.method, tostring(s.kernel),
    s.p and ", p = " .. s.p or "", s.b, table.concat(lambda_texts, " "), s.precision, kbcd.size(),
    kbcd.size() == 1 and "" or "s", kbcd.threads(), kbcd.threads() == 1 and "" or "s")

  local function epoch_line(step)
    local residuals = {}
    for l, r in ipairs(step.residual) do residuals[l] = ("%.2e"):format(r) end
    say("epoch %d/%d  residual %s  train %s%s  %.1f s", step.epoch, step.epochs, table.concat(residuals, " "),
      scoring.show(data.task, step.train_error),
      test and "  test " .. scoring.show(data.task, step.test_error) or "", step.seconds)
  end

  local last
  local steps = kbcd.logged_fit(data, s, o.log)
  local resumed = checkpoint and checkpoint.resumed
  if resumed then say("goes on from %s, after block %d of epoch %d", checkpoint.path, resumed.block, resumed.epoch) end
  for step in o.quiet and steps or kbcd.progress(steps) do
    last = step
    if step.epoch_end then epoch_line(step) end
    if step.epoch_end and step.epoch == 1 and s.epochs > 1 then
      local kept = kbcd.allreduce(runtime.memory.reserved())
      if kept > 0 then say("kept in memory for the next epochs: %.3g GB of blocks (%s) and factors", kept / 1e9, s.cache) end
    end
  end

  local best = scoring.best(last.test_error or last.train_error)

  local options = { epochs = last.epoch, block = s.b, partition = s.partition, cache = s.cache,
    form = s.form, tol = s.tol, jitter = s.jitter, seed = s.seed,
    nystrom_gamma = s.gamma, held_out = data.held_out or 0, data = data.source }
  kbcd.model_file.save(o.model, {
    method = s.method, task = data.task, model = last.model, kernel = s.kernel, map = s.map, X = X,
    best = best, preprocess = data.preprocess, names = data.names, options = options,
    metrics = { train_error = last.train_error, test_error = last.test_error, residual = last.residual,
      seconds = last.seconds },
  })
  if checkpoint then checkpoint:remove() end
  say("%s: best lambda = %g, %s error %s", o.model, s.lambdas[best],
    test and (data.held_out and "held-out" or "test") or "training",
    scoring.show(data.task, { (last.test_error or last.train_error)[best] }))
end

kbcd.command("train", main)
