-- refit(data, s, last, best, all_lambdas): the chosen model on all rows, with those that were held out to choose it: the
-- settings s of the run, for as many epochs as it took (`last` is its last step), with the best λ alone or with all of them.
-- Gives the last step of the new run, whose errors are of the new model, the settings and the data of it.

local kbcd = require "kbcd"

return function(data, s, last, best, all_lambdas)
  local all, again, options = kbcd.training_data.refit(data), {}, {}
  for name, value in pairs(s) do again[name] = value end
  for name, value in pairs(s.options) do options[name] = value end
  again.options, again.units, again.log, again.checkpoint = options, nil, nil, nil
  options.epochs, options.patience, options.tol = last.epoch, 0, 0
  if not all_lambdas then options.lambda = { s.options.lambda[best] } end
  if options.b == data.X.n and not s.p then options.b = all.X.n end
  local calibration = last.model.calibration
  last.model = nil  -- its blocks need not stay in memory
  local final
  for step in kbcd.fit(all, again) do final = step end
  if calibration then final.model.calibration = all_lambdas and calibration or calibration:rows(best):clone() end
  return final, again, all
end
