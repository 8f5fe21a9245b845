-- stream_lines(file, name): an iterator of the lines of a stream of text and their numbers, without line ends; `name` is for
-- messages.

local longest = 2 ^ 24

return function(file, name)
  local number = 0
  return function()
    local line = file:read("*l")
    if not line then return nil end
    number = number + 1
    if number == 1 then
      local mark = line:sub(1, 2)
      if mark == "\31\139" then error(name .. ": gzipped; unpack it with zcat", 0) end
      if mark == "\255\254" or mark == "\254\255" then
        error(name .. ": text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8", 0)
      end
      line = line:gsub("^\239\187\191", "")  -- a byte order mark
    end
    if #line > longest then
      error(("%s: line %d has %d MB; at most %d are read"):format(name, number, #line / 2 ^ 20, longest / 2 ^ 20), 0)
    end
    return (line:gsub("\r$", "")), number
  end
end
