-- fit(data, s): the steps of one training run (see training_data and choices), each with the errors that a command reports:
-- step.test_error and, at the end of an epoch, step.train_error and step.held_out_error have an entry for each λ. Of real
-- targets, an error is the RMSE, or with another loss than squared the mean of that loss. A run is trained on real targets
-- that are centred and scaled (target_scale.lua); errors are in the units of the targets as given, and fit.finish(data, s,
-- model) makes the model one of these. Where settings.follow = N is less than the test rows, step.test_error is that of a
-- sample of N of them, and fit.score_test(data, s, step) scores all of them, with the model of a step, at the end.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local target_scale = require "kbcd.data.target_scale"
local streams = require "kbcd.support.streams"

runtime.docs.fit = [[fit(data, settings)
The steps of a training run, of data from training_data and settings from choices (and settings.log, a path),
with step.test_error, step.train_error and step.held_out_error. Real targets are centred and scaled for the run; after it,
fit.finish(data, settings, step.model) makes the model one of the targets as given. settings.follow = N follows a sample of
the test rows; after the run, fit.score_test(data, settings, step) puts the errors and scores of all of them into the step.]]

-- The units of the targets of a run; nil of classes.
local function units_of(data, s)
  if data.task == "classify" then return nil end
  s.units = s.units or target_scale.fit(data.y, s.loss, data.weights)
  return s.units
end

local function finish(data, s, model)
  local units = units_of(data, s)
  if units then units.finish(model) end
  return model
end

local function samples_test(data, s)
  return s.follow and data.test and data.test ~= data.held and s.follow < data.test.X.n
end

-- The test rows whose scores are kept up to date: all, or the sample of the settings, which is the same in every run.
local function followed(data, s)
  if not samples_test(data, s) then return data.test end
  s.followed = s.followed or kbcd.training_data.part_of(data.test, kbcd.Index.sample(data.test.X.n, s.follow,
    { seed = s.options.seed, stream = streams.follow }):sorted())
  return s.followed
end

local function errors_of(data, s, scores, set, what)
  return kbcd.scoring.errors(data.task, scores, set.y, what, s.loss, set.weights)
end

local function score_test(data, s, step)
  if not samples_test(data, s) then return end
  local units, scores = units_of(data, s), step.model:predict(data.test.X)
  step.test_scores = units and units.scores(scores) or scores
  step.test_error = errors_of(data, s, step.test_scores, data.test, "the test rows")
end

local function start(_, data, s)
  local classify, test, held, options = data.task == "classify", followed(data, s), data.held, {}
  local units = units_of(data, s)
  local Y = classify and kbcd.labels.one_vs_all(data.y, { classes = data.k, first = 1 }) or units.targets(data.y)
  local function given(scores) return units and units.scores(scores) or scores end
  for name, value in pairs(s.options) do options[name] = value end
  if options.loss and units then options.loss = units.loss end
  options.error_unit = units and units.size or 1
  options.test, options.checkpoint = test and test.X or false, s.checkpoint or false
  options.start = s.start and (units and units.start(s.start) or s.start) or false
  if data.weights then options.weights = kbcd.row_weights.normalised(data.weights) end
  if s.log then
    options.log = { path = s.log, columns = data.columns,
      about = { task = data.task, data = data.source, loss = tostring(s.loss),
        followed = samples_test(data, s) and s.follow or nil } }
  end
  local function errors(scores, set, what)
    return errors_of(data, s, given(scores), set, what)
  end
  function options.score(scores) return errors(scores, test, "the test rows") end
  options.held_out = held and {
    rows = held.X,
    loss = function(scores) return kbcd.scoring.losses(data.task, given(scores), held.y, held.weights) end,
    score = function(scores) return errors(scores, held, "the held-out rows") end,
  }
  local steps = s.algorithm(data.X, Y, options)
  return function()
    local step = steps()
    if not step then return nil end
    if classify and step.test_error then  -- for the progress bar
      step.error = step.test_error[kbcd.scoring.best(step.test_error)]
    end
    if step.epoch_end then
      step.train_error = errors(step.model:fitted(), data, "the training rows")
      for _, name in ipairs{ "test_scores", "held_out_scores" } do step[name] = step[name] and given(step[name]) end
    end
    return step
  end
end

return setmetatable({ finish = finish, score_test = score_test }, { __call = start })
