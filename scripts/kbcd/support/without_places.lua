-- without_places(message): an error message without the `file.lua:12:` of the library's own files that it begins with, for
-- users of the commands. The place in a file of the user's (a method, a kernel) stays.

local library = debug.getinfo(1, "S").source:match("^@(.*/)kbcd/support/[^/]*$") or ""

-- Lua shortens long paths to "...end/of/path.lua".
local function is_own(path)
  local ending = path:match("^%.%.%.(.*)")
  if not ending then return path:sub(1, #library) == library end
  return ending:find("scripts/", 1, true) ~= nil or library:sub(-#ending) == ending
end

return function(message)
  local text = tostring(message)
  while true do
    local path, rest = text:match("^(%S+%.lua):%d+: (.*)$")
    if not path or not is_own(path) then return text end
    text = rest
  end
end
