-- Coroutines that resume coroutines, and functions of Lua's library that call Lua again, nest on the C stack, to which Lua
-- sets no limit: these check it first, so that endless recursion is an error, not a crash. Loaded once, by the program.

-- luacheck: ignore 121 122
local runtime = require "kbcd.runtime"
local require_c_stack = runtime.job.require_c_stack
local create, resume = coroutine.create, coroutine.resume
local error, type = error, type

local depth = 0  -- coroutines that are within each other now

local function left(...)
  depth = depth - 1
  return ...
end

local function counted_resume(co, ...)
  if type(co) ~= "thread" then return resume(co, ...) end  -- its own message
  require_c_stack(depth)
  depth = depth + 1
  return left(resume(co, ...))
end
coroutine.resume = counted_resume

local function unwrapped(ok, ...)
  if not ok then error((...), 2) end
  return ...
end

function coroutine.wrap(f)
  local co = create(f)
  return function(...) return unwrapped(counted_resume(co, ...)) end
end

for _, place in ipairs{ { string, "gsub" }, { table, "sort" }, { table, "foreach" }, { table, "foreachi" }, { _G, "load" },
                        { _G, "print" }, { _G, "collectgarbage" } } do
  local library, name = place[1], place[2]
  local original = library[name]
  library[name] = function(...)
    require_c_stack(depth)
    return original(...)  -- a tail call, so that messages name the caller's line
  end
end
loadstring = load
