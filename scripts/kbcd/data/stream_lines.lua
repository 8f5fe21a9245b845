-- stream_lines(file, name): an iterator of the lines of a stream of text and their numbers, without line ends; `name` is for
-- messages.

local longest = 2 ^ 24

return function(file, name)
  local number = 0
  return function()
    local line = file:read("*l")
    if not line then return nil end
    number = number + 1
    if number == 1 and line:sub(1, 2) == "\31\139" then error(name .. ": gzipped; unpack it with zcat", 0) end
    if #line > longest then
      error(("%s: line %d has %d MB; at most %d are read"):format(name, number, #line / 2 ^ 20, longest / 2 ^ 20), 0)
    end
    return (line:gsub("\r$", "")), number
  end
end
