-- leave_one_out_errors(data, s [, model]): the leave-one-out error of each λ of a run (settings of choices, and the model if
-- there is one), where rows are neither held out nor given to test, nil, and the scores; or nil and why not. They are those
-- of the solution, which a run of few epochs may not have reached.

local kbcd = require "kbcd"
local target_scale = require "kbcd.data.target_scale"

local most_operations = 2e12  -- of a rank: some ten seconds

local function operations(X, p)
  return p and 6 * X.n / kbcd.size() * p ^ 2 + 20 * p ^ 3 or 20 * X.n ^ 3
end

local function centers_of(X, s, model)
  if model then return model.centers end
  return s.p and kbcd.centers[s.options.centers or "uniform"](X, s.p, s.kernel, { seed = s.options.seed }) or nil
end

return function(data, s, model)
  local X, o = data.X, s.options
  if not s.algorithm.least_squares or (o.gamma or 0) > 0 then
    return nil, ("%s has no leave-one-out errors in closed form"):format(s.method)
  end
  if s.loss and s.loss.name ~= "squared" then
    return nil, ("the %s loss has no leave-one-out errors in closed form"):format(s.loss.name)
  end
  local bytes = 3 * 8 * (s.p or X.n) ^ 2
  if operations(X, s.p) > most_operations or bytes > kbcd.allreduce_min(kbcd.memory_budget()) then
    return nil, ("leave-one-out errors of %d %s take too long"):format(s.p or X.n, s.p and "centres or features" or "rows")
  end
  local units = data.task == "regress" and target_scale.fit(data.y, s.loss, data.weights)
  local Y = units and units.targets(data.y) or kbcd.labels.one_vs_all(data.y, { classes = data.k, first = 1 })
  local settings = { lambda = o.lambda, map = o.map }
  if o.metric then X = kbcd.metric.apply(o.metric, X) end
  if not o.map then settings.kernel, settings.centers = s.kernel, centers_of(X, s, model) end
  settings.weights = data.weights and kbcd.row_weights.normalised(data.weights)
  local scores = kbcd.leave_one_out(X, Y, settings).scores
  if units then scores = units.scores(scores) end
  return kbcd.scoring.errors(data.task, scores, data.y, "the training rows", nil, data.weights), nil, scores
end
