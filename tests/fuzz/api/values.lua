-- values.lua: arguments: hostile ones, and good ones of a type that a message asked for.

local random = require "api.random"
local kbcd = require "kbcd"
local setmetatable, type, error, ipairs, pcall, rawset = setmetatable, type, error, ipairs, pcall, rawset
local yield, wrap, create = coroutine.yield, coroutine.wrap, coroutine.create
local type_of, find, gmatch, stdout = kbcd.type, string.find, string.gmatch, io.stdout
local one_of, whole, percent = random.one_of, random.whole, random.percent

local values = {
  pool = {},   -- objects that calls gave
  words = {},  -- names of options, from help
  inside = 0,  -- calls that a callback makes
}

local numbers = { 0, 1, 2, 3, 4, 5, 7, 10, 1, 2, 3, 5,
  -1, -2, -0.0, 0.5, 1e-3, 1.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 31,
  2 ^ 32 + 1, -2 ^ 31, 2 ^ 36, 2 ^ 40, 2 ^ 53, 2 ^ 53 + 2, -2 ^ 53, 2 ^ 62, 2 ^ 63, 2 ^ 64, 1e300, -1e300, 1e-320,
  5e-324, 100, 1000 }

-- AddressSanitizer ends the program where memory is refused to C++: no sizes that a machine may hold.
function values.without_large_sizes()
  for i = #numbers, 1, -1 do if numbers[i] > 2 ^ 27 and numbers[i] < 2 ^ 35 then table.remove(numbers, i) end end
end

-- Paths are within the current folder, which the caller made for this.
local strings = { "", "f32", "f64", "a.npy", "b.csv", "c.h5", "d.svm", "e.txt", "f.png", "g.wav", "h.tsv", "i.jsonl", "x.npz",
  "no_such.h5", ".", "folder", "/no/such/place",
  "sqeuclidean", "dot", "manhattan", "cosine", "rbf", "hamming", "exact", "none",
  "a\0b", "\255\254", "%s%n", "ä", ("x"):rep(300), ("long "):rep(5000), "1", "nan", "0x10", "/", "//", "text", "label", "/X",
  "lower", "uniform", "rpcholesky", "leverage", "error", "skip", "{", "[[", "__index", "__gc" }

local function fail() error("fuzz: refused") end

-- A table whose every use fails, or lies.
local function cursed()
  local kind = whole(4)
  if kind == 1 then return setmetatable({}, { __index = fail, __newindex = fail, __call = fail, __tostring = fail }) end
  if kind == 2 then return setmetatable({ 1, 2 }, { __index = function() return values.any() end, __len = fail }) end
  if kind == 3 then return setmetatable({}, { __tostring = function() return {} end, __metatable = 5, __index = "text" }) end
  return setmetatable({ values.any() }, { __add = fail, __eq = fail, __lt = fail, __concat = fail, __mul = fail })
end

-- A function as a kernel, a map or a generator of rows may be.
local function callback()
  local kind, result = whole(9), percent(60) and values.object() or values.any()
  if kind == 1 then return fail end
  if kind == 2 then return function() return yield(result) end end
  if kind == 3 then return function() error(setmetatable({}, { __tostring = fail })) end end
  if kind == 4 then return function(...) return values.again(...) end end
  if kind == 5 then return function(...) values.step() return ... end end
  if kind == 6 then return function(...) wrap(function(...) values.step() return ... end)(...) return result end end
  if kind == 7 then
    return function(first, ...)
      pcall(function() values.object():release() end)
      return first, ...
    end
  end
  if kind == 8 then return function() return result end end
  return function(...) return ... end
end

local function list(count)
  local t = {}
  for i = 1, count do t[i] = values.any() end
  return t
end

local function matrix_table()
  local t, cols = {}, whole(4) - 1
  for i = 1, whole(4) - 1 do
    t[i] = {}
    for j = 1, cols do t[i][j] = percent(90) and whole(9) or values.any() end
  end
  return t
end

local function options()
  local t = {}
  for _ = 1, whole(4) do
    if #values.words > 0 then t[one_of(values.words)] = values.any() end
  end
  return t
end

function values.object() return values.pool[whole(#values.pool)] end

-- An object of this type, if there is one.
function values.of(kind)
  local start = whole(#values.pool)
  for i = 1, #values.pool do
    local object = values.pool[(start + i) % #values.pool + 1]
    if type(object) == "userdata" and type_of(object) == kind then return object end
  end
end

-- What any() gives, each in so many of a hundred cases; the rest is nil.
local makers = { { 45, values.object }, { 20, function() return one_of(numbers) end },
  { 10, function() return one_of(strings) end }, { 3, function() return percent(50) end },
  { 3, function() return list(whole(4) - 1) end }, { 3, matrix_table }, { 4, options }, { 2, cursed }, { 6, callback },
  { 1, function() return create(callback()) end }, { 1, function() return stdout end } }

local depth = 0
function values.any()
  if depth > 3 then return one_of(numbers) end
  local kind, result = whole(100), nil
  depth = depth + 1
  for _, maker in ipairs(makers) do
    kind = kind - maker[1]
    if kind <= 0 then
      result = maker[2]()
      break
    end
  end
  depth = depth - 1
  return result
end

local good = {
  ["whole number"] = function() return percent(80) and whole(6) or one_of(numbers) end,
  number = function() return percent(60) and whole(60) / 10 or one_of(numbers) end,
  string = function() return one_of(strings) end,
  ["true or false"] = function() return percent(50) end,
  ['"f32" or "f64"'] = function() return percent(50) and "f32" or "f64" end,
  ["function"] = callback,
  table = function() return percent(50) and options() or list(whole(3)) end,
}

local kinds = {}
for kind in pairs(good) do kinds[#kinds + 1] = kind end
table.sort(kinds)

-- What "… expected" in a message asks for.
function values.expected(what)
  if good[what] then return good[what]() end
  for kind in gmatch(what, "%u%w+") do
    local object = values.of(kind)
    if object then return object end
  end
  for _, kind in ipairs(kinds) do if find(what, kind, 1, true) then return good[kind]() end end
  return values.any()
end

-- A table with some of the options that a message named.
function values.known_options(text)
  local t = {}
  for name in gmatch(text, "[%w_]+") do if percent(50) then rawset(t, name, values.any()) end end
  return t
end

return values
