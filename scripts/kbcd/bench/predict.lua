-- predict: the scores that a model of p centres and one of p random features give rows: 2np(d + k) flop over the time.

local data, fit, flops = require "kbcd.bench.data", require "kbcd.bench.fit", require "kbcd.bench.flops"

return function(bench)
  local s, images, items = bench.sizes, bench.images(), {}
  local n, p = images.n, s.predict_p
  images.n = math.min(images.n, 2 * p)
  local set = data.images(images)
  local rows = data.rows(n, set.X.d)
  for _, method in ipairs{ "nystrom", "random_features" } do
    local model
    for step in fit.steps({ method = method, p = p, b = p }, set) do model = step.model[1] end
    items[#items + 1] = { name = ("%s, p=%d, %d rows"):format(fit.names[method], p, n),
      flop = flops.block_times(n, p, set.X.d, set.Y.ncols), run = function() model:predict(rows):release() end }
  end
  bench.add_rates("predict", items, bench.measure(items, bench.repeats))
end
