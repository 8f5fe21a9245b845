-- ranks: 1
-- Streams of random numbers: what runs drew before they had names stays, and nothing meets an epoch's.

local kbcd = require "kbcd"
local spec = require "spec"
local streams = require "kbcd.support.streams"
local test, equal, fails = spec.test, spec.equal, spec.fails

test("the streams of epochs are those that models were made with", function()
  equal(streams.centers, 1)
  equal(streams.partition(), 0)
  equal(streams.order(), 1)
  for epoch = 1, 5 do
    equal(streams.partition(epoch), 2 * epoch)
    equal(streams.order(epoch), 2 * epoch + 1)
  end
  fails(function() streams.partition(0) end, "epoch", "got 0")
  fails(function() streams.order(2 ^ 30) end, "epoch")
end)

test("every other use has a stream of its own, beyond the last epoch's", function()
  local used = {}
  for name, stream in pairs(streams) do
    if type(stream) == "number" and name ~= "centers" then
      equal(stream > streams.order(2 ^ 30 - 1) and stream < 2 ^ 32, true, name)
      equal(used[stream], nil, name)
      used[stream] = name
      equal(#kbcd.Index.permutation(9, { stream = stream }), 9)
      equal(kbcd.Matrix.rand(2, 1, { stream = stream }).nrows, 2)
    end
  end
  for _, name in ipairs{ "shuffle", "hold_out", "folds", "median", "widths", "rows", "precision", "residual" } do
    equal(used[streams[name]], name)
  end
  fails(function() return streams.holdout end, "'holdout'")
end)

spec.finish()
