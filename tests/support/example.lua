-- example(name, …): the lines that scripts/examples/NAME.lua says when it is run with these arguments, as a list. Where the
-- example would end the job with a message, that is an error here.

local kbcd = require "kbcd"

return function(name, ...)
  local chunk = assert(loadfile(("%s/scripts/examples/%s.lua"):format(os.getenv("KBCD_SOURCE"), name)))
  local say, command, given, lines = kbcd.say, kbcd.command, _G.arg, {}
  kbcd.say = function(format, ...) lines[#lines + 1] = format:format(...) end
  kbcd.command = function(_, main) main() end
  _G.arg = { ... }
  local good, message = pcall(chunk)
  kbcd.say, kbcd.command, _G.arg = say, command, given
  if not good then error(message, 0) end
  assert(#lines > 0, name .. " says nothing")
  return lines
end
