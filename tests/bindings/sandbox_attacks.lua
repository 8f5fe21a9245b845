-- What a hostile script tries, run by sandbox_spec as `kbcd --sandbox --allow in --allow to:rw attacks.lua` in a folder with
-- in/data.csv, in/chunk (bytecode), in/link (a symbolic link to secret), in/linked (one to a folder), to/ and secret. Each
-- try must fail; one that gives anything is an escape.

local kbcd = require "kbcd"
local gnuplot = require "kbcd.reports.gnuplot"
local outside_mpi = require "kbcd.support.outside_mpi"
local runtime = require "kbcd.runtime"
local here = arg[1]
local count = 0

local function try(name, f)
  count = count + 1
  local good, result = pcall(f)
  if good and result then print(("ESCAPED: %s: %s"):format(name, tostring(result))) end
  if not good and tostring(result):find("attempt to", 1, true) == nil and arg[2] then print(name, result) end
end

-- Programs.
try("os.execute", function() return os.execute("touch to/pwned") end)
try("io.popen", function() return io.popen("id"):read("*a") end)
try("gnuplot", function() return gnuplot("plot 1", {}, "svg") end)
try("outside_mpi", function() return outside_mpi() end)
try("read_line", function() return runtime.terminal.read_line("> ", print) end)

-- Native code.
for _, name in ipairs{ "ffi", "jit.util", "jit.opt", "jit.profile", "string.buffer", "table.new", "lfs", "posix" } do
  try("require " .. name, function() return require(name) end)
  try("loaded " .. name, function() return package.loaded[name] end)
  try("preload " .. name, function() return package.preload[name]() end)
end
try("loadlib", function() return package.loadlib("libc.so.6", "system") end)
try("loaders", function() return package.loaders[3]("cjson") end)
try("cpath", function() package.cpath = "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so" return require "lpeg" end)
try("jit.attach", function() return jit.attach(print, "bc") end)
try("Matrix:ptr", function() return kbcd.Matrix.zeros(2, 2):ptr() end)
try("ptr of the type", function() return kbcd.Matrix.ptr(kbcd.Matrix.zeros(2, 2)) end)
try("a pointer of a number", function() return (0x7fffLL)[0] end)

-- Bytecode.
try("string.dump", function() return string.dump(function() end) end)
try("string.dump by a method", function() return ("x").dump(function() end) end)
local chunk = ""
try("a chunk", function() chunk = io.open("in/chunk", "rb"):read("*a") end)
assert(chunk:sub(1, 3) == "\27LJ", "in/chunk is bytecode")
try("loadstring", function() return loadstring(chunk) end)
try("load", function() return load(chunk, "x", "b") end)
try("load of a function", function()
  local done = false
  return load(function() if not done then done = true return chunk end end, "x", "bt")
end)
try("loadfile", function() return loadfile("in/chunk", "b") end)
try("dofile", function() return dofile("in/chunk") end)
try("require of bytecode", function() package.path = "in/?" return require "chunk" end)

-- The debug library, environments and metatables.
for name in pairs(debug) do if name ~= "traceback" then try("debug." .. name, function() return name end) end end
try("getfenv", function() return getfenv(kbcd.say) end)
try("setfenv", function() return setfenv(kbcd.nystrom, {}) end)
try("newproxy", function() return newproxy(true) end)
try("the metatable of strings", function() return getmetatable("") end)
try("the metatable of a matrix", function() return getmetatable(kbcd.Matrix.zeros(1, 1)) end)
try("the metatable of a file", function() return getmetatable(io.stdout) end)
try("the metatable of a type", function() return getmetatable(kbcd.Matrix) end)
try("the metatable of a number", function() return getmetatable(1LL) end)
for _, key in ipairs{ "__gc", "__index" } do
  try("matrix." .. key, function() return kbcd.Matrix.zeros(1, 1)[key] end)
  try("Matrix." .. key, function() return kbcd.Matrix[key] end)
end
for name in pairs(_G) do if name:find("^sol") then try("global " .. name, function() return name end) end end

-- Files elsewhere: by name, by `..`, by links, past a zero byte; and by what the library opens.
local paths = { here .. "/secret", "secret", "in/../secret", here .. "/in/../secret", "in/link", "in/linked/passwd",
  "/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/dev/mem", "in/data.csv\0../secret", "~/.profile",
  "to/../../" .. here .. "/secret", "in/../in/link",
  "", "in" .. here .. "/secret", "/proc/self/" .. "root/etc/passwd", "/proc/self/cwd/secret" }
for _, path in ipairs(paths) do
  try("io.open " .. path, function() return io.open(path) end)
  try("io.open for reading and writing " .. path, function() return io.open(path, "r+") end)
  try("io.lines " .. path, function() return io.lines(path)() end)
  try("io.input " .. path, function() return io.input(path) end)
  try("dofile " .. path, function() return dofile(path) end)
  try("loadfile " .. path, function() return loadfile(path) end)
  try("searchpath " .. path, function() return not path:find("%z") and package.searchpath("x", path) end)
  try("load " .. path, function() return kbcd.load(path) end)
  try("text " .. path, function() return kbcd.text.read(path, { format = "tsv" }) end)
  try("sound " .. path, function() return kbcd.speech.read_sound(path) end)
  try("labels with times " .. path, function() return kbcd.speech.read_lab(path) end)
  try("pictures " .. path, function() return kbcd.vision.load(path) end)
  try("h5.open " .. path, function() return kbcd.h5.open(path) end)
  try("model " .. path, function() return kbcd.model_file.load(path) end)
  try("read_log " .. path, function() return kbcd.read_log(path) end)
  try("sync " .. path, function() return runtime.files.sync(path) end)
end
local places = { here .. "/new", "new", "in/new", "to/../new", "in/linked/new", "/tmp/kbcd_escaped", "to/dangling" }
for _, path in ipairs(places) do
  try("write " .. path, function() return io.open(path, "w") end)
  try("append " .. path, function() return io.open(path, "a") end)
  try("io.output " .. path, function() return io.output(path) end)
  try("rename to " .. path, function()
    io.open("to/x", "w"):close()
    return path ~= "to/dangling" and os.rename("to/x", path)  -- which only replaces the link
  end)
  try("link to " .. path, function() return runtime.files.link("to/x", path) end)
  try("h5.create " .. path, function() return kbcd.h5.create(path) end)
  try("write_text " .. path, function() kbcd.output_file.write_text(path, "x") return true end)
  try("checkpoint " .. path, function()
    kbcd.checkpoint(path, { every = 0 }):keep({}, { same = { a = kbcd.Matrix.zeros(1, 1) } })
    return true
  end)
  try("log " .. path, function() kbcd.run_log(path):write{ type = "run" } return true end)
  try("rows " .. path, function() return kbcd.row_writer(path, "csv", "f8", 1) end)
end
try("an odd mode", function() return io.open("in/data.csv", "r,ccs=UTF-8") end)
try("remove", function() return os.remove("secret") end)
try("remove in a folder to read", function() return os.remove("in/data.csv") end)
try("remove a link in a folder to read", function() return os.remove("in/to_written") end)
try("rename onto a link in a folder to read", function()
  io.open("to/mine", "w"):close()
  return os.rename("to/mine", "in/to_written")
end)
for _, bytes in ipairs{ -1, 0 / 0, 0.5, 1 / 0, 2 ^ 60 } do
  try("bytes beyond a string", function() return require("kbcd").hash.murmur3("a", 0, bytes) end)
end
try("columns of no matrix", function() return require("kbcd").gram_matrix{ columns = -5 } end)
try("rename away", function() return os.rename("secret", "to/secret") end)
try("rename a link", function() return os.rename("in/link", "to/link") end)
try("link to a secret", function() return runtime.files.link("secret", "to/secret") end)
try("tmpname", function() return os.tmpname() end)
try("tmpfile", function() return io.tmpfile() end)
try("the history", function() runtime.terminal.load_history("to/h") return true end)
try("getenv", function() return os.getenv("HOME") end)

-- What the guards stand on, changed first.
for _, name in ipairs{ "find", "match", "sub", "format", "gsub" } do
  rawset(string, name, function() return "in/data.csv" end)
end
tostring = function() return "in/data.csv" end  -- luacheck: ignore 121
package.loaded.io, package.loaded.os = nil, nil
try("io.open after changes", function() return io.open("secret") end)
try("require after changes", function() return require "ffi" end)
try("require of io", function() return require "io" end)
local fickle = setmetatable({}, { __tostring = function() return "secret" end })
try("a path that is a table", function() return io.open(fickle) end)
try("a path that is a table, to load", function() return kbcd.load(fickle) end)

io.stdout:write("tried ", count, "\n")
