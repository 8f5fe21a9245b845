-- completion(before): what Tab may put at the cursor: the part of the text before it that is replaced, and a sorted list of
-- what may replace it. Inside a string these are the names of files, elsewhere names and keywords.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local keywords = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
  "not", "or", "repeat", "return", "then", "true", "until", "while" }

-- The value that a dotted path such as `kbcd.kernel` names, without calling anything.
local function resolve(path)
  local value = _G
  for name in path:gmatch("[%w_]+") do
    if type(value) ~= "table" then return nil end
    value = rawget(value, name)
  end
  return value
end

-- The names that may follow `owner.` or `owner:`.
local function members(owner, is_method)
  local names = {}
  if type(owner) == "table" then
    for name in next, owner do if type(name) == "string" then names[#names + 1] = name end end
  end
  local type_name = type(owner) == "userdata" and kbcd.type(owner) or nil
  if type(owner) == "table" then
    for name, value in next, kbcd do if rawequal(value, owner) then type_name = name end end
  end
  for name, text in pairs(runtime.docs) do
    local of, mark, member = name:match("^([%w_]+)([.:])([%w_]+)$")
    local is_field = not text:match("^[^\n]*[({]")  -- of a value; what can be called with a dot is the type's
    local fits = mark == ":" or is_field == (type(owner) == "userdata")
    if of == type_name and (mark == ":") == is_method and fits then names[#names + 1] = member end
  end
  return names
end

local function names_for(word)
  local path, mark, start = word:match("^(.*)([.:])([%w_]*)$")
  local names, prefix = {}, ""
  if path then
    names, prefix = members(resolve(path), mark == ":"), path .. mark
  else
    start = word
    for name in next, _G do names[#names + 1] = name end
    for _, name in ipairs(keywords) do names[#names + 1] = name end
  end
  local found, seen = {}, {}
  for _, name in ipairs(names) do
    if type(name) == "string" and name:sub(1, #start) == start and not seen[name] and name:match("^[%a_][%w_]*$") then
      seen[name], found[#found + 1] = true, prefix .. name
    end
  end
  return found
end

-- The quote and the beginning of the string that the text ends in; nil where it ends in no string.
local function open_string(text)
  local quote, start
  local at = 1
  while at <= #text do
    local c = text:sub(at, at)
    if not quote and (c == '"' or c == "'") then
      quote, start = c, at + 1
    elseif not quote and text:sub(at, at + 1) == "--" then
      return nil
    elseif c == quote then
      quote = nil
    elseif quote and c == "\\" then
      at = at + 1
    end
    at = at + 1
  end
  if quote then return quote, text:sub(start) end
end

-- The paths that begin so: a folder ends with `/`, a file with the quote.
local function paths_for(path, quote)
  local folder, start = path:match("^(.*/)([^/]*)$")
  if not folder then folder, start = "", path end
  local found = {}
  for _, name in ipairs(runtime.terminal.folder(folder == "" and "." or folder)) do
    local plain = not name:find("[%c\\\"']")  -- others would need escapes
    if plain and name:sub(1, #start) == start and (start ~= "" or name:sub(1, 1) ~= ".") then
      found[#found + 1] = folder .. name .. (name:sub(-1) == "/" and "" or quote)
    end
  end
  return found
end

return function(before)
  local quote, path = open_string(before)
  local word, found
  if quote then
    word, found = path, paths_for(path, quote)
  else
    word = before:match("[%w_.:]*$"):gsub("^[.:]+", "")
    found = names_for(word)
  end
  table.sort(found)
  return word, found
end
