-- speech_corpus(files, options): recordings as rows of features, a row for each frame, with labels, distributed over the
-- ranks.
--
-- Each rank reads an equal part of the list of files, and the rows are then in the order of the list: they are the same on
-- any number of ranks. Between the features and the splicing, x becomes (x − mean) / deviation by column, over its
-- utterance, its speaker or all frames.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options, without_places = require "kbcd.descent.options", require "kbcd.support.without_places"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet

runtime.docs.speech_corpus = [[speech_corpus(files, options)
Features and labels of a list of sound files. options: features(file), which gives a Matrix with a row for each frame, as
from speech.log_mel; labels(file, frames), which gives a list of names, one a frame, or one name for the whole file
(default: none); normalize = "utterance", "speaker", "global", "none", or the `statistics` of another corpus;
speaker(file), which names the speaker; splice = 5 (frames to either side); classes (a list of names that come first, such
as those of the corpus that was trained on; the others that the labels have follow, sorted); skip = false (true: files that
cannot be used are skipped and listed in `skipped`); dtype = "f32".
Gives a table: X and y (DataSets; y holds places in `classes`), classes, files (those used), utterances (a DataSet: which of
`files` a row is of), utterance_labels (where each file has one: its place in `classes`), skipped (a list of messages),
statistics (mean and deviation, where normalize is "global" or was given them). All ranks call it.]]

local normalizations = { none = true, utterance = true, speaker = true, global = true }

local function is_function(x) return type(x) ~= "function" and "a function of a file" or nil end
local schema = {
  features = { is_function }, labels = { options.maybe(is_function), false }, speaker = { options.maybe(is_function), false },
  normalize = { function(x)
    local good = normalizations[x] or type(x) == "table" and x.mean and x.deviation
    return not good and "utterance, speaker, global, none, or the statistics of a corpus" or nil
  end, "utterance" },
  splice = { options.seed, 5 }, skip = { options.flag, false }, dtype = { options.one_of("f32", "f64"), "f32" },
  classes = { options.maybe(function(x) return type(x) ~= "table" and "a list of names" or nil end), false },
}

-- { A, names or name }: the features of a file, and the labels of its frames or of the whole.
local function read_file(file, o)
  local A = o.features(file)
  if kbcd.type(A) ~= "Matrix" then error("features: a Matrix expected, got " .. kbcd.type(A), 0) end
  if A.nrows == 0 or not A:finite() then error("features: at least one frame, of finite numbers, expected", 0) end
  local names = o.labels and o.labels(file, A.nrows)
  if o.labels and type(names) ~= "string" and (type(names) ~= "table" or #names ~= A.nrows) then
    error(("labels: a name or a list of %d names expected, got %s"):format(A.nrows,
      type(names) == "table" and #names .. " names" or tostring(names)), 0)
  end
  for _, name in ipairs(type(names) == "table" and names or { names or nil }) do
    if type(name) ~= "string" or name == "" or name:find("\n") then
      error(("labels: a name of one line expected, got '%s'"):format(tostring(name)), 0)
    end
  end
  if o.speaker and o.speaker(file) == nil then error("speaker: a name expected, got nil", 0) end
  return { A = A:to("f64"), names = names }
end

-- This rank's files, each read, with its place in the list; and what is wrong with those that are not.
local function read_files(files, o)
  local parts, failures = {}, {}
  kbcd.together(function()
    local first, last = DataSet.share(#files)
    for place = first, last do
      local good, part = pcall(read_file, files[place], o)
      if good then
        part.place, parts[#parts + 1] = place, part
      else
        local message = without_places(part)
        if not message:find(files[place], 1, true) then message = files[place] .. ": " .. message end
        if not o.skip then error(message, 0) end
        failures[place] = message
      end
    end
  end)
  return parts, failures
end

-- The files without those that failed anywhere, the messages of these, and parts with their places among those that are
-- left.
local function without_failures(files, parts, failures)
  local where, used, skipped, place = Matrix.zeros(#files, 1), {}, {}, {}
  for i = 1, #files do if failures[i] then where:set(i, 1, kbcd.rank() + 1) end end
  kbcd.allreduce(where)
  for i, file in ipairs(files) do
    if where(i, 1) > 0 then
      skipped[#skipped + 1] = kbcd.bcast(failures[i] or "", where(i, 1) - 1)
    else
      used[#used + 1] = file
      place[i] = #used
    end
  end
  if #used == 0 then error(("none of the %d files can be used; the first: %s"):format(#files, tostring(skipped[1])), 0) end
  for _, part in ipairs(parts) do part.place = place[part.place] end
  return used, skipped
end

-- The columns of the features, the same everywhere.
local function width(parts)
  local least, largest = math.huge, 0
  for _, part in ipairs(parts) do least, largest = math.min(least, part.A.ncols), math.max(largest, part.A.ncols) end
  least, largest = kbcd.allreduce_min(least), kbcd.allreduce_max(largest)
  if least ~= largest then error(("speech_corpus: files with %d and with %d features"):format(least, largest), 0) end
  return largest
end

-- group[i] and the number of groups: files that are normalised together.
local function groups(files, o)
  local group, numbers, count = {}, {}, 0
  for i, file in ipairs(files) do
    local key = o.normalize == "utterance" and i or o.normalize == "speaker" and o.speaker(file) or true
    if not numbers[key] then
      count = count + 1
      numbers[key] = count
    end
    group[i] = numbers[key]
  end
  return group, count
end

-- The mean and deviation of each group, a row each, over all ranks; a column that does not vary has deviation 1.
local function fit(parts, group, count, d)
  local frames, mean, deviation = Matrix.zeros(count, 1), Matrix.zeros(count, d), Matrix.zeros(count, d)
  for _, part in ipairs(parts) do
    local g = group[part.place]
    frames:set(g, 1, frames(g, 1) + part.A.nrows)
    mean:rows(g, g):add(part.A:sum(1))
  end
  kbcd.allreduce(frames, mean)
  mean:cdiv(frames)
  for _, part in ipairs(parts) do
    local g = group[part.place]
    deviation:rows(g, g):add(part.A:clone():sub(mean:rows(g, g)):square():sum(1))
  end
  kbcd.allreduce(deviation)
  deviation:cdiv(frames):sqrt()
  for g = 1, count do
    for j = 1, d do if deviation(g, j) <= 1e-12 * math.abs(mean(g, j)) then deviation:set(g, j, 1) end end
  end
  return { mean = mean, deviation = deviation }
end

local function normalize(parts, files, d, o)
  if o.normalize == "none" then return nil end
  local given = type(o.normalize) == "table" and o.normalize
  local group, count = groups(files, o)
  local s = given or fit(parts, group, count, d)
  if s.mean.ncols ~= d then
    error(("speech_corpus: statistics of %d features, the files have %d"):format(s.mean.ncols, d), 0)
  end
  for _, part in ipairs(parts) do
    local g = given and 1 or group[part.place]
    part.A:sub(s.mean:rows(g, g)):cdiv(s.deviation:rows(g, g))
  end
  return (given or o.normalize == "global") and s or nil
end

local function spliced(parts, d, o)
  local rows, at = 0, 1
  for _, part in ipairs(parts) do rows = rows + part.A.nrows end
  local all, utterance = Matrix.zeros(rows, d * (2 * o.splice + 1), o.dtype), Matrix.zeros(rows, 1)
  for _, part in ipairs(parts) do
    local last = at + part.A.nrows - 1
    kbcd.speech.splice(part.A, o.splice, all:rows(at, last))
    utterance:rows(at, last):fill(part.place)
    at = last + 1
  end
  return all, utterance
end

-- The names of the first classes, and the others that the labels have on any rank, sorted.
local function class_names(parts, first)
  local seen, others, number, classes = {}, {}, {}, {}
  local function add(name)
    if number[name] then return end
    classes[#classes + 1] = name
    number[name] = #classes
  end
  for _, part in ipairs(parts) do
    for _, name in ipairs(type(part.names) == "table" and part.names or { part.names }) do seen[name] = true end
  end
  local own = table.concat(kbcd.sorted_keys(seen), "\n")
  for rank = 0, kbcd.size() - 1 do
    for name in kbcd.bcast(own, rank):gmatch("[^\n]+") do others[name] = true end
  end
  for _, name in ipairs(first) do add(name) end
  for _, name in ipairs(kbcd.sorted_keys(others)) do add(name) end
  return classes, number
end

-- The numbers of the labels: a row a frame, and one a file where each file has one.
local function numbered(parts, files, number, rows)
  local y, of_files, at = Matrix.zeros(rows, 1), Matrix.zeros(#files, 1), 0
  for _, part in ipairs(parts) do
    local whole = type(part.names) == "string" and part.names
    for t = 1, part.A.nrows do y:set(at + t, 1, number[whole or part.names[t]]) end
    if whole then of_files:set(part.place, 1, number[whole]) end
    at = at + part.A.nrows
  end
  kbcd.allreduce(of_files)
  return y, of_files:min() > 0 and of_files or nil
end

return function(files, given)
  local o = options.read("speech_corpus", given, schema)
  if type(files) ~= "table" or #files == 0 then error("speech_corpus: files: a list of at least one file expected", 2) end
  if (o.normalize == "speaker") ~= (o.speaker ~= false) then
    error("speech_corpus: options normalize = \"speaker\" and speaker go together", 2)
  end
  local parts, failures = read_files(files, o)
  local corpus = {}
  corpus.files, corpus.skipped = without_failures(files, parts, failures)
  local d = width(parts)
  corpus.statistics = normalize(parts, corpus.files, d, o)
  local rows, utterance = spliced(parts, d, o)
  corpus.X, corpus.utterances = DataSet.distribute(rows), DataSet.distribute(utterance)
  if o.labels then
    local number, y
    corpus.classes, number = class_names(parts, o.classes or {})
    y, corpus.utterance_labels = numbered(parts, corpus.files, number, rows.nrows)
    corpus.y = DataSet.distribute(y)
  end
  return corpus
end
