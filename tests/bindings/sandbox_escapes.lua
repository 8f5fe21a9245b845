-- Ways out of the sandbox, each refused for a reason that escapes_spec checks: { name, reason, code }. Code that gives a
-- value other than nil and false has escaped; else its error, or the message beside nil, must contain the reason ("" where
-- there is none: the value is simply not there).
return {
  -- Programs and native code.
  { "a program", "os.execute: not available in the sandbox", [[ return os.execute("touch to/pwned") ]] },
  { "a pipe", "io.popen: not available in the sandbox", [[ return io.popen("id") ]] },
  { "FFI", "module 'ffi' is not available", [[ return require "ffi" ]] },
  { "FFI by package.loaded", "", [[ return package.loaded.ffi ]] },
  { "FFI by package.preload", "", [[ return package.preload.ffi ]] },
  { "a C library", "package.loadlib: not available in the sandbox", [[ return package.loadlib("libc.so.6", "system") ]] },
  { "a C module", "module 'lpeg' is not available",
    [[ package.cpath = "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so" return require "lpeg" ]] },
  { "a pointer", "Matrix:ptr: not available in the sandbox", [[ return require("kbcd").Matrix.zeros(1, 1):ptr() ]] },
  { "the bytes of compiled code", "module 'jit.util' is not available", [[ return require "jit.util" ]] },

  -- Bytecode.
  { "bytecode of a function", "string.dump: not available in the sandbox", [[ return string.dump(print) ]] },
  { "bytecode by a method", "string.dump: not available in the sandbox", [[ return ("").dump(print) ]] },
  { "bytecode loaded", "attempt to load chunk with wrong mode", [[ return load("\27LJ\2\0\0", "x", "b") ]] },
  { "bytecode in parts", "attempt to load chunk with wrong mode",
    [[ local parts = { "\27LJ", "\2\0\0" } return load(function() return table.remove(parts, 1) end, "x", "bt") ]] },
  { "bytecode of a file", "attempt to load chunk with wrong mode", [[ return loadfile("in/chunk", "b") ]] },
  { "bytecode required", "module 'chunk' cannot be loaded",
    [[ local path = package.path package.path = "in/?"
       local _, why = pcall(require, "chunk") package.path = path error(why) ]] },

  -- Files elsewhere.
  { "a file", "does not let it be read", [[ return io.open("/etc/passwd") ]] },
  { "a file by ..", "does not let it be read", [[ return io.open("in/../secret") ]] },
  { "a file by a symbolic link", "does not let it be read", [[ return io.open("in/link") ]] },
  { "a file by a linked folder", "does not let it be read", [[ return io.open("in/linked/passwd") ]] },
  { "a file behind a zero byte", "does not let it be read", [[ return io.open("in/data.csv\0/../../secret") ]] },
  { "the memory of this process", "does not let it be written",
    [[ return io.open("/proc/self/mem", "r+") ]] },
  { "the environment of this process", "does not let it be read", [[ return io.open("/proc/self/environ") ]] },
  { "a file by /proc/self/cwd", "does not let it be read", [[ return io.open("/proc/self/cwd/secret") ]] },
  { "a file by /proc/self/fd", "does not let it be read", [[ return io.open("/proc/self/fd/1") ]] },
  { "a hard link", "does not let it be written", [[ return require("kbcd.runtime").files.link("secret", "to/hard") ]] },
  { "a file to read, written", "does not let it be written", [[ return io.open("in/data.csv", "r+") ]] },
  { "a file renamed out", "does not let it be written", [[ return os.rename("secret", "to/secret") ]] },
  { "a file removed", "does not let it be written", [[ return os.remove("in/data.csv") ]] },
  { "a dangling link written through", "does not let it be written", [[ return io.open("to/dangling", "w") ]] },
  { "a file by the library", "the sandbox does not let it be read", [[ return require("kbcd").load("secret") ]] },
  { "a model elsewhere", "does not let it be", [[ return require("kbcd").h5.create("new.h5") ]] },
  { "a temporary file", "io.tmpfile: not available in the sandbox", [[ return io.tmpfile() ]] },
  { "an environment variable", "", [[ return os.getenv("HOME") or os.getenv("PATH") ]] },

  -- What the library stands on.
  { "a function of a type", "'zeros' cannot be set", [[ require("kbcd").Matrix.zeros = print return true ]] },
  { "the collector of a type", "'__gc' cannot be set", [[ require("kbcd").Matrix.__gc = print return true ]] },
  { "the index of a type", "'__index' cannot be set", [[ require("kbcd").Matrix.__index = print return true ]] },
  { "a cast of a type", "'class_cast' cannot be set", [[ require("kbcd").Matrix.class_cast = print return true ]] },
  { "the collector of a type, read", "", [[ local M = require("kbcd").Matrix return M.__gc or M.class_cast or M.__index ]] },
  { "a method of a matrix", "cannot be set", [[ require("kbcd").Matrix.zeros(1, 1).sum = print return true ]] },
  { "a method of a kernel", "cannot be set", [[ require("kbcd").kernel.rbf{ sigma = 1 }.params = print return true ]] },
  { "a table of the library", "'say' cannot be set", [[ require("kbcd").say = print return true ]] },
  { "a table of the runtime", "'abort' cannot be set", [[ require("kbcd.runtime").job.abort = print return true ]] },
  { "a new name in the library", "'mine' cannot be set", [[ require("kbcd").mine = print return true ]] },
  { "the names of all algorithms", "'nystrom' cannot be set",
    [[ require("kbcd.runtime").library.public.nystrom = "evil" return true ]] },
  { "rawset of the library", "", [[
    local kbcd = require "kbcd"
    rawset(kbcd.hash, "murmur3", function() error("the script's") end)
    local X = kbcd.text.read("in/t.tsv", { format = "tsv" })
    kbcd.gram_matrix{ columns = 16, { documents = X, cut = function(t, count) count(t) end, share = 1 } }
    rawset(kbcd.hash, "murmur3", nil)
    return kbcd.hash.murmur3("test", 0x9747b28c) ~= 0x704b81dc ]] },
  { "the metatable of strings", "", [[ return getmetatable("") ]] },
  { "the metatable of a matrix", "", [[ return getmetatable(require("kbcd").Matrix.zeros(1, 1)) ]] },
  { "the metatable of the library", "", [[ return getmetatable(require "kbcd") ]] },
  { "the metatable of a model", "", [[
    local kbcd = require "kbcd"
    local X = kbcd.DataSet(kbcd.Matrix.ones(3, 2))
    return getmetatable(kbcd.Model{ kernel = kbcd.kernel.rbf{ sigma = 1 }, X = X,
      coefficients = kbcd.Matrix.ones(X.local_n, 1), lambda = 1 }) ]] },
  { "the metatable of a checkpoint", "", [[ return getmetatable(require("kbcd").checkpoint("to/c", { every = 0 })) ]] },
  { "another metatable for the library", "cannot change a protected metatable",
    [[ return setmetatable(require "kbcd", {}) ]] },
  { "the metatable of a file", "", [[ return getmetatable(io.stdout) or io.stdout.__index or io.stdout.__gc ]] },
  { "the methods of files", "attempt to index", [[ io.stdout.__index.write = print return true ]] },
  { "the variables of functions", "", [[ return debug.getupvalue or debug.setupvalue or debug.getregistry ]] },
  { "the environment of functions", "", [[ return getfenv or setfenv or debug.getfenv or newproxy ]] },
  { "what makes the sandbox", "attempt to", [[ return require("kbcd.support.sandbox")({}) ]] },
  { "globals of the library", "", [[
    for _, name in ipairs{ "sol.kbcd::Matrix", "kbcd" } do if rawget(_G, name) then return name end end
    return require("_G") ~= _G or package.loaded.string ~= string ]] },
  { "a variable of the library, by a loaded chunk", "", [[
    library_error = error
    local changed = load("error = nil return _G")() ~= _G
    local good = error == nil and not pcall(require("kbcd").Matrix, 5)
    error, library_error = library_error, nil
    return changed or not good ]] },
  { "the address of a table", "", [[ return tostring({}):find("0x") or ("%s"):format({}):find("0x") ]] },
  { "the address of a function", "", [[ return tostring(require("kbcd").say):find("0x") or tostring(print):find("0x") ]] },
  { "the address of a file", "", [[ return tostring(io.stdout):find("0x") ]] },
  { "the address by %p", "%p is not available in the sandbox", [[ return ("%p"):format({}) ]] },
  { "the address by %-20p", "%p is not available in the sandbox", [[ return string.format("%-20p", print) ]] },
  { "the address by a traceback", "", [[ return debug.traceback(coroutine.create(print)):find("0x%x") ]] },

  -- Places beyond buffers.
  { "bytes behind a string", "hash.murmur3", [[ return require("kbcd").hash.murmur3("a", 0, 2 ^ 33) ]] },
  { "bytes before a string", "hash.murmur3", [[ return require("kbcd").hash.murmur3("a", 0, 1, -5) ]] },
  { "a column that is not there", "columns within 1..10", [[ require("kbcd").csr_builder(10).add(1234.5, 1) return true ]] },
  { "a column before the first", "columns within 1..10", [[ require("kbcd").csr_builder(10).add(-5000000, 1) return true ]] },
  { "parts of a text that are not there", "bytes within 1..1",
    [[ require("kbcd").csr_builder(10).add_hashed("a", { -5000, 2 ^ 33 }) return true ]] },
}
