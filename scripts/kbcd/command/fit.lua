-- fit(data, s): the steps of one training run (see training_data and choices), each with the errors that a command reports:
-- step.test_error and, at the end of an epoch, step.train_error and step.held_out_error have an entry for each λ. Of real
-- targets, an error is the RMSE, or with another loss than squared the mean of that loss.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.fit = [[fit(data, settings)
The steps of a training run, of data from training_data and settings from choices (and settings.log, a path),
with step.test_error, step.train_error and step.held_out_error.]]

return function(data, s)
  local classify, test, held, options = data.task == "classify", data.test, data.held, {}
  local Y = classify and kbcd.labels.one_vs_all(data.y, { classes = data.k, first = 1 }) or data.y
  for name, value in pairs(s.options) do options[name] = value end
  options.test, options.checkpoint, options.start = test and test.X or false, s.checkpoint or false, s.start or false
  if s.log then
    options.log = { path = s.log, about = { task = data.task, data = data.source }, columns = data.columns }
  end
  function options.score(scores) return kbcd.scoring.errors(data.task, scores, test.y, "the test rows", s.loss) end
  options.held_out = held and {
    rows = held.X,
    loss = function(scores) return kbcd.scoring.losses(data.task, scores, held.y) end,
    score = function(scores) return kbcd.scoring.errors(data.task, scores, held.y, "the held-out rows", s.loss) end,
  }
  local steps = s.algorithm(data.X, Y, options)
  return function()
    local step = steps()
    if not step then return nil end
    if classify and step.test_error then  -- for the progress bar
      step.error = step.test_error[kbcd.scoring.best(step.test_error)]
    end
    if step.epoch_end then
      step.train_error = kbcd.scoring.errors(data.task, step.model:fitted(), data.y, "the training rows", s.loss)
    end
    return step
  end
end
