-- logged_fit(data, s, path): the steps of fit(data, s), each written to the log at `path` (run_log.lua; none without a
-- path).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.logged_fit = [[logged_fit(data, settings [, path])
The steps of fit(data, settings), with every block written to a log that `kbcd report` reads.]]

-- Seconds of each primitive since the last call, on this rank.
local function stopwatch()
  local before = {}
  local function spent()
    local seconds = {}
    for name, timer in pairs(runtime.timing.timers()) do
      local since = timer.seconds - (before[name] or 0)
      if since > 0 then seconds[name] = since end
      before[name] = timer.seconds
    end
    return seconds
  end
  spent()
  return spent
end

return function(data, s, path)
  local steps, X = kbcd.fit(data, s), data.X
  local log = kbcd.run_log(path, s.checkpoint and s.checkpoint.resumed)
  if not log.continued then
    local run = { type = "run", method = s.method, title = s.algorithm.title, n = X.n, d = X.d, k = data.k, p = s.p,
      ranks = kbcd.size(), threads = kbcd.threads(), precision = X.dtype, task = data.task, data = data.source,
      versions = kbcd.version() }
    for name, value in pairs(s.options) do
      run[name] = (type(value) == "userdata" or type(value) == "function") and tostring(value) or value
    end
    log:write(run)
  end
  local primitives, last = stopwatch(), nil
  return function()
    local step = steps()
    if step then
      last = step
      log:write{
        type = "block", epoch = step.epoch, block = step.block, blocks = step.blocks, epoch_end = step.epoch_end,
        seconds = step.seconds, primitives = primitives(), residual = step.residual, test_error = step.test_error,
        cached_bytes = runtime.memory.reserved(),
      }
    elseif last then
      local best = kbcd.scoring.best(last.test_error or last.train_error)
      log:write{ type = "end", seconds = last.seconds, best = best, test_error = last.test_error }
      log:close()
      last = nil
    end
    return step
  end
end
