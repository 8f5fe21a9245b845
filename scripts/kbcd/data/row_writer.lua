-- row_writer(path, format, kind, columns [, names, header]): writes a file of rows, .npy or CSV, piece by piece on rank 0.
--
-- kind "f8": numbers as they are; "i8" and "text": one column of class numbers, written as the names of the classes.
-- A .npy of one column has one dimension; texts are bytes of fixed length. out:write(A), out:close(). Path "-" is stdout.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local header_bytes = 128

local function npy_header(descr, rows, columns)
  local shape = columns == 1 and ("(%.0f,)"):format(rows) or ("(%.0f, %d)"):format(rows, columns)
  local text = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }"):format(descr, shape)
  text = text .. (" "):rep(header_bytes - 11 - #text) .. "\n"
  return "\147NUMPY\1\0" .. string.char(#text % 256, math.floor(#text / 256)) .. text
end

local encode = {}

function encode.f8(A) return runtime.files.bytes(A, "f8") end

function encode.i8(A, names)
  local numbers = kbcd.Matrix.zeros(A.nrows, 1)
  for i = 1, A.nrows do numbers:set(i, 1, tonumber(names[A(i, 1)])) end
  return runtime.files.bytes(numbers, "i8")
end

function encode.text(A, names, width)
  local parts = {}
  for i = 1, A.nrows do
    local name = names[A(i, 1)]
    parts[i] = name .. ("\0"):rep(width - #name)
  end
  return table.concat(parts)
end

local function npy(file, kind, columns, names)
  local rows, width = 0, 1
  for _, name in ipairs(names or {}) do width = math.max(width, #name) end
  local descr = kind == "text" and "|S" .. width or "<" .. kind
  file:write(npy_header(descr, 0, columns))
  return function(A)
    rows = rows + A.nrows
    return file:write(encode[kind](A, names, width))
  end, function()
    file:seek("set", 0)
    file:write(npy_header(descr, rows, columns))
  end
end

local function quoted(text)
  return text:find('[",\n\r]') and '"' .. text:gsub('"', '""') .. '"' or text
end

local function csv(file, _, columns, names, header)
  local names_line = {}
  for j, name in ipairs(header or {}) do names_line[j] = quoted(name) end
  if header then file:write(table.concat(names_line, ","), "\n") end
  return function(A)
    local lines = {}
    for i = 1, A.nrows do
      local cells = {}
      for j = 1, columns do cells[j] = names and quoted(names[A(i, j)]) or ("%.17g"):format(A(i, j)) end
      lines[i] = table.concat(cells, ",") .. "\n"
    end
    return file:write(table.concat(lines))
  end, function() end
end

runtime.docs.row_writer = [[row_writer(path, format, kind, columns [, names, header])
A file of rows, "npy" or "csv", that rank 0 writes: out:write(A) adds the rows of a Matrix, out:close() ends it. kind: "f8"
(numbers), "i8" or "text" (class numbers, written as names). header: names of the columns, the first line of CSV. Path "-"
is standard output.]]

return function(path, format, kind, columns, names, header)
  if kbcd.rank() ~= 0 then return { write = function() end, close = function() end } end
  local file, reason = io.stdout, nil
  if path ~= "-" then file, reason = io.open(path, "wb") end
  if not file then error(("%s: cannot be written (%s)"):format(path, reason), 0) end
  local write, finish = (format == "npy" and npy or csv)(file, kind, columns, names, header)
  local function check(good, why)
    if not good then error(("%s: cannot be written to its end (%s)"):format(path, tostring(why)), 0) end
  end
  return {
    write = function(_, A) check(write(A)) end,
    close = function()
      finish()
      check(file:flush())
      if path ~= "-" then check(file:close()) end
    end,
  }
end
