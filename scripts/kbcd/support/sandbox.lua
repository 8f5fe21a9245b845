-- The environment of a script in the sandbox (bindings/program/sandbox.cpp calls this when the library is loaded and its
-- functions are guarded): a table of globals of its own, in which the tables of the library are frozen views.
--
-- The library keeps its own globals, its own `string`, `math` and so on, and its own tables. The script has copies of the
-- former and views of the latter: what it changes, changes only what it sees itself. No metatable of the library can be
-- reached, and no address is shown.

local debug_getmetatable, debug_setmetatable, getupvalue, debug_getfenv, getregistry =
  debug.getmetatable, debug.setmetatable, debug.getupvalue, debug.getfenv, debug.getregistry
local error, ipairs, next, pcall, rawget, rawset, select, setmetatable, tostring, type, unpack =
  error, ipairs, next, pcall, rawget, rawset, select, setmetatable, tostring, type, unpack
local find, gsub, format, concat, io_type = string.find, string.gsub, string.format, table.concat, io.type

-- f(metatable) for every metatable that can be reached from the library: through tables, functions and their variables.
local function each_metatable(f)
  local seen, waiting, found = {}, { getregistry() }, {}
  local function visit(value)
    local kind = type(value)
    if (kind == "table" or kind == "function" or kind == "userdata") and not seen[value] then
      seen[value] = true
      waiting[#waiting + 1] = value
    end
  end
  visit(debug_getmetatable(""))
  found[debug_getmetatable("")] = true
  while #waiting > 0 do
    local value = waiting[#waiting]
    waiting[#waiting] = nil
    local metatable = debug_getmetatable(value)
    if metatable then
      found[metatable] = true
      visit(metatable)
    end
    if type(value) == "table" then
      -- sol2 keeps the metatables of its types in the registry.
      if rawget(value, "__gc") or rawget(value, "__index") then found[value] = true end
      for key, inner in next, value do
        visit(key)
        visit(inner)
      end
    else
      visit(debug_getfenv(value))
      for i = 1, type(value) == "function" and 255 or 0 do
        local name, inner = getupvalue(value, i)
        if not name then break end
        visit(inner)
      end
    end
  end
  for metatable in next, found do f(metatable) end
end

local function lock(metatable)
  if rawget(metatable, "__metatable") == nil then rawset(metatable, "__metatable", false) end
end

local function refuse(_, key)
  error(format("'%s' cannot be set: the library is frozen in the sandbox (kbcd --sandbox)", tostring(key)), 2)
end

-- sol2 lets a script replace a method of a type by a field of an object of it. Numbers (A[1] = 5) set what it holds.
local function freeze_objects()
  for name, metatable in next, getregistry() do
    if type(name) == "string" and find(name, "^sol%.") and type(metatable) == "table" then
      local set = rawget(metatable, "__newindex")
      rawset(metatable, "__newindex", function(object, key, value)
        if type(key) ~= "number" or type(set) ~= "function" then return refuse(object, key) end
        return set(object, key, value)
      end)
    end
  end
end

-- The library compares metatables and makes new ones; those are locked, too.
local function lock_metatables(library)
  freeze_objects()
  each_metatable(lock)
  library.getmetatable = debug_getmetatable
  function library.setmetatable(object, metatable)
    if type(object) ~= "table" then error("setmetatable: a table expected, got " .. type(object), 2) end
    if metatable then lock(metatable) end
    debug_setmetatable(object, metatable)
    return object
  end
end

-- Views ---------------------------------------------------------------------------------------------------------------

local weak = { __mode = "k" }
local view_of, behind, listings = setmetatable({}, weak), setmetatable({}, weak), setmetatable({}, weak)

local function original(value) return value ~= nil and behind[value] or value end

-- Metamethods, and sol2's own functions of a type.
local function is_hidden(key) return type(key) == "string" and (find(key, "^__") or find(key, "^class_")) end

local function index(t, key) return t[key] end

local view

-- What the view of a table shows; functions and tables are remembered, so that they are found without a call.
local function shown_of(real)
  local shown = {}
  return setmetatable(shown, { __index = function(_, key)
    if is_hidden(key) then return nil end
    local good, value = pcall(index, real, key)
    if not good then error((gsub(tostring(value), "^[^\n:]*:%d+: ", "")), 2) end
    value = view(value)
    if type(value) == "function" or type(value) == "table" then rawset(shown, key, value) end
    return value
  end })
end

local function call_original(real)
  return function(_, ...)
    local count = select("#", ...)
    if count == 1 then return real(original((...))) end
    local arguments = { ... }
    for i = 1, count do arguments[i] = original(arguments[i]) end
    return real(unpack(arguments, 1, count))
  end
end

-- A list is copied: its length could not be shown otherwise.
local function copy_of(list)
  local copy = {}
  view_of[list] = copy
  for key, value in next, list do copy[key] = view(value) end
  return copy
end

function view(real)
  if type(real) ~= "table" or behind[real] then return real end
  if view_of[real] then return view_of[real] end
  local metatable = debug_getmetatable(real)
  if not metatable and #real > 0 then return copy_of(real) end
  local proxy = {}
  view_of[real], behind[proxy] = proxy, real
  debug_setmetatable(proxy, { __index = shown_of(real), __newindex = refuse, __metatable = false,
    __call = metatable and rawget(metatable, "__call") and call_original(real) })
  return proxy
end

-- A table with the entries of a view, for pairs and next.
local function listing(proxy, again)
  if not again and listings[proxy] then return listings[proxy] end
  local list = {}
  for key, value in next, behind[proxy] do
    if not is_hidden(key) then list[key] = view(value) end
  end
  for key, value in next, proxy do list[key] = value end  -- what rawset has put there
  listings[proxy] = list
  return list
end

-- Addresses -----------------------------------------------------------------------------------------------------------

local numbers, last_number = setmetatable({}, weak), 0

local has_address = { table = true, ["function"] = true, userdata = true, thread = true }

-- tostring without the address: objects are numbered instead.
local function text_of(value)
  local kind = type(value)
  if not has_address[kind] then return tostring(value) end
  local metatable = debug_getmetatable(value)
  if metatable and rawget(metatable, "__tostring") then
    local text = tostring(value)
    return kind == "userdata" and gsub(text, "0x%x+", "0x?") or text
  end
  if not numbers[value] then numbers[value], last_number = last_number + 1, last_number + 1 end
  return format("%s: #%d", kind, numbers[value])
end

local function format_without_addresses(pattern, ...)
  if type(pattern) == "string" and find(pattern, "%%[%-+ #0-9.]*p") then
    error("string.format: %p is not available in the sandbox (kbcd --sandbox)", 2)
  end
  for i = 1, select("#", ...) do
    if has_address[type((select(i, ...)))] then
      local arguments, count = { ... }, select("#", ...)
      for k = 1, count do if has_address[type(arguments[k])] then arguments[k] = text_of(arguments[k]) end end
      return format(pattern, unpack(arguments, 1, count))
    end
  end
  return format(pattern, ...)
end

-- A file's metatable holds its methods beside __gc, and is its own __index.
local function hide_file_metatable(file)
  local metatable, methods = debug_getmetatable(file), {}
  for name, method in next, metatable do if not is_hidden(name) then methods[name] = method end end
  rawset(metatable, "__index", methods)
  rawset(metatable, "__tostring", function(value) return io_type(value) or "file" end)
end

-- The globals ---------------------------------------------------------------------------------------------------------

local function copy_table(t)
  local copy = {}
  for key, value in next, t do copy[key] = value end
  return copy
end

local function base_functions(library)
  local g = {}
  for _, name in ipairs{ "assert", "collectgarbage", "dofile", "error", "getmetatable", "load", "loadfile", "loadstring",
    "pcall", "rawequal", "rawget", "rawset", "select", "setmetatable", "tonumber", "type", "unpack", "xpcall", "_VERSION" } do
    g[name] = library[name]
  end
  g.tostring = text_of
  local stdout = library.io.stdout
  function g.print(...)
    local texts = {}
    for i = 1, select("#", ...) do texts[i] = text_of((select(i, ...))) end
    stdout:write(concat(texts, "\t"), "\n")
  end
  function g.next(t, key)
    if behind[t] then t = listing(t, key == nil) end
    return next(t, key)
  end
  local library_pairs = library.pairs
  function g.pairs(t) return library_pairs(behind[t] and listing(t, true) or t) end
  function g.ipairs(t) return ipairs(behind[t] and listing(t, true) or t) end
  return g
end

-- A view may be given back to the library.
local function accept_views(library)
  local library_pairs = library.pairs
  function library.pairs(t) return library_pairs(original(t)) end
  function library.ipairs(t) return ipairs(original(t)) end
end

return function(library)
  library.string.format = format_without_addresses
  hide_file_metatable(library.io.stdout)
  local g = base_functions(library)
  local traceback = library.debug.traceback
  for _, name in ipairs{ "bit", "coroutine", "debug", "io", "jit", "math", "os", "string", "table" } do
    g[name] = copy_table(library[name])
  end
  g._G = g
  function g.debug.traceback(...)
    local text = traceback(...)
    return type(text) == "string" and (gsub(text, "0x%x+", "0x?")) or text
  end
  g.package = { path = library.package.path, cpath = "", preload = {}, loaded = {},
    searchpath = library.package.searchpath, loadlib = library.package.loadlib }
  for name, module in next, library.package.loaded do
    g.package.loaded[name] = name == "_G" and g or rawget(g, name) or view(module)
  end
  accept_views(library)
  lock_metatables(library)
  return g
end
