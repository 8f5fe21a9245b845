-- targets.lua: what a script can call, found by looking: every function of kbcd, of its sub-tables, of the library's public
-- modules and of the runtime; every method that an object has (in its metatable or, where that is hidden, by help's texts);
-- every operator.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local getmetatable, ipairs, next, pcall, type, tostring = getmetatable, ipairs, next, pcall, type, tostring
local type_of, sub, sort = kbcd.type, string.sub, table.sort
local metatable_of = debug.getmetatable or getmetatable

-- What ends the program, waits for a person or for ranks that do not come, turns checks off, or runs programs, by design.
local left_out = { ["job.abort"] = true, ["job.set_checking"] = true, ["job.meet"] = true, ["job.barrier_within"] = true,
  ["terminal.read_line"] = true, ["terminal.load_history"] = true, ["terminal.add_history"] = true,
  ["signals.note_stop_signals"] = true, ["signals.interruptible"] = true, ["Matrix.ptr"] = true,
  ["Block.ptr"] = true, package_synopses = true, made_up_reviews = true, command = true }

local function sorted(keys)
  sort(keys)
  return keys
end

local names, functions = {}, {}

local function add(name, f)
  if left_out[name] or functions[name] then return end
  names[#names + 1], functions[name] = name, f
end

local seen = {}
local function walk(prefix, t)
  if seen[t] then return end
  seen[t] = true
  local keys = {}
  for key in next, t do if type(key) == "string" and sub(key, 1, 2) ~= "__" then keys[#keys + 1] = key end end
  for _, key in ipairs(sorted(keys)) do
    local value, name = t[key], prefix .. key
    if type(value) == "function" then add(name, value) end
    if type(value) == "table" and key ~= "docs" and key ~= "public" then
      local meta = metatable_of(value)
      if type(meta) == "table" and meta.__call then add(name, function(...) return value(...) end) end
      walk(name .. ".", value)
    end
  end
end

for name in next, runtime.library.public do
  if not left_out[name] then pcall(function() return kbcd[name] end) end  -- loads it
end
walk("", kbcd)
walk("", runtime)

-- Static functions and methods that are documented: "Matrix.zeros", "Matrix:rows".
local documented = {}
for name in next, runtime.docs do
  local owner, mark, key = name:match("^(%u%w*)([.:])([%w_]+)$")
  if owner then
    documented[owner] = documented[owner] or {}
    documented[owner][#documented[owner] + 1] = key
    if mark == "." and type(runtime[owner]) == "table" then
      add(name, function(...) return runtime[owner][key](...) end)
    end
  end
end
sorted(names)

-- lines: of a file of Lua, with a count of bytes that Lua cannot hold, which is its own error.
local skipped = { new = true, ptr = true, class_cast = true, class_check = true, lines = true }
-- Of the parser of a command, which ends the program by design: in the sandbox, os.exit of the library cannot be replaced.
local leaves = not debug.getmetatable and { error = true, fail = true, parse = true } or {}
local methods_of = {}

-- The names of the methods and fields of an object.
local function methods(object)
  local kind = type(object) == "userdata" and type_of(object) or "table"
  if kind == "table" then
    local keys, is_parser = {}, rawget(object, "fail") ~= nil
    for key, value in next, object do
      local left = is_parser and leaves[key]
      if type(key) == "string" and type(value) == "function" and not left then keys[#keys + 1] = key end
    end
    local meta = metatable_of(object)
    local index = type(meta) == "table" and meta.__index
    if type(index) == "table" then for key in next, index do if type(key) == "string" then keys[#keys + 1] = key end end end
    return sorted(keys)
  end
  if methods_of[kind] then return methods_of[kind] end
  local known, keys = {}, {}
  local meta = metatable_of(object)
  for _, key in ipairs(documented[kind] or {}) do known[key] = true end
  if type(meta) == "table" then for key in next, meta do known[key] = type(key) == "string" or nil end end
  for key in next, known do if not skipped[key] and sub(key, 1, 2) ~= "__" then keys[#keys + 1] = key end end
  methods_of[kind] = sorted(keys)
  return methods_of[kind]
end

local operators = {
  { "+", function(a, b) return a + b end }, { "-", function(a, b) return a - b end },
  { "*", function(a, b) return a * b end }, { "/", function(a, b) return a / b end },
  { "%", function(a, b) return a % b end }, { "^", function(a, b) return a ^ b end },
  { "..", function(a, b) return a .. b end }, { "unary -", function(a) return -a end },
  { "#", function(a) return #a end }, { "==", function(a, b) return a == b end },
  { "<", function(a, b) return a < b end }, { "<=", function(a, b) return a <= b end },
  { "call", function(a, b, c) return a(b, c) end }, { "index", function(a, b) return a[b] end },
  { "newindex", function(a, b, c) if type(a) == "userdata" then a[b] = c end end },
  { "tostring", function(a) return tostring(a) end },
  { "for in", function(a)
    local left = 3
    for _ in a do
      left = left - 1
      if left == 0 then break end
    end
  end },
  { "pairs", function(a) return (pairs(a)) end },
}

return { names = names, functions = functions, methods = methods, operators = operators }
