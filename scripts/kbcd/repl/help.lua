-- help() and help(name): the same texts that document the API (docs: name -> "heading\ntext").

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local docs = runtime.docs

local introduction = [[
kbcd: kernel least squares by distributed block coordinate descent.
help "Matrix" or help(nystrom) tells more about a name. What there is:
]]

-- Every file of the library says what it has when it is loaded.
local function load_all()
  for name in pairs(runtime.library.public) do local _ = kbcd[name] end
end

-- The name under which a value is found in kbcd, or the name of its type.
local function name_of(value)
  for owner, member in pairs(kbcd) do
    if member == value then return owner end
    if type(member) == "table" then
      for name, inner in pairs(member) do
        if inner == value then return owner .. "." .. tostring(name) end
      end
    end
  end
  return type(value) == "userdata" and kbcd.type(value) or nil
end

-- The words of a text in lines of at most 96 columns, each after `indent`.
local function fill(text, indent)
  local lines, line = {}, indent
  for word in text:gmatch("%S+") do
    if #line + #word > 95 and line ~= indent then lines[#lines + 1], line = line, indent end
    line = line .. (line == indent and "" or " ") .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- The heading, then the text, in which a line that begins with blanks stays one, as far to the right.
local function entry(text)
  local heading, body = text:match("^([^\n]*)\n?(.*)$")
  local lines, part, indent = { heading }, {}, ""
  local function finish() lines[#lines + 1] = fill(table.concat(part, " "), "    " .. indent) end
  for line in (body .. "\n"):gmatch("(.-)\n") do
    local blanks = line:match("^  +")
    if blanks then
      finish()
      part, indent = {}, blanks
    end
    part[#part + 1] = line
  end
  finish()
  return table.concat(lines, "\n")
end

local function overview()
  local groups, order = {}, {}
  for _, name in ipairs(kbcd.sorted_keys(docs)) do
    local group = name:match("^(%w+)[.: ]") or "functions"
    if not groups[group] then groups[group], order[#order + 1] = {}, group end
    table.insert(groups[group], (name:gsub("^%w+[.: ]", "")))
  end
  local lines = { introduction }
  for _, group in ipairs(order) do
    local names = fill(table.concat(groups[group], ", "), (" "):rep(13))
    lines[#lines + 1] = ("  %-10s "):format(group) .. names:sub(14)
  end
  return table.concat(lines, "\n")
end

local help = {}

runtime.docs.help = [[help([name])
Without a name, what there is; with a name ("Matrix:rows") or a value, what it does.]]

-- The text for a name or a value: its own entry, then those of its members.
function help.text(subject)
  load_all()
  if subject == nil then return overview() end
  local name = type(subject) == "string" and subject:gsub("^kbcd%.", "") or name_of(subject)
  if not name then return "no help for this " .. type(subject) .. "; help() lists what there is" end
  local parts, member = {}, "^" .. name:gsub("%W", "%%%0") .. "[.: ]"
  if docs[name] then parts[1] = docs[name] end
  for _, other in ipairs(kbcd.sorted_keys(docs)) do
    if other:find(member) or other:match("[.:](%w+)$") == name then parts[#parts + 1] = docs[other] end
  end
  if #parts == 0 then return ("no help for '%s'; help() lists what there is"):format(name) end
  for i, part in ipairs(parts) do parts[i] = entry(part) end
  return table.concat(parts, "\n")
end

return setmetatable(help, {
  __call = function(_, subject)
    if kbcd.rank() == 0 then print(help.text(subject)) end
  end,
  __tostring = function() return 'help() lists what there is, help "Matrix:rows" tells what it does' end,
})
