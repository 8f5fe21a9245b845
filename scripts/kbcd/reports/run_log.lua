-- run_log(path): the log of a run, one JSON object a line, for `kbcd report` and for your own tools.
--
--   {"type":"run", "method":…, "title":…, "n":…, "d":…, "k":…, "p":…, "ranks":…, "threads":…, "precision":…, "bytes":…,
--    "task":"classify"|"regress", "data":…, "versions":…, "residual_of":"equations"|"targets", and every option of the
--    method: "lambda":[…], "b":…, …}                                                                     first
--   {"type":"block", "epoch":…, "block":…, "blocks":…, "epoch_end":…, "seconds":…, "primitives":{name:seconds,…}, "p":…,
--    "residual":[…], "residual_before":[…], "test_error":[…], "held_out_error":[…], "own_error":[…],
--    "cached_bytes":…}                                                                                   one a block
--   {"type":"end", "seconds":…, "best":…, "test_error":[…], "held_out_error":[…], "columns":[{"name":…,"weight":…},…]}
--   {"type":"details", …}                                     after it, of the commands: log_details.lua describes it
--
-- "residual" is |Y − (K + nλI) α| / |Y| of the equations of a model of all rows, estimated from some rows at the end of each
-- epoch unless the method keeps it; of other models, what is left of the targets. "residual_before" is that of the blocks so
-- far of the epoch, each before its step. "held_out_error" is that of held-out rows at the end of an epoch. "p" is the number
-- of centres so far, of a method that adds to them. "own_error" is what a method has measured itself. "best" is the λ
-- with the least own error, else error of held-out rows, else test error.
--
-- "columns" are those that a model's metric counts most. "seconds" counts the algorithm's own time from its start,
-- without evaluation; lists have an entry for each λ; fields that a run does not have are omitted. Rank 0 writes; every
-- line is flushed, so that a run that is stopped leaves its lines so far, and a line that cannot be written is an error.
-- A run that resumes continues its log after the block that it resumes from. An old log is kept until the first line of
-- the new one is written.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.run_log = [[run_log([path, resumed])
The log of a run: log:write{ type = "block", … } adds one JSON object a line; log:close(). Without a path, writes nothing.
resumed: { epoch, block }; the lines of the old log up to that block are kept. log.continued: whether there were any.]]

-- The lines of a log up to a block; none if the file does not begin as a log.
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
