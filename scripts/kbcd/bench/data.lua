-- The data of `kbcd bench`: Fashion-MNIST, or numbers of the same shape; rows like those of the paper's sets; sparse text.

local kbcd = require "kbcd"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet

local data = { sigma = 5, lambda = 1e-6 }

-- n normal rows of d numbers, about 10 from each other (twice sigma), as those of Fashion-MNIST are; from row `after` + 1
-- of an endless sequence.
function data.rows(n, d, after)
  return DataSet.generate(n, d, function(first, last)
    local rows = Matrix.randn(last - first + 1, d, { seed = 1, first_row = first + (after or 0), dtype = "f32" })
    return rows:scale(7 / math.sqrt(d))
  end)
end

-- n rows of d bytes, as far from each other.
function data.byte_rows(n, d, after)
  local scale = 2 ^ math.floor(math.log(1e2 / (2 * d * 256 ^ 2 / 12)) / math.log(2) / 2 + 0.5)
  return DataSet.generate(n, d, function(first, last)
    local rows = Matrix.rand(last - first + 1, d, { seed = 1, first_row = first + (after or 0), dtype = "f32" })
    return rows:scale(256):floor():clamp(0, 255):scale(scale)
  end):to_bytes(scale, 0)
end

-- Rows and labels 1..k, by which of k fixed directions a row has most of.
local function generated_pair(n, d, k, after, bytes)
  local X = (bytes and data.byte_rows or data.rows)(n, d, after)
  local scores = X:part(1, X.local_n) * Matrix.randn(d, k, { seed = 2, dtype = "f32" })
  return X, DataSet.local_part(n, scores.nrows > 0 and scores:argmax(2) or Matrix.zeros(0, 1))
end

-- Whether the CPU multiplies bytes (core/byte_tiles.hpp).
function data.multiplies_bytes() return not kbcd.version():find("of bytes: none", 1, true) end

local folder = "/usr/share/datasets/fashion-mnist/"

local function load(name, n, bytes)
  local path = folder .. name .. "-ubyte.gz"
  local file = io.open(path)
  if not file then
    error("Fashion-MNIST is not here (" .. path .. "); on Debian: apt-get install dataset-fashion-mnist. " ..
      "--data generated takes made-up rows of the same shape", 0)
  end
  file:close()
  return (kbcd.load(path, { rows = n, bytes = bytes or false }))
end

local last = {}

-- { X, y, Y, first, test = { X, y } }: the first n rows of the images, and of those to test with. s: n, d, k, test (how
-- many to test with), data ("fashion" or "generated"), bytes (true: the rows are kept as bytes).
function data.images(s)
  local key = table.concat({ s.data, s.n, s.d, s.k, s.test, tostring(s.bytes) }, " ")
  if last.key == key then return last end
  last = { key = key, test = {} }
  if s.data == "fashion" then
    last.X, last.y = load("train-images-idx3", s.n, s.bytes), load("train-labels-idx1", s.n)
    last.test.X, last.test.y = load("t10k-images-idx3", s.test, s.bytes), load("t10k-labels-idx1", s.test)
    last.first = 0
  else
    last.X, last.y = generated_pair(s.n, s.d, s.k, 0, s.bytes)
    last.test.X, last.test.y = generated_pair(s.test, s.d, s.k, s.n, s.bytes)
    last.first = 1
  end
  last.Y = kbcd.labels.one_vs_all(last.y, { classes = s.k, first = last.first })
  return last
end

-- Bytes of the rows and targets on this rank.
function data.bytes(set)
  return (set.X.bytes and 1 or 4) * set.X.local_n * set.X.d + 8 * set.Y.nrows * set.Y.ncols
end

-- n sparse rows of about `words` of d words, the j-th word in one row of j or so, as in text; and how many entries they
-- have.
function data.text(n, d, words)
  local path, entries = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or ""), 0
  if kbcd.rank() == 0 then
    local file, draws = assert(io.open(path, "w")), Matrix.rand(n, words, { seed = 3 })
    for i = 1, n do
      local columns, seen, cells = {}, {}, {}
      for j = 1, words do
        local column = math.min(d, math.ceil(d ^ draws(i, j)))
        if not seen[column] then seen[column], columns[#columns + 1] = true, column end
      end
      table.sort(columns)
      local value = 7 / math.sqrt(#columns)
      for j, column in ipairs(columns) do cells[j] = ("%d:%.4f"):format(column, value) end
      entries = entries + #columns
      file:write("1 ", table.concat(cells, " "), "\n")
    end
    file:close()
  end
  entries = kbcd.bcast(entries)
  local X = kbcd.load(path, { dtype = "f32", sparse = true, features = d })
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
  return X, entries
end

return data
