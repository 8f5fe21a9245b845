-- plot(y), plot(x, y), plot(x, y, path): a curve in the terminal, or as a PNG.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.plot = [[plot([x,] y [, path])
Draws y against x (1, 2, … unless given), as a line, in the terminal. Each is a list of numbers or a Matrix with one row or
column; points that are not finite are left out. With a path that ends in .png, draws to this file by gnuplot.]]

local height = 16  -- lines of the terminal

-- A list of numbers from a list or a Matrix with one row or column.
local function numbers(value, what)
  local list = value
  if kbcd.type(value) == "Matrix" then
    if value.nrows ~= 1 and value.ncols ~= 1 then
      error(("plot: %s: a Matrix with one row or column expected, got %dx%d"):format(what, value.nrows, value.ncols), 0)
    end
    list = {}
    for i = 1, value.nrows * value.ncols do list[i] = value[i] end
  elseif type(value) ~= "table" then
    error(("plot: %s: a list of numbers or a Matrix expected, got a %s"):format(what, kbcd.type(value)), 0)
  end
  for i, number in ipairs(list) do
    if type(number) ~= "number" then
      error(("plot: %s: element %d is no number but a %s"):format(what, i, kbcd.type(number)), 0)
    end
  end
  return list
end

local function is_finite(x) return x == x and math.abs(x) < math.huge end

-- The points that can be drawn.
local function points_of(x, y)
  if #x ~= #y then error(("plot: x has %d numbers, y has %d"):format(#x, #y), 0) end
  local points = { x = {}, y = {} }
  for i = 1, #y do
    if is_finite(x[i]) and is_finite(y[i]) then
      points.x[#points.x + 1], points.y[#points.y + 1] = x[i], y[i]
    end
  end
  if #points.x == 0 then error("plot: there is no point with finite numbers to draw", 0) end
  return points
end

local function range(list)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(list) do low, high = math.min(low, value), math.max(high, value) end
  return low, high
end

-- Where a value lies between two others, from 0 to `last`; halves avoid overflow.
local function place(value, low, high, last)
  if high == low then return math.floor(last / 2) end
  return math.floor((value / 2 - low / 2) / (high / 2 - low / 2) * last + 0.5)
end

-- Dots of a line between two dots.
local function line(set, column, row, to_column, to_row)
  local steps = math.max(math.abs(to_column - column), math.abs(to_row - row), 1)
  for i = 0, steps do
    set(math.floor(column + (to_column - column) * i / steps + 0.5), math.floor(row + (to_row - row) * i / steps + 0.5))
  end
end

local dot_bits = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } }  -- of a Braille character, by row and column

-- Terminals without UTF-8 get plain characters, one dot each.
local function is_utf8()
  local name = os.getenv("LC_ALL") or ""
  if name == "" then name = os.getenv("LC_CTYPE") or "" end
  if name == "" then name = os.getenv("LANG") or "" end
  return name:upper():gsub("%-", ""):find("UTF8", 1, true) ~= nil
end

local function draw(points, columns, utf8)
  local wide, high = utf8 and 2 or 1, utf8 and 4 or 1
  local cells = {}
  local function set(column, row)
    local r, c = math.floor(row / high), math.floor(column / wide)
    local line_of = cells[r] or {}
    cells[r] = line_of
    line_of[c] = utf8 and bit.bor(line_of[c] or 0, dot_bits[row % high + 1][column % wide + 1]) or 1
  end
  local x_low, x_high = range(points.x)
  local y_low, y_high = range(points.y)
  local last_column, last_row = columns * wide - 1, height * high - 1
  local before_column, before_row
  for i, x in ipairs(points.x) do
    local column, row = place(x, x_low, x_high, last_column), last_row - place(points.y[i], y_low, y_high, last_row)
    line(set, before_column or column, before_row or row, column, row)
    before_column, before_row = column, row
  end
  local lines = {}
  for r = 0, height - 1 do
    local text = {}
    for c = 0, columns - 1 do
      local dots = cells[r] and cells[r][c]
      text[c + 1] = not dots and " " or not utf8 and "*" or
        string.char(0xE2, 0xA0 + math.floor(dots / 64), 0x80 + dots % 64)
    end
    local label = r == 0 and ("%.4g"):format(y_high) or r == height - 1 and ("%.4g"):format(y_low) or ""
    lines[#lines + 1] = (("%10s |"):format(label) .. table.concat(text)):gsub("%s+$", "")
  end
  local left, right = ("%.4g"):format(x_low), ("%.4g"):format(x_high)
  lines[#lines + 1] = (" "):rep(11) .. "+" .. ("-"):rep(columns)
  lines[#lines + 1] = (" "):rep(12) .. left .. (" "):rep(math.max(1, columns - #left - #right)) .. right
  return table.concat(lines, "\n")
end

return function(...)
  local given = { ... }
  local path = type(given[#given]) == "string" and table.remove(given) or nil
  if path and not path:find("%.png$") then error(("plot: a path that ends in .png expected, got '%s'"):format(path), 2) end
  if #given < 1 or #given > 2 then error("plot: y, or x and y, expected; see help \"plot\"", 2) end
  local y, x = numbers(given[#given], "y"), {}
  if given[2] then x = numbers(given[1], "x") else for i = 1, #y do x[i] = i end end
  local points = points_of(x, y)
  if kbcd.rank() ~= 0 then return end
  if path then return kbcd.line_plot(path, "", { { x = points.x, y = points.y } }) end
  print(draw(points, math.max(10, math.min(runtime.terminal.columns(), 100) - 14), is_utf8()))
end
