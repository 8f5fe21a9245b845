-- csr_builder(cols): makes sparse rows in Lua at the speed of compiled code: entries are written through FFI pointers into
-- Matrices that grow, and sorted in C++ at the end.

local runtime = require "kbcd.runtime"
local Matrix = require("kbcd").Matrix
local pointer = Matrix.ptr  -- which scripts in the sandbox do not have

runtime.docs.csr_builder = [[csr_builder(cols)
Builds this rank's rows of a sparse DataSet: b.add(column, value) for each entry of a row (columns from 1, in any order;
repeated columns are summed), b.end_row(), and at last b.finish(n [, options]), where n counts the rows of all ranks.
options: unit_norm = false; dtype = "f32". All ranks call finish.]]

-- A buffer of numbers that doubles when it is full.
local function growing()
  local row = { count = 0, room = 1024 }
  row.matrix = Matrix.zeros(1, row.room)
  row.at = pointer(row.matrix)
  function row.grow()
    local larger = Matrix.zeros(1, 2 * row.room)
    larger:cols(1, row.room):copy(row.matrix)
    row.matrix:release()
    row.matrix, row.at, row.room = larger, pointer(larger), 2 * row.room
  end
  return row
end

return function(cols)
  local builder, rows, count = {}, 0, 0
  local starts, columns, values = growing(), growing(), growing()

  function builder.add(column, value)
    if count == columns.room then columns.grow() values.grow() end
    columns.at[count], values.at[count] = column, value
    count = count + 1
  end

  function builder.end_row()
    rows = rows + 1
    if rows == starts.room then starts.grow() end
    starts.at[rows] = count
  end

  function builder.finish(n, given)
    local o = given or {}
    for name in pairs(o) do
      if name ~= "unit_norm" and name ~= "dtype" then
        error(("csr_builder: unknown option '%s'; known: dtype, unit_norm"):format(name), 2)
      end
    end
    local function used(row) return count > 0 and row.matrix:cols(1, count) or Matrix.zeros(1, 0) end
    local csr = runtime.Csr(cols, starts.matrix:cols(1, rows + 1), used(columns), used(values), o.dtype or "f32",
      o.unit_norm or false)
    return runtime.DataSet.local_part(n, csr)
  end

  return builder
end
