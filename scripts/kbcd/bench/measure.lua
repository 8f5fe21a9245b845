-- Timing in rounds. A machine's speed drifts, so each round does every item once, with the peak (a product of square f32
-- matrices) taken right before and right after it, and an item's figure is that of its median round.

local kbcd = require "kbcd"
local flops = require "kbcd.bench.flops"
local Matrix = kbcd.Matrix

local measure = {}

-- The middle one of a list of tables by their field `key`; of an even number, the lower of the two in the middle.
function measure.median(list, key)
  local sorted = { unpack(list) }
  table.sort(sorted, function(a, b) return a[key] < b[key] end)
  return sorted[math.ceil(#sorted / 2)]
end

-- The seconds of f() on the slowest rank, started together after a garbage collection; and the result of f.
function measure.seconds(f)
  collectgarbage()
  collectgarbage()
  kbcd.barrier()
  local start = kbcd.now()
  local result = f()
  return kbcd.allreduce_max(kbcd.now() - start), result
end

-- A function that multiplies once and returns the GFLOP/s of all ranks together.
function measure.multiplier(size, dtype)
  local A, B = Matrix.randn(size, size, { seed = 1, dtype = dtype }), Matrix.randn(size, size, { seed = 2, dtype = dtype })
  return function()
    local C
    local seconds = measure.seconds(function() C = A * B end)
    C:release()
    return kbcd.size() * flops.product(size, size, size) / seconds / 1e9
  end
end

-- A function that reads a large Matrix once and returns the GB/s of all ranks together: the speed of memory.
function measure.reader(numbers)
  local A = Matrix.zeros(math.ceil(numbers / 4096), 4096, "f32"):fill(1)
  return function()
    return kbcd.size() * 4 * A.nrows * A.ncols / measure.seconds(function() return A:sum() end) / 1e9
  end
end

-- The least-squares slope of log y on log x: the exponent e of y = c x^e.
function measure.exponent(x, y)
  local n, sx, sy, sxx, sxy = #x, 0, 0, 0, 0
  for i = 1, n do
    local u, v = math.log(x[i]), math.log(y[i])
    sx, sy, sxx, sxy = sx + u, sy + v, sxx + u * u, sxy + u * v
  end
  return (n * sxy - sx * sy) / (n * sxx - sx * sx)
end

-- items: { run = f, flop = of all ranks, warm = false (no run before the rounds) }. f may return a table; where that has
-- `seconds`, they count instead of f's time, and where it has `peak` (measured in between), that counts instead of the two.
-- Gives a list of rounds for each item: { seconds, rate, peak (both GFLOP/s), ratio, result }.
function measure.rounds(items, count, peak)
  local all = {}
  peak()
  for i, item in ipairs(items) do
    all[i] = {}
    if item.warm ~= false then item.run() end
  end
  for round = 1, count do
    local before = peak()
    for i, item in ipairs(items) do
      local seconds, result = measure.seconds(item.run)
      local after = peak()
      seconds = result and result.seconds or seconds
      local r = { seconds = seconds, peak = result and result.peak or (before + after) / 2, result = result }
      if item.flop then
        r.rate = item.flop / seconds / 1e9
        r.ratio = r.rate / r.peak
      end
      all[i][round], before = r, after
    end
  end
  return all
end

return measure
