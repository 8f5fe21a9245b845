-- png(pixels, height, width): the bytes of a grey PNG file; pixels: a list of numbers from 0 to 255, line after line. The
-- data is not compressed (one stored block of deflate).

local bit = require "bit"

local function big(value, bytes)
  local text = {}
  for i = bytes, 1, -1 do
    text[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(text)
end

local function crc32(bytes)
  local crc = -1
  for i = 1, #bytes do
    crc = bit.bxor(crc, bytes:byte(i))
    for _ = 1, 8 do crc = bit.bxor(bit.rshift(crc, 1), bit.band(crc, 1) == 1 and 0xEDB88320 or 0) end
  end
  return bit.bnot(crc) % 2 ^ 32
end

local function adler32(bytes)
  local a, b = 1, 0
  for i = 1, #bytes do
    a = (a + bytes:byte(i)) % 65521
    b = (b + a) % 65521
  end
  return b * 65536 + a
end

local function chunk(name, data) return big(#data, 4) .. name .. data .. big(crc32(name .. data), 4) end

return function(pixels, height, width)
  local lines = {}
  for i = 1, height do lines[i] = "\0" .. string.char(unpack(pixels, (i - 1) * width + 1, i * width)) end
  local data = table.concat(lines)
  local low, high = string.char(#data % 256), string.char(math.floor(#data / 256))
  local length = low .. high .. string.char(255 - low:byte(), 255 - high:byte())
  return "\137PNG\r\n\26\n" .. chunk("IHDR", big(width, 4) .. big(height, 4) .. "\8\0\0\0\0")
    .. chunk("IDAT", "\120\1\1" .. length .. data .. big(adler32(data), 4)) .. chunk("IEND", "")
end
