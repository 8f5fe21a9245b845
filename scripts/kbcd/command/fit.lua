-- fit(data, s): the steps of one training run (see training_data and choices), each with the errors that a command reports:
-- step.test_error and, at the end of an epoch, step.train_error and step.held_out_error have an entry for each λ. Of real
-- targets, an error is the RMSE, or with another loss than squared the mean of that loss. A run is trained on real targets
-- that are centred and scaled (target_scale.lua); errors are in the units of the targets as given, and fit.finish(data, s,
-- model) makes the model one of these.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local target_scale = require "kbcd.data.target_scale"

runtime.docs.fit = [[fit(data, settings)
The steps of a training run, of data from training_data and settings from choices (and settings.log, a path),
with step.test_error, step.train_error and step.held_out_error. Real targets are centred and scaled for the run; after it,
fit.finish(data, settings, step.model) makes the model one of the targets as given.]]

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

local function start(_, data, s)
  local classify, test, held, options = data.task == "classify", data.test, data.held, {}
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
      about = { task = data.task, data = data.source, loss = tostring(s.loss) } }
  end
  local function errors(scores, set, what)
    return kbcd.scoring.errors(data.task, given(scores), set.y, what, s.loss, set.weights)
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

return setmetatable({ finish = finish }, { __call = start })
