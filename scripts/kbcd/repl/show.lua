-- show(value): a value as the prompt shows it. It never fails: where a metamethod of the value does, it shows what it can.
-- Lua's functions are kept here, since what is typed at the prompt may replace them.

local kbcd_type = require("kbcd.runtime").type
local type, tostring, pcall, next, rawget = type, tostring, pcall, next, rawget
local getmetatable, format, gsub, sub, byte = debug.getmetatable, string.format, string.gsub, string.sub, string.byte
local concat, sort = table.concat, table.sort

local most_entries, most_bytes = 40, 2000

local show = {}

-- Control characters would change the terminal: they become \27 and the like.
local function visible(text, class)
  return (gsub(text, class or "[%z\1-\8\11-\31\127]", function(c) return format("\\%d", byte(c)) end))
end

-- The beginning of a long text, which ends with a whole character.
local function beginning(text, most)
  if #text <= most then return text end
  return (gsub(sub(text, 1, most), "[\192-\255][\128-\191]*$", ""))
end

local function quoted(text, most)
  local short = gsub(beginning(text, most), '[\\"\n\r\t]', { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n", ["\r"] = "\\r",
    ["\t"] = "\\t" })
  return format('"%s"', visible(short)) .. (#text > most and format(" … (%d bytes)", #text) or "")
end

local function has_text(value)
  local meta = getmetatable(value)
  return meta and rawget(meta, "__tostring") ~= nil
end

local function kind_of(value)
  local good, kind = pcall(kbcd_type, value)
  return good and kind or type(value)
end

-- The text of a value by its __tostring; where that fails, what it is and why there is no more.
function show.text(value)
  if type(value) == "string" then return value end
  local good, text = pcall(tostring, value)
  if good and type(text) == "string" then return visible(text) end
  local reason = good and format("returns a %s", type(text)) or
    "fails" .. (type(text) == "string" and ": " .. visible(beginning(text, 200)) or "")
  return format("%s: %p (its __tostring %s)", kind_of(value), value, reason)
end

local function entry_text(item)
  if type(item) == "table" and not has_text(item) then return "{…}" end
  if type(item) == "string" then return quoted(item, 200) end
  return (gsub(show.text(item), "\n.*", " …"))
end

local function show_table(value)
  local lines, more = {}, nil
  for key, item in next, value do  -- not pairs, which a metatable may replace
    if #lines == most_entries then more = "  …" break end
    local name = type(key) == "string" and visible(beginning(key, 200), "[%z\1-\31\127]") or entry_text(key)
    lines[#lines + 1] = format("  %s = %s", name, entry_text(item))
  end
  sort(lines)
  lines[#lines + 1] = more
  return "{\n" .. concat(lines, "\n") .. (#lines > 0 and "\n" or "") .. "}"
end

function show.value(value)
  if type(value) == "table" and not has_text(value) then return show_table(value) end
  if type(value) == "string" then return quoted(value, most_bytes) end
  return show.text(value)
end

return show
