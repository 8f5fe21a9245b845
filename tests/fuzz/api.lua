-- api.lua SEED CALLS [sanitized]: calls the whole Lua API with hostile arguments, in a random sequence that the seed
-- gives. Runs in a folder of its own, to which it writes; tests/fuzz/run_api runs it, with and without the sandbox, on one
-- rank and on two.
--
-- A call may fail only with a message; whatever else happens (a crash, a sanitizer's report, a message that shows the inside
-- of the program, a call that takes seconds) is a fault. Objects that calls give are arguments of later ones. The file
-- last_call in the current folder names the call that ran last.

local seed, calls = tonumber(arg[1]), tonumber(arg[2])
-- Copies of its own: it replaces globals.
local next, pcall, rawset, select, type, tonumber = next, pcall, rawset, select, type, tonumber
local tostring, unpack, print, error = tostring, unpack, print, error
local sub, gsub, rep, concat, sort = string.sub, string.gsub, string.rep, table.concat, table.sort
local min, max = math.min, math.max
local create, resume = coroutine.create, coroutine.resume
local find, match, format, clock = string.find, string.match, string.format, os.clock

local function not_here() error("fuzz: programs are not run") end
-- luacheck: push ignore 122
pcall(function() io.popen, os.execute = not_here, not_here end)
pcall(function() os.exit = not_here end)
-- luacheck: pop

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local random = require "api.random"
local values = require "api.values"
local targets = require "api.targets"
local make_objects = require "api.objects"
local meet, allreduce_min, bcast, collect = runtime.job.meet, kbcd.allreduce_min, kbcd.bcast, collectgarbage
local several, type_of = kbcd.size() > 1, kbcd.type
local whole, percent, one_of = random.whole, random.percent, random.one_of

if arg[3] == "sanitized" then values.without_large_sizes() end

local words = {}
for _, text in next, runtime.docs do
  for word in (text .. " "):gmatch("([%l_]+)[ ,=}%]]") do if #word < 16 then words[word] = true end end
end
for word in next, words do values.words[#values.words + 1] = word end
table.sort(values.words)

local function refill()
  local fresh = make_objects(seed)
  for i = 1, #fresh do values.pool[#values.pool + 1] = fresh[i] end
end

-- What a message may not be: empty, or the inside of C++.
local inside = { "^$", "vector::", "basic_string::", "map::at", "bad optional", "bad_", "C%+%+ exception",
  "not enough memory" }
local faults, kinds_of_fault = {}, 0
local function fault(name, what)
  local key = name .. ": " .. sub(what, 1, 60)
  if not faults[key] then
    faults[key], kinds_of_fault = true, kinds_of_fault + 1
    print(format("FAULT %s: %s", name, what))
  end
end

local replaced  -- the global or function that is replaced now: { table, key, value }
local count, failed, longest, nested = 0, 0, 0, 0
local current  -- the call that runs, for callbacks that make it again
local last_call = io.open(format("last_call.%d", kbcd.rank()), "wb")

local function describe(value)
  if type(value) == "userdata" then
    local good, text = pcall(tostring, value)
    return good and (gsub(sub(text, 1, 40), "\n", " ")) or type_of(value)
  end
  if type(value) == "string" then return format("%q", sub(value, 1, 30)) end
  if type(value) == "table" or type(value) == "function" then return type(value) end
  return tostring(value)
end

local function record(name, args, n)
  if not last_call then return end
  local texts = {}
  for i = 1, n do texts[i] = describe(args[i]) end
  last_call:seek("set", 0)
  last_call:write(count, " ", name, "(", concat(texts, ", "), ")", rep(" ", 200), "\n")
  last_call:flush()
end

-- What later calls may find in a result: its type, and the methods of a table.
local function kind_of(value)
  local good, names = pcall(targets.methods, value)
  return type_of(value) .. (good and type(value) == "table" and concat(names, ",") or "")
end

local function keep(...)
  local results = { ... }
  if several then  -- the pools of all ranks are alike, or their sequences part
    local kinds = {}
    for i = 1, min(select("#", ...), 3) do kinds[i] = kind_of(results[i]) end
    local text = concat(kinds, " ")
    if allreduce_min(bcast(text) == text and 1 or 0) == 0 then return end
  end
  for i = 1, min(select("#", ...), 3) do
    local kind = type(results[i])
    if kind == "userdata" or kind == "table" or kind == "function" then
      if #values.pool < 250 then values.pool[#values.pool + 1] = results[i] else values.pool[whole(250)] = results[i] end
    end
  end
end

local function check(name, good, ...)
  if good then return true, ... end
  failed = failed + 1
  local message = ...
  if type(message) == "table" then return false, "" end  -- a callback's own
  if type(message) ~= "string" then
    if not replaced then fault(name, "an error that is a " .. type(message)) end
    return false, ""
  end
  for i = 1, #inside do if find(message, inside[i]) then fault(name, message) end end
  return false, message
end

local function attempt(name, f, args, n)
  count = count + 1
  record(name, args, n)
  local before, start = current, clock()
  current = { f = f, args = args, n = n }
  local function finish(...)
    current = before
    local seconds = clock() - start
    if nested == 0 and seconds > longest then longest = seconds end
    if nested == 0 and seconds > 20 then fault(name, format("took %.1f s of processor time", seconds)) end
    if not several or nested > 0 then return check(name, ...) end
    meet("fuzz", "")
    local good = (...)
    if allreduce_min(good and 1 or 0) == 1 then return check(name, ...) end
    -- All ranks go by the message of rank 0, whatever they have: the next try must be the same everywhere.
    local _, message = check(name, false, good and "another rank failed" or select(2, ...))
    return false, bcast(message)
  end
  return finish(resume(create(f), unpack(args, 1, n)))  -- callbacks may yield
end

-- Makes the call again with arguments that its message asked for.
local function mended(message, args, n)
  local at, what = match(message, "argument (%d+)[^:]*: (.-) expected")
  if at then
    at = tonumber(at)
    if args.self then at = at + 1 end
    args[at] = values.expected(what)
    return max(n, at)
  end
  local known = match(message, "known: ([^\n]*)")
  for i = 1, n do
    if type(args[i]) == "table" then
      local option, wanted = match(message, "option ([%w_]+): (.-) expected")
      if option then
        local good = pcall(function() args[i][option] = values.expected(wanted) end)
        if good then return n end
      elseif known then
        args[i] = values.known_options(known)
        return n
      end
    end
  end
end

local function call(name, f, args, n)
  local good, message
  for try = 1, 4 do
    local results = { attempt(name, f, args, n) }
    good, message = results[1], results[2]
    if good then
      keep(unpack(results, 2))
      return
    end
    n = try < 4 and percent(85) and mended(message, args, n)
    if not n then return end
  end
end

local function arguments(first)
  local args, n = {}, whole(5) - 1
  if first ~= nil then args[1], args.self = first, true end
  for i = first ~= nil and 2 or 1, n do args[i] = values.any() end
  return args, max(n, first ~= nil and 1 or 0)
end

local function step()
  local kind = whole(100)
  if kind <= 40 then
    local name = one_of(targets.names)
    call(name, targets.functions[name], arguments())
  elseif kind <= 85 then
    local object = values.object()
    if type(object) == "function" then return call("result", object, arguments()) end
    local good, names = pcall(targets.methods, object)
    if not good or #names == 0 then return end
    local name = one_of(names)
    local self = percent(90) and object or values.any()
    call(type_of(object) .. ":" .. name, function(...)
      local method = object[name]
      if type(method) ~= "function" then return method end
      return method(...)
    end, arguments(self))
  else
    local operator = one_of(targets.operators)
    local a, b, c = values.object(), values.any(), values.any()
    if percent(30) then a, b = b, a end
    call(operator[1], operator[2], { a, b, c }, 3)
  end
end

-- For callbacks: another call inside of this one, or this one again.
function values.step()
  if nested >= 2 or several then return end
  nested = nested + 1
  pcall(step)
  nested = nested - 1
end
function values.again(...)
  if several then return ... end
  local result = current.f(unpack(current.args, 1, current.n))  -- no tail call, which would never end
  return result
end

-- Replaces a global, or a function of the library, for a while.
local function restore()
  if replaced then rawset(replaced[1], replaced[2], replaced[3]) end
  replaced = nil
end
local libraries = { _G, string, table, math, kbcd }
local function replace()
  restore()
  local library, keys = one_of(libraries), {}
  for key, value in next, library do if type(value) == "function" then keys[#keys + 1] = key end end
  if #keys == 0 then return end
  sort(keys)
  local key = one_of(keys)
  replaced = { library, key, library[key] }
  local kind, result = whole(3), values.any()
  pcall(function()
    library[key] = kind == 1 and not_here or kind == 2 and function() return result end or function(...) return ... end
  end)
end

print(format("api: seed %d, %d calls, %d functions", seed, calls, #targets.names))
random.start(seed, 0)
refill()
for n = 1, calls do
  random.start(seed, n)
  if n % 400 == 0 then
    restore()
    if #values.pool > 200 then for i = 1, #values.pool do values.pool[i] = nil end end
    refill()
  end
  if n % 97 == 0 then collect() end
  if not several and n % 50 == 0 and percent(50) then replace() elseif n % 50 == 5 then restore() end
  step()
  if count >= calls then break end
end
restore()
if several then meet("fuzz", "") end
print(format("api: %d calls, %d failed with a message, longest %.1f s, %d kinds of fault", count, failed, longest,
  kinds_of_fault))
if kinds_of_fault > 0 then error("fuzz: see the faults above", 0) end
