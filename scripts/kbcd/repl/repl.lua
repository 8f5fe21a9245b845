-- The REPL: rank 0 reads a line, every rank runs it, rank 0 shows the result.
--
-- An expression shows its value; `;` at the end silences it; `_` is the last value. A statement that is not complete
-- continues at the next prompt. Ctrl-C clears the line or stops what is running, Ctrl-D leaves. Lua's functions are kept
-- here, since what is typed may replace them.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local completion = require "kbcd.repl.completion"
local show = require "kbcd.repl.show"

local loadstring, pcall, select, tonumber, rawset, type = loadstring, pcall, select, tonumber, rawset, type
local traceback = debug.traceback
local find, format, gmatch, gsub, match = string.find, string.format, string.gmatch, string.gsub, string.match
local stdout, stderr, exit, huge = io.stdout, io.stderr, os.exit, math.huge
local terminal, signals, job = runtime.terminal, runtime.signals, runtime.job
local rank, size, now, bcast, allreduce_min = kbcd.rank, kbcd.size, kbcd.now, kbcd.bcast, kbcd.allreduce_min

local long_seconds = 1  -- a line that takes longer shows its time

local repl = {}

local function say(file, text) pcall(file.write, file, text, "\n") end

-- The chunk for an input; nil and true where more lines are needed; nil and a message where it is wrong.
local function compile(input)
  local silent = match(input, ";%s*$") ~= nil
  local chunk = loadstring("return " .. gsub(input, ";%s*$", ""), "=repl")
  if chunk then return chunk, silent end
  local statement, message = loadstring(input, "=repl")
  if statement then return statement, silent end
  if match(message, "'<eof>'%s*$") then return nil, true end
  return nil, message
end

local function prompt(text)
  return terminal.person_at_input() and text or ""
end

local function complete(before)
  local good, word, found = pcall(completion, before)
  return good and word or "", good and found or {}
end

-- A whole input of rank 0; nil at the end.
local function type_in()
  local input
  local line = terminal.read_line(prompt("> "), complete)
  while line ~= nil do
    if line == false then input = "" break end  -- Ctrl-C drops what was typed
    input = input and input .. "\n" .. line or line
    local chunk, more = compile(input)
    if chunk or more ~= true then break end
    line = terminal.read_line(prompt(">> "), complete)
  end
  if input and match(input, "%S") and terminal.edits_lines() then
    local one_line = find(input, "--", 1, true) and input or gsub(input, "\n", " ")  -- a comment must not hide the rest
    for line_of_it in gmatch(one_line, "[^\n]+") do terminal.add_history(line_of_it) end
  end
  return input
end

-- The same input on every rank; nil at the end. With it comes how often Ctrl-C has stopped the ranks, so that a signal that
-- comes late does not stop this input.
local function read(stops)
  local input = rank() == 0 and type_in() or nil
  local text = job.bcast_idle(input and format("%d+", stops) .. input or "")
  if text == "" then return nil end
  local sent, rest = match(text, "^(%d+)%+(.*)$")
  signals.settle(tonumber(sent))
  return rest
end

-- Whether the input failed on any rank, with the message of the first rank that failed. Ranks that wait for others, which
-- failed or wait elsewhere, fail as well; without checks (--no-check), the job ends rather than hang.
local function agree(message)
  if size() == 1 then return message end
  local patience = terminal.person_at_input() and 60 or 10
  if job.checking() then
    job.meet("the end of the line", message or "")
  elseif not job.barrier_within(message and patience or 1e9) then
    job.abort(format("[rank %d/%d] %s\nthe other ranks did not come back in time: they wait for this one, or still " ..
      "compute; the session cannot continue", rank(), size(), message))
  end
  local first = allreduce_min(message and rank() or huge)
  if first == huge then return nil end
  return format("[rank %d/%d] %s", first, size(), bcast(message or "", first))
end

-- The message of an error, which may be any value, without the lines of the REPL itself.
local function message_of(value)
  local good, text = signals.interruptible(function()
    if type(value) == "string" then return value end
    return value == nil and "an error that is nil" or format("an error that is a %s: %s", type(value), show.value(value))
  end, traceback)
  if not good then return "interrupted" end
  text = gsub(text, "\n%s*%[C%]: in function '[%w_]*interruptible'.*", "")
  text = gsub(text, "\n%s*%[builtin#%d+%]: at.*", "")
  return (gsub(text, "\nstack traceback:$", ""))
end

local function pack(...) return { count = select("#", ...), ... } end

-- Runs an input on all ranks; the message if it failed.
local function run_input(input)
  local chunk, silent = compile(input)
  if not chunk then return silent == true and "unfinished statement" or silent end
  local results = pack(signals.interruptible(chunk, traceback))
  local message = agree(not results[1] and message_of(results[2]) or nil)
  if message then return message end
  if results[2] ~= nil then rawset(_G, "_", results[2]) end
  if silent or rank() ~= 0 then return nil end
  for i = 2, results.count do
    local good, text = signals.interruptible(function() return show.value(results[i]) end, traceback)
    say(stdout, good and text or "interrupted")
  end
end

-- Whether the input succeeded, and how often Ctrl-C has stopped the ranks in this session.
local function answer(input, session)
  local start = now()
  if session and rank() == 0 then terminal.begin_run() end
  local good, message = pcall(run_input, input)
  if not good then message = message_of(message) end
  local stops = session and rank() == 0 and terminal.end_run() or 0
  pcall(stdout.flush, stdout)
  if rank() ~= 0 then return not message, stops end
  if message then say(stderr, message) end
  if terminal.bar_shown then stderr:write("\r\27[K") end
  local seconds = now() - start
  if session and seconds > long_seconds then say(stdout, format("(%.1f s)", seconds)) end
  return not message, stops
end

local function history_file()
  local home = os.getenv("HOME")
  local state = os.getenv("XDG_STATE_HOME") or home and home .. "/.local/state"
  return os.getenv("KBCD_HISTORY") or state and state .. "/kbcd/history"
end

local function welcome()
  local history = terminal.edits_lines() and history_file()
  if history then terminal.load_history(history) end
  say(stdout, format("%s, %d rank%s of %d thread%s; help() lists what there is, Ctrl-D leaves",
    match(kbcd.version(), "[^\n]+"), size(), size() == 1 and "" or "s", kbcd.threads(), kbcd.threads() == 1 and "" or "s"))
  stdout:flush()
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
  kbcd.who.begin()
  local session = bcast(terminal.person_at_input() and 1 or 0) == 1
  if session then signals.keep_session() end
  kbcd.barrier()  -- no rank has a prompt before all can be interrupted
  if session and rank() == 0 then welcome() end
  local failed, good, stops = false, true, 0
  for input in function() return read(stops) end do
    if match(input, "%S") then good, stops = answer(input, session) end
    failed = failed or not good
  end
  if failed and not session then exit(1) end
  if rank() ~= 0 then return end
  terminal.close()
  if session then say(stdout, "") end
end

return repl
