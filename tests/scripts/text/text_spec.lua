-- Documents from Lua: those of every format against plain Lua tables, vocabularies, weights and hashed rows against loops,
-- the same on any number of ranks; grams that Lua functions cut.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, with_file, gathered = kbcd.Matrix, spec.with_file, spec.gathered

local texts = {
  "The cat sat on the mat.", "A dog barked at the cat!", "Cats and dogs and cats", "Nothing here",
  "the mat, the mat, the mat", "caf\195\169 at the mat", "it's the cat's mat",
}
local stars = { 1, 5, 3, 2, 4, 5, 1 }

local function lines(separator, quote)
  local list = {}
  for i, text in ipairs(texts) do list[i] = stars[i] .. separator .. (quote and '"' .. text .. '"' or text) .. "\n" end
  return table.concat(list)
end

local function check(documents, what)
  spec.equal(documents.n, #texts, what)
  local found = gathered(documents:texts())
  for i, text in ipairs(texts) do spec.equal(found[i], text, what) end
  local y = kbcd.gather(documents.y.rows)
  for i, star in ipairs(stars) do spec.equal(y(i, 1), star, what) end
  spec.equal(documents.classes, nil)
end

spec.test("TSV, CSV and JSON lines", function()
  with_file(lines("\t"), function(path) check(kbcd.text.read(path, { format = "tsv" }), "TSV") end)
  with_file("stars\ttext\n\n" .. lines("\t"), function(path)
    check(kbcd.text.read(path, { format = "tsv", text = "text", label = "stars" }), "named columns")
    check(kbcd.text.read(path, { format = "tsv", header = true }), "header")
    spec.fails(function() kbcd.text.read(path, { format = "tsv", text = "words" }) end, "words", "stars, text")
    spec.fails(function() kbcd.text.read(path, { format = "tsv", text = 3 }) end, "1..2", "3")
  end)
  with_file(lines(",", true), function(path) check(kbcd.text.read(path, { format = "csv" }), "CSV") end)
  with_file('1,"He said ""wow"", twice"\n2,plain\n', function(path)
    spec.equal(gathered(kbcd.text.read(path, { format = "csv" }):texts())[1], 'He said "wow", twice')
  end)
  local json = {}
  for i, text in ipairs(texts) do json[i] = ('{"n": %d, "stars": %d, "review": "%s"}\n'):format(i, stars[i], text) end
  with_file(table.concat(json), function(path)
    check(kbcd.text.read(path, { format = "jsonl", text = "review", label = "stars" }), "JSON")
    spec.fails(function() kbcd.text.read(path, { format = "jsonl" }) end, path, "line 1", "no member 'text'")
  end)
  with_file('{"text": "a \\u00e9\\n\\"b\\"", "label": "x"}\n', function(path)
    spec.equal(gathered(kbcd.text.read(path, { format = "jsonl" }):texts())[1], 'a \195\169\n"b"')
  end)
end)

spec.test("labels that are names; no labels; only some rows", function()
  with_file("pear\tone\napple\ttwo\npear\tthree\nfig\tfour\napple\tfive\n", function(path)
    local documents = kbcd.text.read(path, { format = "tsv" })
    spec.equal(table.concat(documents.classes, " "), "apple fig pear")
    local y = kbcd.gather(documents.y.rows)
    for i, k in ipairs{ 2, 0, 2, 1, 0 } do spec.equal(y(i, 1), k) end
    spec.equal(kbcd.text.read(path, { format = "tsv", rows = 2 }).n, 2)
    local bare = kbcd.text.read(path, { format = "tsv", label = false, text = 2 })
    spec.equal(bare.y, nil)
    spec.equal(table.concat(gathered(bare:words()), " "), "one two three four five")
  end)
end)

-- n-grams of a text of words, up to N words.
local function grams_of(words, N)
  local list, grams = {}, {}
  for word in words:gmatch("%S+") do list[#list + 1] = word end
  for i = 1, #list do
    for last = i, math.min(i + N - 1, #list) do grams[#grams + 1] = table.concat(list, " ", i, last) end
  end
  return grams
end

local tokens = { "the cat sat on the mat", "a dog barked at the cat", "cats and dogs and cats", "nothing here",
  "the mat the mat the mat", "caf\195\169 at the mat", "it's the cat's mat" }

spec.test("words", function()
  with_file(lines("\t"), function(path)
    local found = gathered(kbcd.text.read(path, { format = "tsv" }):words())
    for i, words in ipairs(tokens) do spec.equal(found[i], words) end
    found = gathered(kbcd.text.read(path, { format = "tsv", stem = "english", stop_words = true }):words())
    spec.equal(found[1], "cat sat mat")
    spec.equal(found[3], "cat dog cat")
  end)
  spec.equal(kbcd.text.words("Running DOGS", { stem = "english" }), "run dog")
  spec.equal(kbcd.text.words("Running (DOGS)", { stem = "english", marks = true }), "\226\144\130 run ( dog ) \226\144\131")
  spec.fails(function() kbcd.text.words("a\255b") end, "UTF-8")
  spec.fails(function() kbcd.text.words("a", { stem = "klingon" }) end, "klingon", "english")
  spec.fails(function() kbcd.text.words("a", { stop = true }) end, "stop_words")
end)

-- Counts and documents of every n-gram, by plain tables.
local function naive_counts(all, N)
  local counts, documents = {}, {}
  for _, words in ipairs(all) do
    local seen = {}
    for _, gram in ipairs(grams_of(words, N)) do
      counts[gram] = (counts[gram] or 0) + 1
      if not seen[gram] then seen[gram], documents[gram] = true, (documents[gram] or 0) + 1 end
    end
  end
  return counts, documents
end

spec.test("the vocabulary is that of plain tables, in the order of bytes, cut as asked", function()
  with_file(lines("\t"), function(path)
    local read = kbcd.text.read(path, { format = "tsv" })
    for N = 1, 3 do
      for _, cut in ipairs{ {}, { min_count = 2 }, { min_documents = 2, max_share = 0.5 }, { most = 4 } } do
        local counts, documents = naive_counts(tokens, N)
        local kept = {}
        for gram, count in pairs(counts) do
          if count >= (cut.min_count or 1) and documents[gram] >= (cut.min_documents or 1) and
            documents[gram] <= (cut.max_share or 1) * #texts then kept[#kept + 1] = gram end
        end
        if cut.most then
          table.sort(kept, function(a, b)
            if counts[a] ~= counts[b] then return counts[a] > counts[b] end
            return a < b
          end)
          for i = #kept, cut.most + 1, -1 do kept[i] = nil end
        end
        table.sort(kept)
        cut.ngrams = N
        local vocabulary = kbcd.text.vocabulary(read, cut)
        spec.equal(vocabulary.size, #kept, "size")
        for i, gram in ipairs(kept) do
          spec.equal(vocabulary:term(i), gram)
          spec.equal(vocabulary:find(gram), i)
          local count, with = vocabulary:count(i)
          spec.equal(count, counts[gram])
          spec.equal(with, documents[gram])
          spec.close(vocabulary:idf(i), math.log((1 + #texts) / (1 + documents[gram])) + 1, 1e-15)
        end
        spec.equal(vocabulary:find("not there"), nil)
      end
    end
    spec.fails(function() kbcd.text.vocabulary(read, { min_count = 100 }) end, path, "min_count")
    spec.fails(function() kbcd.text.vocabulary(read, { ngrams = 0 }) end, "ngrams")
    spec.fails(function() kbcd.text.vocabulary(read, { max_share = 2 }) end, "max_share")
    spec.fails(function() kbcd.text.vocabulary(read, { ngram = 2 }) end, "unknown option 'ngram'", "ngrams")
  end)
end)

local function weigh(row, tf, idf)
  local squares = 0
  for gram, count in pairs(row) do
    local sign = count < 0 and -1 or 1
    local value = tf == "binary" and sign or tf == "log" and sign * (1 + math.log(math.abs(count))) or count
    row[gram] = value * (idf and idf[gram] or 1)
    squares = squares + row[gram] ^ 2
  end
  return math.sqrt(squares)
end

spec.test("TF, binary, log and TF-IDF, with and without unit norm", function()
  with_file(lines("\t"), function(path)
    local read = kbcd.text.read(path, { format = "tsv" })
    local vocabulary = kbcd.text.vocabulary(read, { ngrams = 2, min_documents = 2 })
    local idf = {}
    for i = 1, vocabulary.size do idf[vocabulary:term(i)] = vocabulary:idf(i) end
    for _, tf in ipairs{ "count", "binary", "log" } do
      for _, with_idf in ipairs{ false, true } do
        for _, unit in ipairs{ false, true } do
          local X, empty = read:matrix(vocabulary, { tf = tf, idf = with_idf, unit_norm = unit, dtype = "f64" })
          local expected = Matrix.zeros(#texts, vocabulary.size)
          for i, words in ipairs(tokens) do
            local row = {}
            for _, gram in ipairs(grams_of(words, 2)) do
              if idf[gram] then row[gram] = (row[gram] or 0) + 1 end
            end
            local norm = weigh(row, tf, with_idf and idf)
            for gram, value in pairs(row) do expected:set(i, vocabulary:find(gram), unit and value / norm or value) end
          end
          spec.close(kbcd.gather(X:to_dense().rows), expected, 1e-14, tf)
          spec.equal(empty, 2, "the third and the fourth text have nothing that another has")
          spec.equal(X.sparse, true)
        end
      end
    end
    spec.fails(function() read:matrix(vocabulary, { tf = "tf" }) end, '"count", "binary", "log"')
  end)
end)

-- The hashed rows of these words, by plain tables.
local naive_place
local function naive_hashed(all, p, N, seed, signed, tf)
  local expected = Matrix.zeros(#all, p)
  for i, words in ipairs(all) do
    local row = {}
    for _, gram in ipairs(grams_of(words, N)) do
      local column, sign = naive_place(gram, p, seed)
      row[column] = (row[column] or 0) + (signed and sign or 1)
      if row[column] == 0 then row[column] = nil end
    end
    local norm = weigh(row, tf)
    for column, value in pairs(row) do expected:set(i, column, value / norm) end
  end
  return expected
end

-- |h| mod p and the sign of h, for the 32 bits as a signed number.
function naive_place(gram, p, seed)
  local h = kbcd.hash.murmur3(gram, seed)
  if h >= 2 ^ 31 then h = h - 2 ^ 32 end
  return math.abs(h) % p + 1, h < 0 and -1 or 1
end

spec.test("hashed rows, signed and not, into any number of columns", function()
  with_file(lines("\t"), function(path)
    local read = kbcd.text.read(path, { format = "tsv" })
    for _, p in ipairs{ 1, 16, 37 } do
      for _, signed in ipairs{ true, false } do
        for _, tf in ipairs{ "count", "binary" } do
          local X = read:hash{ columns = p, ngrams = 3, seed = 7, signed = signed, tf = tf, dtype = "f64" }
          spec.close(kbcd.gather(X:to_dense().rows), naive_hashed(tokens, p, 3, 7, signed, tf), 1e-14, "hashed")
        end
      end
    end
    spec.equal(read:hash().d, 2 ^ 18)
    spec.fails(function() read:hash{ columns = 0 } end, "columns")
    spec.fails(function() read:hash{ columns = 2 ^ 31 } end, "columns")
    spec.fails(function() read:hash{ seed = -1 } end, "seed")
  end)
end)

spec.test("the same from .gz, and with more ranks than documents", function()
  local gzip = kbcd.bcast(kbcd.rank() == 0 and os.execute("gzip --version > /dev/null") or 0) == 0
  if not gzip then kbcd.say("skipped: no gzip") end
  with_file(lines("\t"), function(path)
    if not gzip then return end
    local plain = kbcd.text.read(path, { format = "tsv" }):hash{ columns = 64 }:fingerprint()
    if kbcd.rank() == 0 then assert(os.execute(("gzip -k %s"):format(path)) == 0) end
    kbcd.barrier()
    spec.equal(kbcd.text.read(path .. ".gz", { format = "tsv" }):hash{ columns = 64 }:fingerprint(), plain)
    kbcd.barrier()
    if kbcd.rank() == 0 then os.remove(path .. ".gz") end
  end)
  with_file("1\tonly one\n2\tand two\n", function(path)
    local read = kbcd.text.read(path, { format = "tsv" })
    spec.equal(kbcd.text.vocabulary(read):find("only"), 3)  -- and, one, only, two
    spec.equal(read:hash{ columns = 8 }.n, 2)
  end)
end)

spec.test("many made-up documents, as by plain tables", function()
  local path = kbcd.made_up_reviews(150, 3)
  local read = kbcd.text.read(path, { format = "tsv" })
  local all = gathered(read:words())
  local counts, documents = naive_counts(all, 3)
  local vocabulary = kbcd.text.vocabulary(read, { ngrams = 3 })
  local size = 0
  for gram, count in pairs(counts) do
    size = size + 1
    local found, with = vocabulary:count(vocabulary:find(gram))
    spec.equal(found, count, gram)
    spec.equal(with, documents[gram], gram)
  end
  spec.equal(vocabulary.size, size)
  for i = 2, size do assert(vocabulary:term(i - 1) < vocabulary:term(i)) end
  spec.close(kbcd.gather(read:hash{ columns = 100, ngrams = 3, dtype = "f64" }:to_dense().rows),
    naive_hashed(all, 100, 3, 0, true), 1e-14, "hashed")
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
end)

spec.test("grams cut in Lua, by the formula", function()
  with_file(lines("\t"), function(path)
    local read = kbcd.text.read(path, { format = "tsv" })
    local function letters(text, count) for c in text:gmatch("%a") do count(c) end end
    local function whole(text, count) for word in text:gmatch("%S+") do count(word) end end
    local n, columns = 5, 2 ^ 12  -- large enough that no two collide
    local X = kbcd.gram_matrix{ columns = columns, n = n, { documents = read, cut = letters, share = 0.25 },
      { documents = read, cut = whole, share = 0.75 } }
    local expected, with, cuts, rows = Matrix.zeros(#texts, columns), {}, { "%a", "%S+" }, {}
    for i, words in ipairs(tokens) do
      for g, pattern in ipairs(cuts) do
        local counts = {}
        for gram in words:gmatch(pattern) do
          local key = kbcd.hash.murmur3(gram, g) % columns + 1
          if i <= n and not counts[key] then with[key] = (with[key] or 0) + 1 end
          counts[key] = (counts[key] or 0) + 1
        end
        rows[#rows + 1] = { i = i, counts = counts, share = g == 1 and 0.25 or 0.75 }
      end
    end
    for _, row in ipairs(rows) do
      local squares = 0
      local function weight(key) return row.counts[key] * (math.log((1 + n) / (1 + (with[key] or 0))) + 1) end
      for key in pairs(row.counts) do squares = squares + weight(key) ^ 2 end
      for key in pairs(row.counts) do expected:set(row.i, key, weight(key) * math.sqrt(row.share / squares)) end
    end
    spec.close(kbcd.gather(X:to_dense().rows), expected, 1e-6, "gram_matrix")
    local raw = kbcd.gram_matrix{ columns = columns, { documents = read, share = 1, raw = true,
      cut = function(text, count) count(text) end } }:to_dense().rows
    for i = 1, read.local_n do  -- a text of its own each: one entry, of 1
      spec.equal(raw(i, kbcd.hash.murmur3(texts[read.first + i - 1], 1) % columns + 1), 1, "raw text")
    end
    spec.fails(function() kbcd.gram_matrix() end, "a table", "got nil")
    spec.fails(function() kbcd.gram_matrix{ n = 8, { documents = read, cut = letters, share = 1 } } end, "1..7", "got 8")
  end)
end)

spec.finish()
