-- Identifies a kernel or a feature map that is written in Lua: its parameters and a fingerprint of the source of its
-- function. A model file stores them, and loading it checks that the supplied code is the same.

local runtime = require "kbcd.runtime"

local known = setmetatable({}, { __mode = "k" })  -- by the kernel or map: { source, params }

-- The lines of a function in its file; its code, where there is no file.
local function text_of(f)
  local where = debug.getinfo and debug.getinfo(f, "S")
  local file = where and where.source:sub(1, 1) == "@" and io.open(where.source:sub(2))
  if not file then return string.dump(f, true) end
  local lines, number = {}, 0
  for line in file:lines() do
    number = number + 1
    if number >= where.linedefined and number <= where.lastlinedefined then lines[#lines + 1] = line end
  end
  file:close()
  return table.concat(lines, "\n")
end

local lua_source = {}

-- A fingerprint of a function's source; nil where it cannot be read.
function lua_source.text(f)
  local good, text = pcall(text_of, f)
  return good and runtime.files.checksum(text) or nil
end

-- The object, remembered with the function that it was made of and its parameters.
function lua_source.remember(object, f, params)
  known[object] = { source = lua_source.text(f), params = params or {} }
  return object
end

-- The fingerprint and the parameters of what is written in Lua; nil for a kernel or map of the library.
function lua_source.of(object)
  local entry = known[object]
  if entry then return entry.source or "unknown", entry.params end
end

return lua_source
