-- run_log(path): the log of a run, one JSON object a line, for `kbcd report` and for your own tools.
--
--   {"type":"run", "method":…, "kernel":…, "lambdas":[…], "n":…, "d":…, "k":…, "b":…, "p":…, "epochs":…, "seed":…,
--    "ranks":…, "threads":…, "precision":…, "task":"classify"|"regress", "data":…, "versions":…}          the settings, first
--   {"type":"block", "epoch":…, "block":…, "blocks":…, "epoch_end":…, "seconds":…, "primitives":{name:seconds,…},
--    "residual":[…], "test_error":[…], "cached_bytes":…}                                                 one a block
--   {"type":"end", "seconds":…, "best":…, "test_error":[…]}                                              the result, last
--
-- "seconds" counts the algorithm's own time from its start (evaluation left out); lists have an entry a λ; what a run does
-- not have is left out. Rank 0 writes; every line is flushed, so that a run that is stopped leaves what it had.

local kbcd = require "kbcd"

kbcd.system.docs.run_log = [[run_log([path])
The log of a run: log:write{ type = "block", … } adds one JSON object a line; log:close(). Without a path, writes nothing.]]

return function(path)
  local log = {}
  if not path or kbcd.rank() ~= 0 then
    function log.write() end
    function log.close() end
    return log
  end
  local found, cjson = pcall(require, "cjson")
  if not found then error("the log needs lua-cjson; on Debian: apt-get install lua-cjson", 0) end
  local file, reason = io.open(path, "w")
  if not file then error(("the log cannot be written: %s"):format(reason), 2) end
  function log.write(_, entry)
    file:write(cjson.encode(entry), "\n")
    file:flush()
  end
  function log.close() file:close() end
  return log
end
