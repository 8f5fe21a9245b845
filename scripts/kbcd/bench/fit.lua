-- fit(s, set): one training run on the data of data.images, with a clock on each epoch.
--
-- s: method ("full_kernel", "nystrom", "random_features"), b, p, lambda (1e-6), epochs (1), partition, keep. peak (or
-- nil): a function that measures the machine's speed; it is called every few seconds between steps, since that speed drifts
-- within an epoch. Returns { seconds (of the first epoch), epochs (the seconds of each), peak (the mean in the first
-- epoch), lua (the share of the first epoch that was not within a primitive, so Lua's), check (numbers that must be the
-- same on any number of ranks) }.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local data = require "kbcd.bench.data"

local names = { full_kernel = "full kernel", nystrom = "Nyström", random_features = "random features" }

-- An algorithm's steps; more: options besides those of s.
local function steps(s, set, more)
  local o = { lambda = s.lambda or data.lambda, b = s.b, epochs = s.epochs, partition = s.partition, keep = s.keep,
    jitter = true }
  for key, value in pairs(more or {}) do o[key] = value end
  local kernel = kbcd.kernel.rbf{ sigma = data.sigma }
  if s.method == "random_features" then
    o.map = kbcd.features.fourier{ kernel = kernel, p = s.p }
    return kbcd.random_features(set.X, set.Y, o)
  end
  o.kernel, o.p = kernel, s.p
  return (s.method == "full_kernel" and kbcd.full_kernel or kbcd.nystrom)(set.X, set.Y, o)
end

-- The scores of a few test rows.
local function check(model, set)
  local few = set.test.X:subset(kbcd.Index.range(1, math.min(8, set.test.X.n)))
  return kbcd.gather(model[1]:predict(few)):totable()
end

-- The machine's speed, measured every few seconds: ask() measures if it is due, mean() is the mean so far. The time of the
-- measurements is in `seconds` and, within primitives, in `inside`.
local function speedometer(peak)
  local meter, sum, count, last = { seconds = 0, inside = 0 }, 0, 0, -math.huge
  local every = 2
  function meter.ask()
    if not peak or kbcd.allreduce_max(kbcd.now() - last) < every then return end
    local start, inside = kbcd.now(), runtime.timing.seconds_in_primitives()
    sum, count, last = sum + peak(), count + 1, kbcd.now()
    meter.seconds = meter.seconds + last - start
    meter.inside = meter.inside + runtime.timing.seconds_in_primitives() - inside
  end
  function meter.mean() return count > 0 and sum / count or nil end
  return meter
end

local function fit(_, s, set, peak)
  local result, last, before, meter = { epochs = {} }, nil, 0, speedometer(peak)
  kbcd.timers.reset()
  kbcd.barrier()
  local start, inside = kbcd.now(), runtime.timing.seconds_in_primitives()
  for step in steps(s, set) do
    if step.epoch == 1 then meter.ask() end
    if step.epoch_end then
      if step.epoch == 1 then
        local primitives = runtime.timing.seconds_in_primitives() - inside - meter.inside
        result.lua = kbcd.allreduce(1 - primitives / (kbcd.now() - start - meter.seconds)) / kbcd.size()
      end
      result.epochs[step.epoch] = kbcd.allreduce_max(step.seconds - before)
      before = step.seconds
    end
    last = step
  end
  result.seconds, result.peak, result.check = result.epochs[1], meter.mean(), check(last.model, set)
  return result
end

return setmetatable({ names = names, steps = steps }, { __call = fit })
