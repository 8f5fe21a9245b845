-- What launch.lua runs on every rank: fit(s) with s, a JSON text, as the argument; prints the result as a line of JSON.

local cjson = require "cjson"
local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local data, fit = require "kbcd.bench.data", require "kbcd.bench.fit"

-- Seconds that a check adds to a collective call: the least of many short rounds, which nothing else disturbed.
local function seconds_of_check()
  local rounds, calls, least = 200, 20, { [true] = math.huge, [false] = math.huge }
  for round = 1, 2 * rounds do
    local on = round % 2 == 0
    runtime.job.set_checking(on)
    kbcd.barrier()
    local start = kbcd.now()
    for _ = 1, calls do kbcd.barrier() end
    least[on] = math.min(least[on], (kbcd.now() - start) / calls)
  end
  return kbcd.allreduce_max(least[true] - least[false])
end

-- The first blocks of a run that is then abandoned: fresh memory is slow, on virtual machines at a tenth of its speed.
local function warm_up(s, set)
  for step in fit.steps(s, set) do if step.block == 2 then break end end
  collectgarbage()
end

local s = cjson.decode(arg[1])
local set = data.images(s.images)
if s.warm then warm_up(s, set) end
local before = runtime.job.checked_calls()
local result = fit(s, set)
if kbcd.size() > 1 then
  result.checked_calls = runtime.job.checked_calls() - before
  result.check_seconds = seconds_of_check()
end
result.bytes = kbcd.allreduce_max(data.bytes(set))
result.memory = kbcd.allreduce_max(kbcd.memory_peak())
kbcd.say("result: %s", cjson.encode(result))
