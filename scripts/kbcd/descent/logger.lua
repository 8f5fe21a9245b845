-- logger(run): writes the log of a run (o.log: a path, or { path, about }), a line of JSON for each step (run_log.lua
-- describes them): f(step, ends). A run that resumes continues its log.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local column_table = require "kbcd.reports.column_table"

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

-- The line of settings: the method, the shapes, every option, and what the caller adds.
local function settings(run, about)
  local X, model = run.X, run.model
  local entry = { type = "run", method = run.owner, title = run.title, n = X.n, d = X.d, k = run.lambda.k,
    p = not model.distributed and model.count or nil, ranks = kbcd.size(), threads = kbcd.threads(), precision = X.dtype,
    bytes = X.bytes and true or nil,
    versions = kbcd.version(), lambda = run.lambda.values,
    residual_of = run.residual_of }
  for name, value in pairs(run.o) do
    local kind = kbcd.type(value)
    if kind == "Kernel" or kind == "FeatureMap" or name == "loss" then value, kind = tostring(value), "string" end
    local plain = kind == "number" or kind == "string" or kind == "boolean" and value
    if plain and name ~= "log" then entry[name] = value end
  end
  for name, value in pairs(about or {}) do entry[name] = value end
  return entry
end

return function(run)
  local o = run.o
  local given = type(o.log) == "table" and o.log or { path = o.log }
  local log = kbcd.run_log(given.path, o.checkpoint and o.checkpoint.resumed)
  if not log.continued then log:write(settings(run, given.about)) end
  local primitives = stopwatch()
  return function(step, ends)
    log:write{
      type = "block", epoch = step.epoch, block = step.block, blocks = step.blocks, epoch_end = step.epoch_end,
      seconds = step.seconds, primitives = primitives(), residual = step.residual,
      residual_before = step.residual_before, test_error = step.test_error, held_out_error = step.held_out_error,
      own_error = step.own_error, p = step.p, cached_bytes = runtime.memory.reserved(),
    }
    if not ends then return end
    local judged, metric = step.own_error or step.held_out_error or step.test_error, run.model.metric
    log:write{ type = "end", seconds = step.seconds, best = judged and kbcd.scoring.best(judged),
      test_error = step.test_error, held_out_error = step.held_out_error,
      columns = metric and column_table.list(metric, given.columns) or nil }
    log:close()
  end
end
