-- Feature hashing written in Lua, without compiling: the same matrix as Documents:hash, at a useful speed; and two variants
-- that C++ does not have, n-grams of characters and skip-grams.
-- Lua decides which parts of a text are features; add_hashed of csr_builder hashes all parts of a text in one call.

local kbcd = require "kbcd"

local parser = kbcd.arguments("examples/lua_hashing", "Feature hashing in Lua beside that in C++: speed and fingerprints.")
parser:argument("reviews", "Lines of label<TAB>text, plain or .gz (made up, if not given)."):args("?")
local given, columns = parser:parse(arg).reviews, 2 ^ 18

-- A sparse DataSet with a row a text; features(text, builder) adds the features of a text.
local function hashed(documents, features)
  local builder = kbcd.csr_builder(columns)
  for text in documents:words() do
    features(text, builder)
    builder.end_row()
  end
  return builder.finish(documents.n, { unit_norm = true })
end

-- Where the words begin and end, in bytes; there are `count` of them, with single blanks between.
local function bounds(text)
  local starts, ends, count, begin = {}, {}, 0, 1
  while begin <= #text do
    local blank = text:find(" ", begin, true) or #text + 1
    count = count + 1
    starts[count], ends[count], begin = begin, blank - 1, blank + 1
  end
  return starts, ends, count
end

local function word_ngrams(text, builder)  -- of 1 to 3 words
  local starts, ends, count = bounds(text)
  local parts, n = {}, 0
  for i = 1, count do
    for last = i, math.min(i + 2, count) do parts[n + 1], parts[n + 2], n = starts[i], ends[last], n + 2 end
  end
  builder.add_hashed(text, parts)
end

local function character_ngrams(text, builder)  -- of 3 to 5 bytes, across words
  local parts, n = {}, 0
  for size = 3, 5 do
    for i = 1, #text - size + 1 do parts[n + 1], parts[n + 2], n = i, i + size - 1, n + 2 end
  end
  builder.add_hashed(text, parts)
end

local function skip_grams(text, builder)  -- pairs of words with up to two others between them
  local starts, ends, count = bounds(text)
  local parts, n = {}, 0
  for i = 1, count do
    for j = i + 1, math.min(i + 3, count) do
      parts[n + 1], parts[n + 2], parts[n + 3], parts[n + 4], n = starts[i], ends[i], starts[j], ends[j], n + 4
    end
  end
  builder.add_hashed(text, parts, 2)
end

kbcd.command("examples/lua_hashing", function()
  local path, bytes = given or kbcd.made_up_reviews(2000), 0
  local documents = kbcd.text.read(path, { format = "tsv" })
  for text in documents:texts() do bytes = bytes + #text end
  bytes = kbcd.allreduce(bytes)
  local function timed(name, make)
    local start = kbcd.now()
    local X = make()
    local seconds, mark = kbcd.allreduce_max(kbcd.now() - start), X:fingerprint()
    kbcd.say("%-28s %6.1f MB/s  %s", name, bytes / seconds / 1e6, mark)
    return mark, seconds
  end
  local X, fast = timed("C++, 3-grams", function() return (documents:hash{ columns = columns, ngrams = 3 }) end)
  local Z, slow = timed("Lua, 3-grams", function() return hashed(documents, word_ngrams) end)
  kbcd.say("the same matrix: %s; Lua takes %.1f x the time", X == Z and "yes" or "no", slow / fast)
  timed("Lua, 3 to 5 characters", function() return hashed(documents, character_ngrams) end)
  timed("Lua, pairs with words between", function() return hashed(documents, skip_grams) end)
  if not given and kbcd.rank() == 0 then os.remove(path) end
end)
