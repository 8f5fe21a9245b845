-- hashing: n-grams of 1 to 3 words of a file of documents hashed into a sparse matrix, from reading the lines on; in MB of
-- text a second and core (a rank reads on one).

local kbcd = require "kbcd"

-- A file of about so many bytes, lines of a label and 60 words; the j-th word comes with a chance like 1/j.
local function write(path, bytes)
  local file, letters = assert(io.open(path, "w")), "etaoinshrdlucmfwypvbgk"
  local words, written, row, size = {}, 0, 0, 20000
  for i = 1, size do
    local word, code = {}, i
    repeat
      word[#word + 1] = letters:sub(code % #letters + 1, code % #letters + 1)
      code = math.floor(code / #letters)
    until code == 0 and #word >= 2
    words[i] = table.concat(word)
  end
  while written < bytes do
    row = row + 1
    local draws, line = kbcd.Matrix.rand(1, 60, { seed = 4, first_row = row }), {}
    for j = 1, 60 do line[j] = words[math.ceil(size ^ draws(1, j))] end
    local text = ("%d\t%s.\n"):format(row % 5 + 1, table.concat(line, " "))
    file:write(text)
    written = written + #text
  end
  file:close()
  return written
end

return function(bench)
  local path, bytes = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or ""), 0
  if kbcd.rank() == 0 then bytes = write(path, bench.sizes.hashing.bytes) end
  bytes = kbcd.bcast(bytes)
  local documents = kbcd.text.read(path, { format = "tsv" })
  local item = { run = function() documents:hash{ columns = 2 ^ 18, ngrams = 3 } end }
  local round = bench.median(bench.measure({ item }, bench.repeats)[1], "seconds")
  bench.add{ group = "hashing", name = "1 to 3 words into 2^18 columns", value = bytes / round.seconds / kbcd.size() / 1e6,
    unit = "MB/s a core", bar = 20, seconds = round.seconds, note = ("%d documents"):format(documents.n) }
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end
