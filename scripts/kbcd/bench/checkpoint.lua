-- checkpoint: the time to write one, in a run of the full kernel on Fashion-MNIST, as a share of the minute between two. It
-- is written to the current folder, and so to its disk.

local kbcd = require "kbcd"
local data, fit, measure = require "kbcd.bench.data", require "kbcd.bench.fit", require "kbcd.bench.measure"

local path, between = "bench.checkpoint", 60

local function size_of(name)
  local file = assert(io.open(name, "rb"))
  local bytes = file:seek("end")
  file:close()
  return bytes
end

return function(bench)
  local set = data.images(bench.images())
  local c, saves = kbcd.checkpoint(path, { every = 0 }), {}
  local save = c.save
  function c.save(_, settings, state)
    saves[#saves + 1] = { seconds = measure.seconds(function() save(c, settings, state) end) }
  end
  local steps = fit.steps({ method = "full_kernel", b = bench.sizes.p_block }, set, { test = set.test.X, checkpoint = c })
  for _ = 0, bench.repeats do steps() end  -- a step first saves the state after the one before
  local middle, bytes = bench.median(saves, "seconds").seconds, size_of(path)
  kbcd.barrier()
  c:remove()
  bench.add{ group = "checkpoint", name = ("full kernel, one every %d s"):format(between), value = 100 * middle / between,
    unit = "% of a run", bar = 2, at_most = true, seconds = middle, note = ("%.3g MB"):format(bytes / 1e6) }
end
