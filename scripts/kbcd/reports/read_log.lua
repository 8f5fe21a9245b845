-- read_log(path): a run's log (run_log.lua writes it) as { settings, blocks, result, details, name }.
--
-- settings is the "run" line, blocks the list of "block" lines, result the "end" line or nil for a run that was stopped,
-- details the "details" line (log_details.lua) or nil. A last line that was cut off, as a killed run leaves it, is skipped;
-- anything else that is not a log is an error.

local runtime = require "kbcd.runtime"

runtime.docs.read_log = [[read_log(path)
The log of a run, which run_log wrote: settings (the "run" line), blocks (a list of the "block" lines), result (the "end"
line, or nil for a run that was stopped), details (the "details" line, or nil), name. A last line that was cut off is
skipped.]]

local function log_error(path, line, message, ...)
  error(("%s, line %d: %s"):format(path, line, message:format(...)), 0)
end

return function(path)
  local cjson = require "cjson.safe"
  local file, reason = io.open(path)
  if not file then error(("%s cannot be read: %s"):format(path, reason), 0) end
  local text = file:read("*a")
  file:close()
  local log, number = { blocks = {}, name = path:match("([^/]+)%.jsonl$") or path:match("[^/]+$") }, 0
  for line, ending in text:gmatch("([^\n]*)(\n?)") do
    number = number + 1
    local entry = line ~= "" and cjson.decode(line)
    if line ~= "" and type(entry) ~= "table" then
      if ending == "" then break end
      log_error(path, number, "a JSON object expected, got '%s'", line:sub(1, 40))
    end
    if entry and entry.type == "run" then log.settings = entry
    elseif entry and entry.type == "block" then
      if type(entry.seconds) ~= "number" or type(entry.epoch) ~= "number" then
        log_error(path, number, "a block without seconds or epoch")
      end
      log.blocks[#log.blocks + 1] = entry
    elseif entry and entry.type == "end" then log.result = entry
    elseif entry and entry.type == "details" then log.details = entry
    elseif entry then
      log_error(path, number, "type 'run', 'block', 'end' or 'details' expected, got '%s'", tostring(entry.type))
    end
  end
  if not log.settings then error(("%s: no line of type 'run'; is it a log of kbcd train or compare?"):format(path), 0) end
  if #log.blocks == 0 then error(("%s: the run has no blocks yet"):format(path), 0) end
  return log
end
