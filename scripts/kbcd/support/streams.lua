-- The streams of random numbers, by name: two uses of one seed never share numbers.
--
-- Epoch e = 1, 2, … has a partition (stream 2e) and an order of its blocks (2e + 1); partition() and order() are those that
-- all epochs share. Everything else counts from 2^31, which no epoch reaches. A stream is a number below 2^32.

local streams = { centers = 1 }  -- older than the rule; it draws from the rows, where order() draws from the blocks

local function of_epoch(epoch)
  if not epoch then return 0 end
  if not (epoch >= 1 and epoch < 2 ^ 30) then error(("an epoch from 1 to 2^30 - 1 expected, got %s"):format(epoch), 3) end
  return 2 * epoch
end

function streams.partition(epoch) return of_epoch(epoch) end
function streams.order(epoch) return of_epoch(epoch) + 1 end

for i, name in ipairs{ "shuffle", "hold_out", "folds", "median", "widths", "rows", "precision", "residual",
  "medians", "search", "follow" } do
  streams[name] = 2 ^ 31 + i
end

return setmetatable(streams, { __index = function(_, name)
  error(("there is no stream '%s'; scripts/kbcd/support/streams.lua names them"):format(tostring(name)), 2)
end })
