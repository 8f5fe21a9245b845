-- log_details(): what the page of a run shows beside its blocks, gathered while it runs, and written as one more line at the
-- end of its log (run_log.lua), of bounded size:
--
--   {"type":"details", "rows_of":"test"|"held-out"|"leave-one-out", "rows":…, "metrics":{"r2":…, "auc":…, …},
--    "curve":[{"epoch":…, "seconds":…, "train_error":[…], "held_out_error":[…], "test_error":[…]},…],
--    "names":[…], "confusion":[[…],…], "calibration":[{"rows":…, "confidence":…, "accuracy":…},…],
--    "residuals":[[prediction, target],…]}
--
-- curve has at most 200 epochs; confusion is there for at most 30 classes; residuals are those of at most 500 rows, evenly
-- spaced, of the first target. All are of the best λ but the lists of curve, which have an entry for each λ.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local most_epochs, most_classes, most_rows = 200, 30, 500

-- Some of a list: the last, and others at even distances.
local function thinned(list, most)
  local every, some = math.ceil(#list / most), {}
  for i = #list, 1, -math.max(every, 1) do table.insert(some, 1, list[i]) end
  return some
end

-- Predictions and targets of some rows, on every rank.
local function sample(S, y)
  local wanted, pairs_of = {}, {}
  local every = math.max(1, math.ceil(y.n / most_rows))
  for i = 1, y.n, every do wanted[#wanted + 1] = i end
  local I = kbcd.Index(wanted)
  local F, Y = kbcd.DataSet.local_part(y.n, S):gather(I), y:gather(I)
  for i = 1, #wanted do pairs_of[i] = { F(i, 1), Y(i, 1) } end
  return pairs_of
end

-- What is known of scores S of rows `set`; P: probabilities, or nil.
local function measured(data, S, set, P)
  if data.task == "regress" then
    local m = kbcd.metrics.regression(S, set.y, set.weights)
    return { metrics = { rmse = m.rmse, mae = m.mae, r2 = m.r2 }, residuals = sample(S, set.y) }
  end
  local m = kbcd.metrics.classification(S, set.y, P, set.weights)
  return { names = data.names, confusion = data.k <= most_classes and m.confusion:totable() or nil,
    calibration = m.calibration,
    metrics = { error = m.error, auc = m.auc, f1_macro = m.f1_macro, log_loss = m.log_loss, brier = m.brier,
      calibration_error = m.calibration_error } }
end

return function()
  local details, curve = {}, {}

  -- After each step of the run.
  function details.step(step)
    if not step.epoch_end then return end
    curve[#curve + 1] = { epoch = step.epoch, seconds = step.seconds, train_error = step.train_error,
      held_out_error = step.held_out_error, test_error = step.test_error }
  end

  -- Adds the line to a log: of scores S of rows `set` ({ X, y, weights }; nil: there are none), which are those of
  -- `rows_of`, by a model and its best λ. All ranks call it.
  function details.write(path, data, model, best, S, set, rows_of)
    if not path then return end
    local P = S and data.task == "classify" and model:has_probabilities() and model:probabilities_of(best, S) or nil
    local line = S and measured(data, S, set, P) or {}
    line.type, line.curve = "details", thinned(curve, most_epochs)
    if S then line.rows_of, line.rows = rows_of, set.y.n end
    if kbcd.rank() ~= 0 then return end
    local file, reason = io.open(runtime.files.real_path(path), "a")
    local good = file and file:write(require("cjson").encode(line), "\n")
    if file then good = file:close() and good end
    if not good then error(("%s: the log cannot be written to its end (%s)"):format(path, tostring(reason)), 0) end
  end

  return details
end
