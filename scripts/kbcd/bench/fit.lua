-- fit(s, set): one training run on the data of data.images, with a clock on each epoch.
--
-- s: method ("full", "nystrom", "rf"), b, p, lambdas (1e-6), epochs (1), partition. Gives { seconds (of the first epoch),
-- epochs (the seconds of each), lua (the share of the first epoch that no timer of the runtime saw, so at least Lua's),
-- check (numbers that must be the same on any number of ranks) }.

local kbcd = require "kbcd"
local data = require "kbcd.bench.data"

local names = { full = "full kernel", nystrom = "Nyström", rf = "random features" }

-- An algorithm's steps; more: options besides those of s.
local function steps(s, set, more)
  local o = { lambdas = s.lambdas or data.lambda, b = s.b, epochs = s.epochs, partition = s.partition, jitter = true }
  for key, value in pairs(more or {}) do o[key] = value end
  local kernel = kbcd.kernel.rbf{ sigma = data.sigma }
  if s.method == "rf" then
    o.map = kbcd.features.fourier{ kernel = kernel, p = s.p }
    return kbcd.random_features(set.X, set.Y, o)
  end
  o.kernel, o.p = kernel, s.p
  return (s.method == "full" and kbcd.full_kernel or kbcd.nystrom)(set.X, set.Y, o)
end

-- Seconds in the runtime's timers on this rank. What generates a block runs within its products, Grams and so on.
local function timed()
  local sum = 0
  for name, timer in pairs(kbcd.system.timers()) do
    if name ~= "KernelBlock" and name ~= "RandomFeaturesBlock" then sum = sum + timer.seconds end
  end
  return sum
end

-- The scores of a few test rows.
local function check(model, set)
  local few = set.test.X:subset(kbcd.Index.range(1, math.min(8, set.test.X.n)))
  return kbcd.gather(model[1]:predict(few)):totable()
end

local function fit(_, s, set)
  local result, last = { epochs = {} }, nil
  kbcd.timers.reset()
  kbcd.barrier()
  local start = kbcd.now()
  for step in steps(s, set) do
    if step.epoch_end then
      local here = kbcd.now() - start
      if step.epoch == 1 then result.lua = kbcd.allreduce(math.max(0, 1 - timed() / here)) / kbcd.size() end
      result.epochs[step.epoch] = kbcd.allreduce_max(here)
      start = kbcd.now()
    end
    last = step
  end
  result.seconds, result.check = result.epochs[1], check(last.model, set)
  return result
end

return setmetatable({ names = names, steps = steps }, { __call = fit })
