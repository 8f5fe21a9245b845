-- The REPL: rank 0 reads a line, every rank runs it, rank 0 shows the result.
--
-- An expression shows its value; `;` at the end silences it; `_` is the last value. A statement that is
-- not complete continues at the next prompt. Ctrl-C stops what is running, Ctrl-D leaves.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local repl = {}

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
    for name in pairs(owner) do if type(name) == "string" then names[#names + 1] = name end end
  end
  local type_name = type(owner) == "userdata" and kbcd.type(owner) or nil
  if type(owner) == "table" then
    for name, value in pairs(kbcd) do if value == owner then type_name = name end end
  end
  for name, text in pairs(runtime.docs) do
    local of, mark, member = name:match("^([%w_]+)([.:])([%w_]+)$")
    local is_field = not text:match("^[^\n]*[({]")  -- of a value; what can be called with a dot is the type's
    local fits = mark == ":" or is_field == (type(owner) == "userdata")
    if of == type_name and (mark == ":") == is_method and fits then names[#names + 1] = member end
  end
  return names
end

-- The completions of the word before the cursor, sorted.
function repl.complete(word)
  local path, mark, start = word:match("^(.*)([.:])([%w_]*)$")
  local names, prefix = {}, ""
  if path then
    names, prefix = members(resolve(path), mark == ":"), path .. mark
  else
    start = word
    for name in pairs(_G) do names[#names + 1] = name end
    for _, name in ipairs(keywords) do names[#names + 1] = name end
  end
  local found, seen = {}, {}
  for _, name in ipairs(names) do
    if type(name) == "string" and name:sub(1, #start) == start and not seen[name] and name:match("^[%a_][%w_]*$") then
      seen[name], found[#found + 1] = true, prefix .. name
    end
  end
  table.sort(found)
  return found
end

local function show_table(value)
  local lines = {}
  for key, item in pairs(value) do
    local text = type(item) == "table" and "{…}" or (tostring(item):gsub("\n.*", " …"))
    lines[#lines + 1] = ("  %s = %s"):format(tostring(key), text)
    if #lines == 40 then lines[41] = "  …" break end
  end
  table.sort(lines)
  return "{\n" .. table.concat(lines, "\n") .. (#lines > 0 and "\n" or "") .. "}"
end

-- A value as the REPL shows it.
function repl.show(value)
  if type(value) == "table" and not (getmetatable(value) or {}).__tostring then return show_table(value) end
  if type(value) == "string" then return ("%q"):format(value) end
  return tostring(value)
end

-- The chunk for an input; nil and true where more lines are needed; nil and a message where it is wrong.
local function compile(input)
  local silent = input:match(";%s*$") ~= nil
  local chunk = loadstring("return " .. input:gsub(";%s*$", ""), "=repl")
  if chunk then return chunk, silent end
  local statement, message = loadstring(input, "=repl")
  if statement then return statement, silent end
  if message:match("'<eof>'%s*$") then return nil, true end
  return nil, message
end

local function prompt(text)
  return runtime.terminal.person_at_input() and text or ""
end

-- A whole input from rank 0, the same on every rank; nil at the end.
local function read()
  local input
  if kbcd.rank() == 0 then
    local line = runtime.terminal.read_line(prompt("> "), repl.complete)
    while line ~= nil do
      if line == false then input = "" break end  -- Ctrl-C drops what was typed
      input = input and input .. "\n" .. line or line
      local chunk, more = compile(input)
      if chunk or more ~= true then break end
      line = runtime.terminal.read_line(prompt(">> "), repl.complete)
    end
    if input and input:match("%S") and runtime.terminal.is_terminal(0) then
      local one_line = input:find("--", 1, true) and input or input:gsub("\n", " ")  -- a comment must not hide the rest
      for line_of_it in one_line:gmatch("[^\n]+") do runtime.terminal.add_history(line_of_it) end
    end
  end
  local text = runtime.job.bcast_idle(input and "+" .. input or "")
  return text ~= "" and text:sub(2) or nil
end

-- Whether the input failed on any rank, with the message of the first rank that failed. Ranks that wait for others, which
-- failed or wait elsewhere, fail as well; without checks (--no-check), the job ends rather than hang.
local function agree(message)
  if kbcd.size() == 1 then return message end
  local patience = runtime.terminal.person_at_input() and 60 or 10
  if runtime.job.checking() then
    runtime.job.meet("the end of the line", message or "")
  elseif not runtime.job.barrier_within(message and patience or 1e9) then
    runtime.job.abort(("[rank %d/%d] %s\nthe other ranks did not come back in time: they wait for this one, or still " ..
      "compute; the session cannot continue"):format(kbcd.rank(), kbcd.size(), message))
  end
  local first = kbcd.allreduce_min(message and kbcd.rank() or math.huge)
  if first == math.huge then return nil end
  return ("[rank %d/%d] %s"):format(first, kbcd.size(), kbcd.bcast(message or "", first))
end

local function run_input(input)
  local chunk, silent = compile(input)
  if not chunk then
    local wrong = silent == true and "unfinished statement" or silent
    if kbcd.rank() == 0 then io.stderr:write(wrong, "\n") end
    return wrong
  end
  local function pack(...) return { count = select("#", ...), ... } end
  local results, message = nil, nil
  runtime.signals.interruptible(function()
    results = pack(xpcall(chunk, debug.traceback))  -- a C function: an interrupt does not stop it
  end)
  results = results or { false, "interrupted" }
  if not results[1] then
    message = tostring(results[2]):gsub("\n%s*%[C%]: in function 'xpcall'.*", ""):gsub("\n%s*%[builtin#%d+%]: at.*", "")
      :gsub("\nstack traceback:$", "")
  end
  message = agree(message)
  io.stdout:flush()
  if message then
    if kbcd.rank() == 0 then io.stderr:write(message, "\n") end
    return message
  end
  if results[2] ~= nil then _G._ = results[2] end
  if silent or kbcd.rank() ~= 0 then return end
  for i = 2, results.count do print(repl.show(results[i])) end
end

local function history_file()
  local home = os.getenv("HOME")
  local state = os.getenv("XDG_STATE_HOME") or home and home .. "/.local/state"
  return os.getenv("KBCD_HISTORY") or state and state .. "/kbcd/history"
end

-- LuaJIT does not check for interrupts in compiled loops; at the prompt, stopping a loop with Ctrl-C matters more than
-- speed.
function repl.run()
  jit.off()
  jit.flush()
  _G.kbcd, _G.help = kbcd, kbcd.help
  for name, value in pairs(kbcd) do
    if rawget(_G, name) == nil then _G[name] = value end
  end
  for name in pairs(runtime.library.public) do
    if rawget(_G, name) == nil then _G[name] = kbcd[name] end
  end
  if kbcd.rank() == 0 and runtime.terminal.person_at_input() then
    local history = runtime.terminal.is_terminal(0) and history_file()
    if history then runtime.terminal.load_history(history) end
    print(("%s, %d rank%s of %d thread%s; help() lists what there is, Ctrl-D leaves"):format(
      kbcd.version():match("[^\n]+"), kbcd.size(), kbcd.size() == 1 and "" or "s",
      kbcd.threads(), kbcd.threads() == 1 and "" or "s"))
  end
  local failed = false
  for input in read do
    if input:match("%S") and run_input(input) then failed = true end
    if runtime.terminal.bar_shown then io.stderr:write("\r\27[K") end
  end
  local person = kbcd.bcast(runtime.terminal.person_at_input() and 1 or 0)
  if failed and person == 0 then os.exit(1) end
  if kbcd.rank() == 0 and runtime.terminal.person_at_input() then print() end
end

return repl
