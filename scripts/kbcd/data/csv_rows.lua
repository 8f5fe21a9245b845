-- csv_rows(file, name, d): an iterator of data sets of a few thousand rows from a stream of CSV numbers (commas,
-- semicolons, tabs or blanks between them) that rank 0 reads, so that a stream of any length can be predicted. Blank lines
-- and a first line of names are skipped; where a line is neither names nor numbers, it is an error.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local stream_lines = require "kbcd.data.stream_lines"

local piece = 4096

local function cells_of(line)
  local cells, delimiter = {}, line:match("[,;\t]") or " "
  line = line:match("^ *(.-) *$")
  if delimiter == " " then line = line:gsub(" +", " ") end
  for cell in (line .. delimiter):gmatch("(.-)" .. delimiter) do cells[#cells + 1] = cell:match("^ *(.-) *$") end
  return cells
end

-- Lua also reads 0x10, 0b1 and inf.
local function value_of(cell)
  local value = not cell:find("[^%d%.eE+-]") and tonumber(cell)
  return value and math.abs(value) < math.huge and value or nil
end

-- Names begin with a letter; what is not ASCII may be a letter, but not a minus or a dash.
local no_names = { nan = true, inf = true, infinity = true, na = true, null = true }
local function is_name(cell)
  if cell:find("^\226\136\146") or cell:find("^\226\128[\144-\149]") or no_names[cell:lower()] then return false end
  return cell:find("^\"?[%a_\128-\255]") ~= nil
end

local function is_header(cells)
  for _, cell in ipairs(cells) do if not is_name(cell) then return false end end
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

runtime.docs.csv_rows = [[csv_rows(file, name, d [, header])
An iterator of DataSets of some thousand rows of d numbers each, from CSV that rank 0 reads; name is for messages. header:
whether the first line names the columns, by default by its look.]]

return function(file, name, d, header)
  local lines, first = stream_lines(file, name), true
  return function()
    local rows = {}
    if kbcd.rank() == 0 then
      while #rows < piece do
        local line, number = lines()
        if not line then break end
        if line:match("%S") then
          local cells = cells_of(line)
          local named = header
          if named == nil then named = #cells == d and is_header(cells) end
          if not (first and named) then rows[#rows + 1] = parse(cells, d, name, number) end
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
