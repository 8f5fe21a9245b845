-- table_rows(file, name, table, header): an iterator of data sets of a few thousand rows of a stream of CSV that rank 0
-- reads, as the description of a table says (read_table), so that a stream of any length can be predicted. header: whether
-- the first line names the columns, by default by its look.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local stream_lines = require "kbcd.data.stream_lines"

local most = 4096

-- A function that gives the rows of the next lines as a Matrix; nil at the end.
local function encoder(file, name, t, header)
  local lines, names = stream_lines(file, name), nil  -- names: the header, which goes before every piece
  local first = true
  return function()
    local piece, full, start = { names }, {}, nil
    for line, number in lines do
      start = start or number
      piece[#piece + 1] = line
      if line:find("%S") then full[#full + 1] = line end
      if #full == most then break end
    end
    if #full == 0 then return nil end
    if not first then header = names ~= nil end
    local A, named = runtime.tables.encode(table.concat(piece, "\n"), name, names and start - 1 or start,
      { header = header, labels = false }, t)
    if first and named then names = full[#full - A.nrows] end
    first = false
    return A
  end
end

return function(file, name, t, header)
  local next_rows = kbcd.rank() == 0 and encoder(file, name, t, header)
  local d = #runtime.tables.outputs(t)
  return function()
    local A = next_rows and next_rows()
    local count = kbcd.bcast(A and A.nrows or 0)
    if count == 0 then return nil end
    return kbcd.DataSet(kbcd.bcast(A or kbcd.Matrix.zeros(count, d)))
  end
end
