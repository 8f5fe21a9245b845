-- who(): what was defined at the prompt: its kind, its shape and what it takes in memory.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local show = require "kbcd.repl.show"

local type, next, rawequal, rawget, pcall = type, next, rawequal, rawget, pcall

runtime.docs.who = [[who()
Lists what was defined at the prompt: name, kind, shape or value, and its size in memory (on this rank; of a table with what
is in it). Views count the elements that they show.]]

local before = {}  -- the globals when the prompt began

local function field(value, name)
  local good, found = pcall(function() return value[name] end)
  return good and type(found) == "number" and found or nil
end

-- A value's shape and bytes, where they are known. Bytes of Lua's own values are those of LuaJIT's layout, roughly.
local measure

local function table_bytes(value, seen)
  local bytes, entries = 64, 0
  for key, item in next, value do
    entries = entries + 1
    bytes = bytes + 24
    for _, part in ipairs{ key, item } do
      local _, inner = measure(part, seen)
      bytes = bytes + (inner or 0)
    end
  end
  return ("%d %s"):format(entries, entries == 1 and "entry" or "entries"), bytes
end

function measure(value, seen)
  local kind = kbcd.type(value)
  if kind == "string" then return #value .. " bytes", #value + 24 end
  if type(value) ~= "table" and type(value) ~= "userdata" then return nil, nil end
  if seen[value] then return nil, 0 end
  seen[value] = true
  if kind == "table" then return table_bytes(value, seen) end
  if kind == "Matrix" then
    return ("%dx%d %s"):format(value.nrows, value.ncols, value.dtype),
      value.nrows * value.ncols * (value.dtype == "f32" and 4 or 8)
  end
  if kind == "Index" then return #value .. " numbers", 8 * #value end
  local rows, columns = field(value, "n") or field(value, "nrows"), field(value, "d") or field(value, "ncols")
  if not rows or not columns then return nil, nil end
  if kind == "DataSet" and value.bytes then
    return ("%dx%d %s, bytes"):format(rows, columns, value.dtype), value.local_n * columns
  end
  local good, inner = pcall(function() return value.rows end)  -- of dense data
  local _, bytes = measure(good and inner or 0, seen)
  return ("%dx%d"):format(rows, columns), bytes
end

local function size_text(bytes)
  if not bytes then return "" end
  local units, unit = { "B", "kB", "MB", "GB", "TB" }, 1
  while bytes >= 1000 and unit < #units do bytes, unit = bytes / 1000, unit + 1 end
  return (unit == 1 and "%d %s" or "%.1f %s"):format(bytes, units[unit])
end

local who = {}

-- What is defined now is not listed.
function who.begin()
  before = {}
  for name, value in next, _G do before[name] = value end
end

-- The list as a text.
function who.text()
  local names = {}
  for name, value in next, _G do
    if type(name) == "string" and name ~= "_" and not rawequal(value, before[name]) then names[#names + 1] = name end
  end
  if #names == 0 then return "nothing is defined yet" end
  table.sort(names)
  local lines = {}
  for i, name in ipairs(names) do
    local value = rawget(_G, name)
    local shape, bytes = measure(value, {})
    local about = shape or (type(value) == "number" or type(value) == "boolean") and show.text(value) or ""
    lines[i] = ("%-16s %-12s %-20s %10s"):format(name, kbcd.type(value), about, size_text(bytes)):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

return setmetatable(who, {
  __call = function()
    if kbcd.rank() == 0 then print(who.text()) end
  end,
  __tostring = function() return "who() lists what was defined at the prompt" end,
})
