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

local address = runtime.Matrix.ptr
function runtime.Matrix:ptr()
  local good, at, stride = pcall(address, self)
  if not good then error(at, 2) end
  return ffi.cast(self.dtype == "f32" and "float*" or "double*", at), stride
end

-- kernel.name, features.name and the like that are not there say which are.
for family, what in pairs{ kernel = "kernel", features = "feature map", speech = "speech function", text = "text function",
  vision = "vision function" } do
  setmetatable(kbcd[family], { __index = function(all, name)
    local known = {}
    for key in pairs(all) do known[#known + 1] = key end
    table.sort(known)
    error(("there is no %s '%s'; known: %s"):format(what, tostring(name), table.concat(known, ", ")), 2)
  end })
end

runtime.system.docs.say = [[say(format, ...)
Prints a line, formatted as by string.format, on rank 0 alone.]]
function kbcd.say(format, ...)
  if runtime.rank() == 0 then
    if runtime.system.bar_shown then io.stderr:write("\r\27[K") end  -- progress draws its bar again at the next step
    io.stdout:write(format:format(...), "\n")
    io.stdout:flush()
  end
end

package.loaded.kbcd = kbcd
return kbcd
