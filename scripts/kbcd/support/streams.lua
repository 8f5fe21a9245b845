-- The streams of random numbers that the library draws from under one seed, named in one place, so that no two uses share
-- numbers: { seed = o.seed, stream = streams.hold_out }. Those of epochs come first, the others far behind them.

local streams = { centers = 1 }

-- Of the partition into blocks of an epoch (0: of a fixed one), and of the order of the blocks (0: of all epochs).
function streams.partition(epoch) return 2 * epoch end
function streams.order(epoch) return 2 * epoch + 1 end

for i, name in ipairs{ "shuffle", "hold_out", "median", "tune", "rows", "precision" } do streams[name] = 2 ^ 31 + i end

return streams
