-- losses: logistic regression by Newton's method (newton) against least squares (falkon) on the same centres: the log-loss of
-- the test rows, and the time. The probabilities of least squares are calibrated on a tenth of the rows, which neither is
-- trained on.

local kbcd = require "kbcd"
local data = require "kbcd.bench.data"
local softmax = require "kbcd.data.softmax"

-- The model of a method after its own number of iterations, and the seconds of the whole run.
local function train(method, X, Y, p)
  kbcd.barrier()
  local start, last = kbcd.now(), nil
  for step in kbcd[method](X, Y, { kernel = kbcd.kernel.rbf{ sigma = data.sigma }, lambda = data.lambda, p = p }) do
    last = step
  end
  return last.model, kbcd.allreduce_max(kbcd.now() - start)
end

return function(bench)
  local p, set = bench.sizes.loss_p, data.images(bench.images())
  local n, k = set.X.n, set.Y.ncols
  local train_rows, held_out = kbcd.Index.range(1, math.floor(0.9 * n)), kbcd.Index.range(math.floor(0.9 * n) + 1, n)
  -- Class numbers 1..k.
  local function numbers(y)
    local values = {}
    for c = 1, k do values[c] = c - 1 + set.first end
    return kbcd.classes.numbers(y, values)
  end
  local X, y, test_y = set.X:subset(train_rows), numbers(set.y), numbers(set.test.y)
  local Y = kbcd.labels.one_vs_all(y:subset(train_rows), { classes = k, first = 1 })
  local seconds, scores = { falkon = {}, newton = {} }, {}
  for round = 1, bench.long_repeats do
    for _, method in ipairs{ "falkon", "newton" } do
      local model
      model, seconds[method][round] = train(method, X, Y, p)
      scores[method] = model[1]:predict(set.test.X)
      if method == "falkon" then
        local row = kbcd.calibration({ model[1]:predict(set.X:subset(held_out)) }, y:subset(held_out))
        scores.calibrated = kbcd.calibration.apply(row, scores.falkon)
      end
    end
  end
  local function middle(list)
    table.sort(list)
    return list[math.ceil(#list / 2)]
  end
  local squares = kbcd.scoring.log_loss(scores.calibrated, test_y)
  local logistic = kbcd.scoring.log_loss(softmax(scores.newton), test_y)
  local ratio = middle(seconds.newton) / middle(seconds.falkon)
  bench.add{ group = "losses", name = ("logistic by newton, p=%d, log-loss"):format(p), value = logistic / squares,
    unit = "of calibrated falkon's", bar = 1, at_most = true,
    note = ("%.4f and %.4f; errors %.2f%% and %.2f%%"):format(logistic, squares,
    100 * kbcd.scoring.wrong(scores.newton, test_y),
    100 * kbcd.scoring.wrong(scores.falkon, test_y)) }
  bench.add{ group = "losses", name = ("logistic by newton, p=%d, time"):format(p), value = ratio,
    unit = "x falkon's", bar = 4, at_most = true, seconds = middle(seconds.newton),
    note = ("falkon %.3g s"):format(middle(seconds.falkon)) }
end
