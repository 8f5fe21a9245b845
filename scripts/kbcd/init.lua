-- What `require "kbcd"` gives: the runtime's types and primitives, and by its name every file of this folder
-- (kbcd.nystrom is nystrom.lua), loaded when it is first used.

local ffi = require "ffi"
local runtime = require "kbcd.runtime"

local function load_module(kbcd, name)
  if type(name) ~= "string" or not package.searchpath("kbcd." .. name, package.path) then
    error(("kbcd has no '%s'; help() lists what there is"):format(tostring(name)), 2)
  end
  kbcd[name] = require("kbcd." .. name)
  return kbcd[name]
end

local kbcd = setmetatable({}, { __index = load_module })
for name, value in pairs(runtime) do kbcd[name] = value end

runtime.system.docs["Matrix:ptr"] = [[Matrix:ptr()
A pointer to the numbers for LuaJIT's FFI (float* or double*), and how many numbers lie from row to row:
element (i, j), counted from 0, is p[i * stride + j]. The matrix must outlive the pointer.]]
function runtime.Matrix:ptr()
  local address, stride = self:address()
  return ffi.cast(self.dtype == "f32" and "float*" or "double*", address), stride
end

runtime.system.docs.say = [[say(format, ...)
Prints a line, formatted as by string.format, on rank 0 alone.]]
function kbcd.say(format, ...)
  if runtime.rank() == 0 then
    io.stdout:write(format:format(...), "\n")
    io.stdout:flush()
  end
end

package.loaded.kbcd = kbcd
return kbcd
