-- run_log(path): the log of a run, one JSON object a line, for `kbcd report` and for your own tools.
--
--   {"type":"run", "method":…, "title":…, "n":…, "d":…, "k":…, "p":…, "ranks":…, "threads":…, "precision":…,
--    "task":"classify"|"regress", "data":…, "versions":…, and every option of the method: "lambda":[…], "b":…, …}  first
--   {"type":"block", "epoch":…, "block":…, "blocks":…, "epoch_end":…, "seconds":…, "primitives":{name:seconds,…},
--    "residual":[…], "test_error":[…], "cached_bytes":…}                                                 one a block
--   {"type":"end", "seconds":…, "best":…, "test_error":[…]}                                              the result, last
--
-- "seconds" counts the algorithm's own time from its start (evaluation left out); lists have an entry a λ; what a run does
-- not have is left out. Rank 0 writes; every line is flushed, so that a run that is stopped leaves what it had, and one that
-- cannot be written is an error. A run that is taken up goes on with its log behind the block that it is taken up after. A
-- log that was there stays until the first line of the new one is written.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.run_log = [[run_log([path, resumed])
The log of a run: log:write{ type = "block", … } adds one JSON object a line; log:close(). Without a path, writes nothing.
resumed: { epoch, block }, which the lines that are there are kept up to; log.continued tells whether there were any.]]

-- The lines of a log up to a block; none where they do not begin with those of a run.
local function lines_until(path, resumed, decode)
  local file, kept = resumed and io.open(path), {}
  for line in file and file:lines() or function() end do
    local entry = decode(line)
    local of_block = type(entry) == "table" and entry.type == "block" and type(entry.epoch) == "number" and
      type(entry.block) == "number" and (entry.epoch < resumed.epoch or
      entry.epoch == resumed.epoch and entry.block <= resumed.block)
    local first = #kept == 0 and type(entry) == "table" and entry.type == "run"
    if not first and not (of_block and #kept > 0) then break end
    kept[#kept + 1] = line
  end
  if file then file:close() end
  return kept
end

return function(path, resumed)
  local log = {}
  if not path or kbcd.rank() ~= 0 then
    function log.write() end
    function log.close() end
    return log
  end
  local found, cjson = pcall(require, "cjson.safe")
  if not found then error("the log needs lua-cjson; on Debian: apt-get install lua-cjson", 0) end
  local kept = lines_until(path, resumed, cjson.decode)
  log.continued = #kept > 0
  kbcd.output_file.check(path)
  local part = kbcd.output_file.temporary_name(path)
  os.remove(part)
  local file, reason = io.open(part, "w")
  if not file then error(("the log cannot be written: %s"):format(reason), 2) end

  local function put(text)
    local good, why = file:write(text, "\n")
    if good then good, why = file:flush() end
    if good and part then
      good, why = os.rename(part, runtime.files.real_path(path))
      if good then part = nil end
    end
    if good then return end
    file:close()
    if part then os.remove(part) end
    error(("%s: the log cannot be written to its end (%s)"):format(path, tostring(why)), 0)
  end

  if log.continued then put(table.concat(kept, "\n")) end
  function log.write(_, entry) put(assert(cjson.encode(entry))) end
  function log.close() file:close() end
  return log
end
