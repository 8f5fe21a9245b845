-- Hashes of bytes, called through LuaJIT's FFI, so that a loop over them is compiled.

local ffi = require "ffi"
local runtime = require "kbcd.runtime"

ffi.cdef "uint32_t kbcd_murmur3(const char *bytes, size_t count, uint32_t seed);"

local hash = {}

runtime.docs.hash = [[hash
Hashes of bytes, called through FFI, so that LuaJIT compiles a loop over them.]]

runtime.docs["hash.murmur3"] = [=[hash.murmur3(text [, seed [, count]])
MurmurHash3 (x86, 32 bits) of a string, a number from 0 to 2^32 - 1. seed = 0. With count, text may be a pointer to so many
bytes (ffi.cast("const char *", s) + i), which takes no copy of a part of a string.]=]
function hash.murmur3(text, seed, count)
  seed = seed or 0
  if type(text) == "string" then
    count = count or #text
    if type(count) == "number" and count > #text then
      error(("hash.murmur3: %d bytes asked for, the string has %d"):format(count, #text), 2)
    end
  elseif type(text) ~= "cdata" or not count then
    error(("hash.murmur3: a string, or a pointer and a count of bytes expected, got %s"):format(type(text)), 2)
  end
  if type(count) ~= "number" or not (count >= 0 and count < 2 ^ 53 and count % 1 == 0) then
    error(("hash.murmur3: count: a whole number from 0 up expected, got %s"):format(tostring(count)), 2)
  end
  if type(seed) ~= "number" or seed < 0 or seed > 0xFFFFFFFF or seed % 1 ~= 0 then
    error(("hash.murmur3: seed: a whole number of 32 bits expected, got %s"):format(tostring(seed)), 2)
  end
  return ffi.C.kbcd_murmur3(text, count, seed)
end

return hash
