-- Groups /pipeline that no pipeline has are refused, by file and reason, on any number of ranks; those of every kind are read
-- as they were written; a model must fit its pipeline.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix = kbcd.Matrix
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails

local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")

-- A valid state of each kind, and the columns of its rows.
local function states()
  local ones = Matrix.ones
  return {
    hash = { 8, { kind = "text", features = "hash", columns = 8, seed = 3, signed = true, shortest = 1, longest = 2,
      tf = "log", unit_norm = true } },
    vocabulary = { 3, { kind = "text", features = "vocabulary", unit = "characters", shortest = 1, longest = 2, tf = "count",
      idf = true, documents = 4, terms = { " a\na", "b" }, counts = Matrix{ { 2, 1 }, { 3, 3 }, { 5, 4 } }, least = 0,
      largest = 10 } },
    grams = { 4, { kind = "grams", cuts = { "letters", "written" }, shares = Matrix{ { 0.5, 0.5 } }, columns = 4,
      documents = 2, counts = ones(1, 4) } },
    pictures = { 2 * 4 * 3, { kind = "pictures", height = 8, width = 6, channels = 3, filters = ones(3, 12),
      offsets = ones(1, 3), normalize = 10, alpha = 0.25, pool = 2, mirror = true } },
    speech = { 3 * 4, { kind = "speech", rate = 8000, length = 0.025, step = 0.01, window = "hamming", preemphasis = 0.97,
      center = true, bands = 4, low = 20, high = 4000, floor = 1e-10, splice = 1, parts = 1, mean = ones(1, 4),
      deviation = ones(1, 4), per = "frame" } },
  }
end

-- Writes a model of rows of d numbers with the parts of a pipeline as they are given.
local function forge(d, parts)
  kbcd.barrier()
  if kbcd.rank() == 0 then
    local file = kbcd.h5.create(path)
    for name, value in pairs{ format = "kbcd model", version = 2, kbcd = "0", form = "features", method = "m",
      task = "regress", precision = "f64", n = 9, d = d, k = 1, best = 1 } do file:set("/", name, value) end
    for _, group in ipairs{ "map", "metrics", "options" } do file:group("/" .. group) end
    file:set("/map", "name", "columns")
    file:set("/map", "p", d)
    file:append("/lambda", Matrix{ { 1 } })
    file:append("/coefficients", Matrix.ones(d, 1))
    require("kbcd.files.pipeline_group").write(file, parts)
    file:close()
  end
  kbcd.barrier()
end

test("every kind is read as it was written", function()
  local all = states()
  for _, name in ipairs(kbcd.sorted_keys(all)) do
    local of = all[name]
    forge(of[1], of[2])
    local model = kbcd.model_file.load(path)
    for key, value in pairs(of[2]) do
      local got = model.pipeline[key]
      if kbcd.type(value) == "Matrix" then close(got, value, 0, key)
      elseif type(value) == "table" then equal(table.concat(got, "|"), table.concat(value, "|"), key)
      else equal(got, value, name .. ": " .. key) end
    end
    model:save(path .. ".again", { pipeline = model.pipeline })
    assert(kbcd.model_file.load(path .. ".again").pipeline.kind == of[2].kind)
    fails(function() kbcd.Model{ map = kbcd.features.columns{ p = 2 }, X = kbcd.DataSet(Matrix.ones(3, 2)),
      coefficients = Matrix.ones(2, 1) }:save(path .. ".again", { pipeline = of[2] }) end, "pipeline", "2 columns expected",
      "makes " .. of[1])
  end
end)

local function refused(name, change, ...)
  local d, state = unpack(states()[name])
  local other = change(state)
  forge(other or d, state)
  fails(function() kbcd.model_file.load(path) end, path .. ": /pipeline: ", ...)
end

test("what does not agree is refused", function()
  refused("hash", function(s) s.kind = "smells" end, "'smells' is not known here", "text")
  refused("hash", function(s) s.kind = "pipelines" end, "'pipelines' is not known here")
  refused("hash", function(s) s.kind = "../text" end, "'../text' is not known here")
  refused("hash", function(s) s.kind = nil end, "is not known here")
  refused("hash", function() return 9 end, "rows of 9 numbers expected, it makes rows of 8")
  refused("hash", function(s) s.command = "rm" end, "unknown option 'command'")
  refused("hash", function(s) s.tf = "loud" end, "tf", "'loud'")
  refused("hash", function(s) s.columns = nil end, "columns")
  refused("hash", function(s) s.columns = "many" end, "columns", "whole number")
  refused("hash", function(s) s.seed = 2 ^ 40 end, "seed")
  refused("hash", function(s) s.stem = "klingon" end, "stem", "klingon")
  refused("hash", function(s) s.unit, s.stop_words = "characters", true end, "stop_words", "characters")
  refused("hash", function(s) s.longest = 101 end, "n-grams", "101")
  refused("hash", function(s) s.shortest = 3 end, "3 to 2")
  refused("hash", function(s) s.least = 1 end, "least and largest")
  refused("vocabulary", function(s) s.least = 11 end, "least and largest")
  refused("vocabulary", function(s) s.terms = { "a\n b", "c" } end, "term 2", "order")
  refused("vocabulary", function(s) s.terms = nil end, "terms, counts and documents")
  refused("vocabulary", function(s) s.documents = 3 end, "in 4 of 3 documents")
  refused("vocabulary", function(s) s.counts = Matrix.ones(2, 2) end, "2 rows of counts")
  refused("vocabulary", function(s) s.terms = Matrix.ones(2, 1) end, "terms", "list of texts")
  refused("vocabulary", function(s) s.counts = { "a" } end, "counts", "a Matrix")
  refused("grams", function(s) s.cuts = { "letters", "os.execute" } end, "cuts", "letters, written")
  refused("grams", function(s) s.cuts = { "letters" } end, "shares")
  refused("grams", function(s) s.counts = Matrix.full(1, 4, 5) end, "counts")
  refused("grams", function(s) s.counts = Matrix.full(1, 4, 0 / 0) end, "counts", "NaN")
  refused("pictures", function(s) s.filters = Matrix.ones(3, 11) end, "filters", "11")
  refused("pictures", function(s) s.offsets = Matrix.ones(1, 2) end, "offsets")
  refused("pictures", function(s) s.pool = 6 return 2 * 36 * 3 end, "pool", "at most 5")
  refused("pictures", function(s) s.crop = 7 end, "crops of 7 pixels of 8x6x3")
  refused("pictures", function(s) s.height = nil end, "height", "missing")
  refused("pictures", function(s) s.filters = Matrix.full(3, 12, 1 / 0) end, "filters", "Inf")
  refused("speech", function(s) s.mean = Matrix.ones(1, 3) end, "mean", "1 x 4")
  refused("speech", function(s) s.deviation = Matrix.zeros(1, 4) end, "deviation")
  refused("speech", function(s) s.high = 5000 end, "rate / 2")
  refused("speech", function(s) s.rate, s.high = 1e15, 1e14 end, "too large")
  refused("speech", function(s) s.splice = 1e12 end, "too large")
  refused("speech", function(s) s.per = "day" end, "per", "'day'")
  refused("speech", function(s) s.window = "round" end, "window")
end)

test("columns of rows that are features already", function()  -- the map of hashed texts
  forge(8, states().hash[2])
  local X = kbcd.DataSet(Matrix.ones(5, 8))
  close(kbcd.model_file.load(path)[1]:predict(X), Matrix.full(X.local_n, 1, 8), 1e-12)
end)

kbcd.barrier()
if kbcd.rank() == 0 then
  os.remove(path)
  os.remove(path .. ".again")
end
spec.finish()
