-- fit(data, s): the steps of one training run (see training_data and choices), each with what a command reports:
-- step.test_error and, at an epoch's end, step.train_error have an entry a λ.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local methods = {}

function methods.full(X, Y, s, o)
  o.kernel, o.form = s.kernel, s.form
  return kbcd.full_kernel(X, Y, o)
end

function methods.nystrom(X, Y, s, o)
  o.kernel, o.p, o.gamma = s.kernel, s.p, s.gamma
  return kbcd.nystrom(X, Y, o)
end

function methods.rf(X, Y, s, o)
  o.map = kbcd.features[s.map.kind]{ kernel = s.kernel, p = s.map.p, seed = s.map.seed }
  return kbcd.random_features(X, Y, o)
end

runtime.docs.fit = [[fit(data, settings)
The steps of a training run, of data from training_data and settings from choices, with step.test_error and
step.train_error.]]

return function(data, s)
  local classify, test = data.task == "classify", data.test
  local Y = classify and kbcd.labels.one_vs_all(data.y, { classes = data.k, first = 1 }) or data.y
  local steps = methods[s.method](data.X, Y, s, {
    lambdas = s.lambdas, b = s.b, epochs = s.epochs, tol = s.tol, jitter = s.jitter, partition = s.partition, seed = s.seed,
    cache = s.cache, test = test and test.X, checkpoint = s.checkpoint,
  })
  return function()
    local step = steps()
    if not step then return nil end
    if test then
      step.test_error = kbcd.scoring.errors(data.task, step.test_scores, test.y, "the test rows")
      if classify then step.error = step.test_error[kbcd.scoring.best(step.test_error)] end  -- for the progress bar
    end
    if step.epoch_end then
      step.train_error = kbcd.scoring.errors(data.task, step.model:fitted(), data.y, "the training rows")
    end
    return step
  end
end
