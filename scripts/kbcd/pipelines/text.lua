-- Texts as sparse rows of n-grams, of words or of characters: of a vocabulary, with tf-idf weights, or hashed into columns.
--
-- fit(raw, settings): raw is a file of lines label<TAB>text (or CSV, JSON lines), or Documents. settings: features =
-- "vocabulary" or "hash"; ngrams = { shortest, longest }; unit, stem, stop_words, marks; tf, idf, min_count, columns, seed;
-- regress (true: labels must be numbers), clip (true: results stay within their range); text, label,
-- rows, format, invalid, empty, as for text.read.

local kbcd = require "kbcd"
local options = require "kbcd.descent.options"
local read_raw = require "kbcd.text.read_raw"

local text = {
  expects = "texts: a .tsv or .txt file with a text on each line, or label<TAB>text; .csv or .jsonl with --text COLUMN; " ..
    "also .gz; or - (standard input)",
  rows = "documents",
  streams = true,
}

local function texts(x)
  local good = type(x) == "table" and #x > 0
  for _, value in ipairs(good and x or {}) do good = good and type(value) == "string" end
  return not good and "a list of texts" or nil
end

text.schema = {
  features = { options.one_of("vocabulary", "hash") },
  unit = { options.one_of("words", "characters"), "words" }, stem = { options.text, "none" },
  stop_words = { options.flag, false }, marks = { options.flag, false },
  shortest = { options.count, 1 }, longest = { options.count, 1 },
  tf = { options.one_of("count", "binary", "log"), "count" }, unit_norm = { options.flag, false },
  idf = { options.flag, false }, documents = { options.maybe(options.count), false },
  terms = { options.maybe(texts), false }, counts = { options.maybe(options.matrix), false },
  columns = { options.maybe(options.count), false }, seed = { options.seed, 0 }, signed = { options.flag, false },
  least = { options.maybe(options.number), false }, largest = { options.maybe(options.number), false },
}

local function words(s)
  return { unit = s.unit, stem = s.stem ~= "none" and s.stem or nil, stop_words = s.stop_words, marks = s.marks }
end

local vocabularies = setmetatable({}, { __mode = "k" })  -- by the Matrix of the counts

local function vocabulary_of(s)
  vocabularies[s.counts] = vocabularies[s.counts] or kbcd.text.stored_vocabulary(table.concat(s.terms, "\n"), s.counts,
    { n = s.documents, ngrams = { s.shortest, s.longest }, unit = s.unit })
  return vocabularies[s.counts]
end

local function matrix(s, documents)
  local weights = { tf = s.tf, unit_norm = s.unit_norm }
  if s.features == "vocabulary" then
    weights.idf = s.idf
    return (documents:matrix(vocabulary_of(s), weights))
  end
  weights.columns, weights.ngrams, weights.seed, weights.signed = s.columns, { s.shortest, s.longest }, s.seed, s.signed
  return (documents:hash(weights))
end

-- A list of texts of some thousand terms each: a list of the terms themselves would take the room of the longest for each.
local function pieces(vocabulary)
  local list, piece = {}, 4096
  for first = 1, vocabulary.size, piece do
    list[#list + 1] = vocabulary:terms(first, math.min(first + piece - 1, vocabulary.size))
  end
  return list
end

-- Of the labels.
local function range(documents)
  local y = documents.y
  local some = y.local_n > 0
  return kbcd.allreduce_min(some and y.rows:min() or math.huge), kbcd.allreduce_max(some and y.rows:max() or -math.huge)
end

local function set_of(s, documents)
  return { X = matrix(s, documents), y = documents.y, y_names = documents.classes, n = documents.n, documents = documents,
    result = s.least and function(S) return S:clone():clamp(s.least, s.largest) end or nil }
end

function text.fit(raw, given)
  local g = given.ngrams or { 1, 1 }
  local s = { features = given.features, unit = given.unit or "words", stem = given.stem or "none", shortest = g[1],
    longest = g[2], stop_words = given.stop_words or false, marks = given.marks or false, tf = given.tf or "count",
    unit_norm = true }
  local documents = read_raw(raw, words(s), { labels = true, text = given.text, label = given.label,
    rows = given.rows, format = given.format, invalid = given.invalid, empty = given.empty })
  if (given.regress or given.clip) and (documents.classes or not documents.y) then
    error(("%s: numbers expected as labels%s"):format(tostring(raw), documents.classes and
      (", got names such as '%s'"):format(documents.classes[1]) or ", and there are none"), 0)
  end
  if given.clip then s.least, s.largest = range(documents) end
  if s.features == "vocabulary" then
    local vocabulary = kbcd.text.vocabulary(documents, { ngrams = g, min_count = given.min_count or 1 })
    s.idf, s.terms, s.counts, s.documents = given.idf or false, pieces(vocabulary), vocabulary:counts(), vocabulary.n
    vocabularies[s.counts] = vocabulary
  else
    s.columns, s.seed, s.signed = given.columns, given.seed or 0, true
  end
  return s, set_of(s, documents)
end

function text.apply(s, raw, how) return set_of(s, read_raw(raw, words(s), how)) end

function text.columns(s)
  if s.shortest > s.longest or s.longest > 100 then
    error(("n-grams of at least 1 and at most 100 units expected, got %d to %d"):format(s.shortest, s.longest), 0)
  end
  if (s.least == false) ~= (s.largest == false) or s.least and s.least > s.largest then
    error("least and largest: the range of the results expected", 0)
  end
  kbcd.text.words("", words(s))  -- an error where these do not go together
  if s.features == "hash" then
    if not s.columns or s.columns >= 2 ^ 31 or s.seed >= 2 ^ 32 then error("columns and a seed to hash with expected", 0) end
    return s.columns
  end
  if not (s.terms and s.counts and s.documents) then error("terms, counts and documents of a vocabulary expected", 0) end
  return vocabulary_of(s).size
end

function text.describe(s)
  local how = {}
  if s.stem ~= "none" then how[#how + 1] = "stemmed (" .. s.stem .. ")" end
  if s.stop_words then how[#how + 1] = "without stop words" end
  if s.marks then how[#how + 1] = "with marks" end
  how[#how + 1] = ("tf %s%s"):format(s.tf, s.idf and ", idf" or "")
  if s.least then how[#how + 1] = ("results from %g to %g"):format(s.least, s.largest) end
  return ("text: n-grams of %d to %d %s, %s, %s"):format(s.shortest, s.longest, s.unit, table.concat(how, ", "),
    s.features == "hash" and ("hashed into %d columns"):format(s.columns) or
    ("a vocabulary of %d from %d documents"):format(s.counts.nrows, s.documents))
end

return text
