-- csv_rows(file, name, d): an iterator of data sets of a few thousand rows from a stream of CSV numbers (commas,
-- semicolons, tabs or blanks between them) that rank 0 reads, so that a stream of any length can be predicted. Blank lines
-- and a first line of names are skipped.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local piece = 4096

local function cells_of(line)
  local cells, delimiter = {}, line:match("[,;\t]") or " "
  line = line:match("^ *(.-) *$")
  if delimiter == " " then line = line:gsub(" +", " ") end
  for cell in (line .. delimiter):gmatch("(.-)" .. delimiter) do cells[#cells + 1] = cell:match("^ *(.-) *$") end
  return cells
end

local function value_of(cell)
  local value = not cell:find("[xX]") and tonumber(cell)  -- 0x10 is a number to Lua alone
  return value and value == value and math.abs(value) < math.huge and value or nil
end

local function is_header(cells)
  for _, cell in ipairs(cells) do
    if tonumber(cell) or not cell:find("%a") then return false end
  end
  return true
end

local function parse(cells, d, name, number)
  if #cells ~= d then error(("%s: line %d: %d numbers expected, got %d"):format(name, number, d, #cells), 0) end
  local row = {}
  for j, cell in ipairs(cells) do
    row[j] = value_of(cell)
      or error(("%s: line %d: a finite number expected in column %d, got '%s'"):format(name, number, j, cell), 0)
  end
  return row
end

runtime.docs.csv_rows = [[csv_rows(file, name, d)
An iterator of DataSets of some thousand rows of d numbers each, from CSV that rank 0 reads; name is for messages.]]

return function(file, name, d)
  local number, first = 0, true
  return function()
    local rows = {}
    if kbcd.rank() == 0 then
      while #rows < piece do
        local line = file:read("*l")
        if not line then break end
        number = number + 1
        if first and line:sub(1, 2) == "\31\139" then error(name .. ": gzipped; unpack it with zcat", 0) end
        line = line:gsub("\r$", "")
        if line:match("%S") then
          local cells = cells_of(line)
          if not (first and #cells == d and is_header(cells)) then rows[#rows + 1] = parse(cells, d, name, number) end
          first = false
        end
      end
    end
    local count = kbcd.bcast(#rows)
    if count == 0 then return nil end
    local A = kbcd.rank() == 0 and kbcd.Matrix(rows) or kbcd.Matrix.zeros(count, d)
    return kbcd.DataSet(kbcd.bcast(A))
  end
end
