-- A corpus of recordings: the same rows on any number of ranks, as computed step by step; what cannot be read is reported by
-- name; and the example on real recordings, where they are installed.

local kbcd = require "kbcd"
local spec = require "spec"
local wav = require "wav"
local speech, Matrix = kbcd.speech, kbcd.Matrix

-- A folder that rank 0 makes for all.
local folder = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
if kbcd.rank() == 0 then
  os.remove(folder)
  assert(os.execute("mkdir " .. folder) == 0)
end
kbcd.barrier()

local function write(name, content)
  local path = folder .. "/" .. name
  spec.write(path, content)
  return path
end

local function tone(count, pitch)
  local x = {}
  for s = 1, count do x[s] = math.floor(6000 * math.sin(pitch * s) + 2000 * math.sin(0.3 * pitch * s * s / count) + 0.5) end
  return x
end

-- Five recordings of 8 kHz, of 6, 1, 12, 30 and 9 frames of 25 ms every 10 ms.
local files, counts = {}, { 6, 1, 12, 30, 9 }
for i, count in ipairs(counts) do
  files[i] = write(("s%d_%d.wav"):format(i % 2, i), wav(tone(200 + 80 * (count - 1) + 3 * i, 0.2 + 0.1 * i), 8000))
  write(("s%d_%d.lab"):format(i % 2, i), ("#\n%.3f 125 pau\n%.3f 125 a\n"):format(0.02 * i, 0.01 * count + 0.02 + 0.02 * i))
end

local function features(file)
  local samples, rate = speech.read_sound(file, 8000)
  return speech.log_mel(speech.power_spectrum(speech.frames(samples, rate)), rate, { bands = 7 })
end
local function speaker_of(file) return file:match("/(s%d)_[^/]*$") end  -- not a letter and digit of the folder's name
local function labels(file, count)
  return speech.frame_labels(speech.read_lab((file:gsub("wav$", "lab"))), count, { parts = 3 })
end

-- All rows, on every rank.
local function all(X) return X:gather(kbcd.Index.range(1, X.n)) end

-- The rows of the files one after the other, each normalised with mean(i) and deviation(i) and spliced by hand.
local function expected(reach, mean, deviation)
  local rows = {}
  for i, file in ipairs(files) do
    local A = features(file)
    rows[i] = spec.make(A.nrows, A.ncols * (2 * reach + 1), function(t, j)
      local column, at = (j - 1) % A.ncols + 1, t + math.floor((j - 1) / A.ncols) - reach
      return (A(math.max(1, math.min(A.nrows, at)), column) - mean(i, column)) / deviation(i, column)
    end)
  end
  return Matrix.vcat(rows)
end

-- Mean and deviation of column j over the frames of several files, in two passes.
local function moments(numbers, j)
  local sum, squares, count = 0, 0, 0
  local function each(f)
    for _, i in ipairs(numbers) do
      local A = features(files[i])
      for t = 1, A.nrows do f(A(t, j)) end
    end
  end
  each(function(x) sum, count = sum + x, count + 1 end)
  each(function(x) squares = squares + (x - sum / count) ^ 2 end)
  return sum / count, math.sqrt(squares / count)
end

-- The same for group(i), each worked out once; a column that does not vary is only shifted.
local function by_groups(group)
  local kept = {}
  local function both(i, j)
    local numbers = group(i)
    local key = table.concat(numbers, ",") .. ":" .. j
    kept[key] = kept[key] or { moments(numbers, j) }
    return kept[key]
  end
  return function(i, j) return both(i, j)[1] end, function(i, j) local s = both(i, j)[2] return s > 1e-9 and s or 1 end
end

spec.test("rows, files and labels stand in the order of the list", function()
  local o = { features = features, labels = labels, normalize = "none", splice = 2, dtype = "f64" }
  local corpus = kbcd.speech_corpus(files, o)
  spec.equal(corpus.X.n, 58)
  spec.equal(corpus.X.d, 35)
  local zero, one = function() return 0 end, function() return 1 end
  spec.close(all(corpus.X), expected(2, zero, one), 1e-15)
  local utterances, y, row = all(corpus.utterances), all(corpus.y), 0
  spec.equal(table.concat(corpus.classes, " "), "a.1 a.2 a.3 pau.1 pau.2 pau.3")
  for i, file in ipairs(files) do
    local names = labels(file, counts[i])
    for t = 1, counts[i] do
      row = row + 1
      spec.equal(utterances(row, 1), i)
      spec.equal(corpus.classes[y(row, 1)], names[t])
    end
  end
  spec.equal(#corpus.skipped, 0)
  spec.equal(corpus.utterance_labels, nil)
end)

local groups = {
  utterance = function(i) return { i } end,
  speaker = function(i) return i % 2 == 1 and { 1, 3, 5 } or { 2, 4 } end,
  global = function() return { 1, 2, 3, 4, 5 } end,
}
for _, kind in ipairs{ "utterance", "speaker", "global" } do
  spec.test("normalised by " .. kind, function()
    local speaker = kind == "speaker" and speaker_of or nil
    local o = { features = features, normalize = kind, speaker = speaker, splice = 1, dtype = "f64" }
    local corpus = kbcd.speech_corpus(files, o)
    spec.close(all(corpus.X), expected(1, by_groups(groups[kind])), 1e-9)
    spec.equal(corpus.statistics ~= nil, kind == "global")
    spec.equal(kbcd.speech_corpus(files, { features = features, splice = 0 }).X.dtype, "f32")
  end)
end

spec.test("the statistics of one corpus serve another", function()
  local first = kbcd.speech_corpus(files, { features = features, normalize = "global", dtype = "f64" })
  local second = kbcd.speech_corpus({ files[4] }, { features = features, normalize = first.statistics, dtype = "f64" })
  spec.close(all(second.X), all(first.X):rows(20, 49), 1e-14)
end)

spec.test("a label for a whole file, and scores summed by file", function()
  local corpus = kbcd.speech_corpus(files, { features = features, labels = speaker_of })
  spec.equal(table.concat(corpus.classes, " "), "s0 s1")
  local S = spec.make(corpus.X.local_n, 2, function(t, j) return (corpus.X.first + t - 1) * j end)
  local sums, row = kbcd.sum_by(corpus.utterances, S, #corpus.files), 0
  for i, count in ipairs(counts) do
    local total = 0
    for t = row + 1, row + count do total = total + t end
    row = row + count
    spec.equal(sums(i, 1), total)
    spec.equal(sums(i, 2), 2 * total)
    spec.equal(corpus.classes[corpus.utterance_labels(i, 1)], "s" .. i % 2)
  end
end)

spec.test("the classes of one corpus come first in another", function()
  local o = { features = features, labels = labels, classes = { "x", "pau.2" } }
  local corpus = kbcd.speech_corpus({ files[1] }, o)
  spec.equal(table.concat(corpus.classes, " "), "x pau.2 a.1 a.2")
  local y = all(corpus.y)
  for t, name in ipairs(labels(files[1], 6)) do spec.equal(corpus.classes[y(t, 1)], name) end
end)

local bad = {
  { "empty.wav", wav({}, 8000), "no samples" }, { "text.wav", "not a sound", "no sound file" },
  { "short.wav", wav(tone(150, 0.3), 8000), "150 samples are too few for one frame of 200" },
  { "other.wav", wav(tone(900, 0.3), 16000), "8000 samples a second expected, got 16000" },
  { "no_lab.wav", wav(tone(900, 0.3), 8000), "no_lab.lab" },
  { "order.wav", wav(tone(900, 0.3), 8000), "order.lab: line 3" },
  { "end.wav", wav(tone(900, 0.3), 8000), "the labels end at 0.03 s" },
}
write("order.lab", "#\n0.05 125 a\n0.04 125 b\n")
write("end.lab", "#\n0.03 125 a\n")
for _, entry in ipairs(bad) do entry.path = write(entry[1], entry[2]) end

spec.test("a bad file is reported by its name", function()
  for _, entry in ipairs(bad) do
    spec.fails(function()
      kbcd.speech_corpus({ files[1], files[2], entry.path, files[3] }, { features = features, labels = labels })
    end, entry.path:match("[^/]+$"):gsub("%.wav$", "", 1) .. ".", folder, entry[3])
  end
  spec.fails(function() speech.read_sound(folder .. "/missing.wav") end, "missing.wav", "no such file")
end)

spec.test("or skipped and counted, if the options say so", function()
  local list = { bad[1].path, files[1], bad[2].path, bad[3].path, files[2], files[3], bad[6].path, bad[7].path, files[4] }
  list[#list + 1] = files[5]
  local o = { features = features, labels = labels, skip = true }
  local some = kbcd.speech_corpus(list, o)
  o.skip = false
  local whole = kbcd.speech_corpus(files, o)
  spec.equal(all(some.X):equals(all(whole.X)), true, "rows")
  spec.equal(all(some.utterances):equals(all(whole.utterances)), true, "utterances")
  spec.equal(#some.skipped, 5)
  for i, number in ipairs{ 1, 2, 3, 6, 7 } do assert(some.skipped[i]:find(bad[number][3], 1, true), some.skipped[i]) end
  spec.fails(function() kbcd.speech_corpus({ bad[1].path, bad[2].path }, { features = features, skip = true }) end,
    "none of the 2 files", "empty.wav")
end)

spec.test("options are checked", function()
  local function fails(o, ...)
    local texts = { ... }
    spec.fails(function() kbcd.speech_corpus(files, o) end, unpack(texts))
  end
  fails({}, "option features is missing")
  fails({ features = features, spice = 1 }, "unknown option 'spice'", "splice")
  fails({ features = features, normalize = "file" }, "utterance, speaker, global")
  fails({ features = features, normalize = "speaker" }, "go together")
  fails({ features = function() return 1 end }, "a Matrix expected", files[1])
  fails({ features = features, labels = function() return { "a" } end }, "6 names expected, got 1 names", files[1])
  fails({ features = features, labels = function() return "" end }, "a name of one line expected", files[1])
  spec.fails(function() kbcd.speech_corpus({}, { features = features }) end, "at least one file")
  spec.fails(function() speech.frames(Matrix.zeros(900, 1), 8000, { windw = "hann" }) end, "unknown option 'windw'")
  spec.fails(function() speech.wav() end, "no speech function 'wav'", "read_sound")
end)

local function example(...) return table.concat(require "example"("speech", ...), "\n") end

spec.test("the example classifies recordings with one label each", function()
  local lines = {}
  for i = 1, 20 do  -- high and low ones in turn, each a little different; one of them is none
    local high = math.floor(i / 2) % 2 == 0
    local sound = i == 7 and "no sound" or wav(tone(900 + 13 * i, (high and 0.5 or 0.2) + 0.002 * i), 16000)
    lines[i] = write(("tone%d.wav"):format(i), sound) .. "\t" .. (high and "high" or "low")
  end
  local list = write("list.tsv", table.concat(lines, "\n") .. "\n")
  local said = example("--list", list, "--p", "8", "--rows", "40", "--epochs", "2", "--skip")
  assert(said:find("of 17 recordings, 1 left out", 1, true) and said:find("tone7.wav: no sound file", 1, true), said)
  for _, method in ipairs{ "full kernel, 40 frames", "Nyström, p = 8", "random features, p = 8" } do
    assert(said:find(method, 1, true), said)
  end
  local _, right = said:gsub("epoch 2: frames [%d.]+%%, recordings 0%.00%% wrong", "")
  spec.equal(right, 3, said)
  spec.fails(function() example("--list", list) end, "tone7.wav")
  spec.fails(function() example("--list", list, "--files", "9") end, "at least 10 recordings expected, got 9")
  spec.fails(function() example("--list", files[1]) end, "sound<TAB>label expected")
  spec.fails(function() example("--list", folder .. "/nowhere.tsv") end, folder .. "/nowhere.tsv")
end)

spec.test("the example takes all recordings of a list, or fewer if the options say so", function()
  local lines = {}
  for i = 1, 70 do lines[i] = write(("many%d.wav"):format(i), wav(tone(500, 0.2 + 0.01 * i), 16000)) .. "\tone" end
  local list = write("many.tsv", table.concat(lines, "\n") .. "\n")
  local options = { "--p", "8", "--methods", "random_features", "--epochs", "1" }
  assert(example("--list", list, unpack(options)):find("of 63 recordings", 1, true))
  assert(example("--list", list, "--files", "20", unpack(options)):find("of 18 recordings", 1, true))
end)

local voice = "/usr/share/festival/voices/russian/msu_ru_nsh_clunits/wav/ru_0001.wav"
local installed = io.open(voice)
if not installed then
  kbcd.say("skipped: real recordings (package festvox-ru) are not installed")
else
  installed:close()
  spec.test("the example learns phone states from real recordings", function()
    local said = example("--files", "10", "--p", "256", "--rows", "2000", "--epochs", "1")
    assert(said:find("440 numbers a frame", 1, true), said)
    local count = 0
    for rate in said:gmatch("frames ([%d.]+)%% wrong") do  -- 150 classes; the most frequent is a sixth of the frames
      count = count + 1
      assert(tonumber(rate) < 70, said)
    end
    spec.equal(count, 3, said)
  end)
end

if kbcd.rank() == 0 then os.execute("rm -r " .. folder) end
spec.finish()
