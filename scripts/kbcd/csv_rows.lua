-- csv_rows(file, name, d): data sets of a few thousand rows from a stream of CSV numbers (commas, semicolons, tabs or blanks
-- between them) that rank 0 reads, so that a stream of any length is predicted as it comes. Blank lines are passed over.

local kbcd = require "kbcd"

local piece = 4096

local function parse(line, d, name, number)
  local row = {}
  for cell in line:gmatch("[^,;\t ]+") do
    local value = tonumber(cell)
    if not value or value ~= value or math.abs(value) == math.huge then
      error(("%s: line %d: a finite number expected in column %d, got '%s'"):format(name, number, #row + 1, cell), 0)
    end
    row[#row + 1] = value
  end
  if #row ~= d then error(("%s: line %d: %d numbers expected, got %d"):format(name, number, d, #row), 0) end
  return row
end

kbcd.system.docs.csv_rows = [[csv_rows(file, name, d)
An iterator of DataSets of some thousand rows of d numbers each, from CSV that rank 0 reads; name is for messages.]]

return function(file, name, d)
  local number = 0
  return function()
    local rows = {}
    if kbcd.rank() == 0 then
      while #rows < piece do
        local line = file:read("*l")
        if not line then break end
        number = number + 1
        line = line:gsub("\r$", "")
        if line:match("%S") then rows[#rows + 1] = parse(line, d, name, number) end
      end
    end
    local count = kbcd.bcast(#rows)
    if count == 0 then return nil end
    local A = kbcd.rank() == 0 and kbcd.Matrix(rows) or kbcd.Matrix.zeros(count, d)
    return kbcd.DataSet(kbcd.bcast(A))
  end
end
