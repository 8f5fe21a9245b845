-- command(name, main): runs a command of the program. An error in its files or options is reported in one line, without a
-- Lua traceback; KBCD_TRACE=1 shows the traceback, and a bug in the command always shows it.

local kbcd = require "kbcd"
local without_places = require "kbcd.support.without_places"
local runtime = require "kbcd.runtime"
local from_root = require "kbcd.support.from_root"

runtime.docs.command = [[command(name, main)
Runs main() as a command of the program: an error becomes one line, without a traceback (KBCD_TRACE=1 shows it), and ends
the job with status 1.]]

local function describe(e)
  local text = tostring(e)
  if os.getenv("KBCD_TRACE") or text:find("attempt to ", 1, true) then return debug.traceback(text, 2) end
  return without_places(text)
end

return function(name, main)
  local good, message = xpcall(main, describe)
  if good then return from_root.forget() end
  io.stdout:flush()
  local rank = kbcd.size() > 1 and runtime.job.who() or ""
  runtime.job.abort(("%skbcd %s: %s"):format(rank, name, message))
end
