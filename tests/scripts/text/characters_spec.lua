-- n-grams of characters: units, vocabularies, tf-idf and hashed rows against plain Lua, on any number of ranks; and
-- vocabularies that were stored.

local kbcd = require "kbcd"
local spec = require "spec"

local texts = { "맛있어요 정말", "정말  맛없어요!", "Ein\194\160Größe-Test", "größer", "맛", "日本語 の 文" }

-- What the units should be: lower case, one blank for blanks, none at the ends.
local plain = { "맛있어요 정말", "정말 맛없어요!", "ein größe-test", "größer", "맛", "日本語 の 文" }

local function characters(text)
  local list = {}
  for c in text:gmatch("[%z\1-\127\194-\244][\128-\191]*") do list[#list + 1] = c end
  return list
end

local function grams(text, least, most)
  local units, counts = characters(text), {}
  for i = 1, #units do
    for size = least, most do
      if i + size - 1 <= #units then
        local gram = table.concat(units, "", i, i + size - 1)
        counts[gram] = (counts[gram] or 0) + 1
      end
    end
  end
  return counts
end

local function with_documents(f)
  local lines = {}
  for i, text in ipairs(texts) do lines[i] = i .. "\t" .. text .. (i == 1 and "  " or "") .. "\n" end
  spec.with_file(table.concat(lines), function(path)
    f(kbcd.text.read(path, { format = "tsv", unit = "characters" }), path)
  end)
end

spec.test("units are characters in lower case with single blanks", function()
  for i, text in ipairs(texts) do spec.equal(kbcd.text.words("\t" .. text .. " ", { unit = "characters" }), plain[i]) end
  spec.equal(kbcd.text.words(" \194\160\t", { unit = "characters" }), "")
  spec.fails(function() kbcd.text.words("a", { unit = "characters", stem = "english" }) end, "characters", "stem")
  spec.fails(function() kbcd.text.words("a", { unit = "letters" }) end, "unit", "\"words\", \"characters\"", "letters")
end)

spec.test("tf-idf of characters by the formula, and of a vocabulary that was stored", function()
  with_documents(function(documents, path)
    local vocabulary, n = kbcd.text.vocabulary(documents, { ngrams = { 1, 3 } }), #texts
    local with, columns = {}, {}
    for _, text in ipairs(plain) do for gram in pairs(grams(text, 1, 3)) do with[gram] = (with[gram] or 0) + 1 end end
    for j, gram in ipairs(kbcd.sorted_keys(with)) do columns[gram] = j end  -- strings in the order of bytes (C locale)
    local expected = kbcd.Matrix.zeros(n, vocabulary.size)
    for i, text in ipairs(plain) do
      local row, squares = {}, 0
      for gram, count in pairs(grams(text, 1, 3)) do
        row[gram] = (1 + math.log(count)) * (math.log((1 + n) / (1 + with[gram])) + 1)
        squares = squares + row[gram] ^ 2
      end
      for gram, value in pairs(row) do expected:set(i, columns[gram], value / math.sqrt(squares)) end
    end
    local o = { tf = "log", idf = true, dtype = "f64" }
    local X = documents:matrix(vocabulary, o)
    spec.close(kbcd.gather(X:to_dense().rows), expected, 1e-12)
    local again = kbcd.text.stored_vocabulary(vocabulary:terms(1, 5) .. "\n" .. vocabulary:terms(6, vocabulary.size),
      vocabulary:counts(), { n = vocabulary.n, ngrams = { 1, 3 }, unit = "characters" })
    spec.equal(tostring(again), tostring(vocabulary))
    spec.close(kbcd.gather(documents:matrix(again, o):to_dense().rows), expected, 1e-12)
    local words = kbcd.text.read(path, { format = "tsv" })
    spec.fails(function() words:matrix(vocabulary) end, "a vocabulary of words expected, got one of characters")
  end)
end)

spec.test("hashed characters", function()
  with_documents(function(documents)
    local columns, expected = 64, kbcd.Matrix.zeros(#texts, 64)
    for i, text in ipairs(plain) do
      for gram, count in pairs(grams(text, 2, 4)) do
        local h = kbcd.hash.murmur3(gram, 7)
        local sign, size = h < 2 ^ 31 and 1 or -1, h < 2 ^ 31 and h or 2 ^ 32 - h
        local j = size % columns + 1
        expected:set(i, j, expected(i, j) + sign * count)
      end
    end
    local X = documents:hash{ columns = columns, ngrams = { 2, 4 }, seed = 7, unit_norm = false, dtype = "f64" }
    spec.close(kbcd.gather(X:to_dense().rows), expected, 1e-12)
  end)
end)

spec.test("what is no vocabulary is refused", function()
  local function refused(terms, counts, o, ...)
    spec.fails(function() kbcd.text.stored_vocabulary(terms, kbcd.Matrix(counts), o) end, ...)
  end
  local good = { n = 3 }
  kbcd.text.stored_vocabulary("a\nb", kbcd.Matrix{ { 2, 1 }, { 3, 3 } }, good)
  refused("b\na", { { 2, 1 }, { 3, 3 } }, good, "term 2", "order")
  refused("a\na", { { 2, 1 }, { 3, 3 } }, good, "term 2", "order")
  refused("a\n\nb", { { 2, 1 }, { 3, 3 }, { 1, 1 } }, good, "term 2", "not empty")
  refused("a\n\255", { { 2, 1 }, { 3, 3 } }, good, "UTF-8")
  refused("a\nb\nc", { { 2, 1 }, { 3, 3 } }, good, "2 rows of counts", "more terms")
  refused("a", { { 2, 1 }, { 3, 3 } }, good, "1 terms", "2 rows")
  refused("a", { { 2 } }, good, "two columns")
  refused("a", { { 1, 2 } }, good, "1 times, in 2 of 3")
  refused("a", { { 5, 4 } }, good, "5 times, in 4 of 3")
  refused("a", { { 1.5, 1 } }, good, "1.5 times")
  refused("a", { { 0 / 0, 1 } }, good, "nan times")
  refused("a", { { 1, 1 } }, {}, "option n")
  refused("a", { { 1, 1 } }, { n = 1, ngrams = 101 }, "ngrams")
end)

spec.test("the fields of the first line", function()
  local function fields(content, format, expected)
    spec.with_file(content, function(path) spec.equal(table.concat(kbcd.text.fields(path, format), "|"), expected) end)
  end
  fields("\n3\tgood text\n4\tx\n", "tsv", "3|good text")
  fields("only text\n", "tsv", "only text")
  fields("a,\"b, c\"\n", "csv", "a|b, c")
  fields('{"text": "a", "label": 1}\n', "jsonl", "text|label")
  fields("", "tsv", "")
  spec.with_file("[1]\n", function(path)
    spec.fails(function() kbcd.text.fields(path, "jsonl") end, path, "line 1", "object")
  end)
end)

spec.finish()
