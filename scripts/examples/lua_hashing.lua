-- Feature hashing written in Lua, without compiling: the same matrix as Documents:hash, at a useful speed; and two variants
-- that C++ does not have, n-grams of characters and skip-grams.
-- hash.murmur3 hashes bytes in place (a pointer and a count), csr_builder collects the entries: LuaJIT compiles both into
-- the loop.

local ffi = require "ffi"
local kbcd = require "kbcd"
local murmur3 = kbcd.hash.murmur3

local parser = kbcd.arguments("examples/lua_hashing", "Feature hashing in Lua beside that in C++: speed and fingerprints.")
parser:argument("reviews", "Lines of label<TAB>text, plain or .gz (made up, if not given)."):args("?")
local given, columns = parser:parse(arg).reviews, 2 ^ 18

-- The column of some bytes, from 1, and their sign: |h| mod columns for h as a signed number.
local function place(bytes, count)
  local h = murmur3(bytes, 0, count)
  if h < 2 ^ 31 then return h % columns + 1, 1 end
  return (2 ^ 32 - h) % columns + 1, -1
end

-- A sparse DataSet with a row a text; features(bytes, count, add) calls add(column, sign) for each feature.
local function hashed(documents, features)
  local builder = kbcd.csr_builder(columns)
  for text in documents:words() do
    features(ffi.cast("const char *", text), #text, builder.add)
    builder.end_row()
  end
  return builder.finish(documents.n, { unit_norm = true })
end

-- Where the words begin and end, in bytes; there are `count` of them, with single blanks between.
local function bounds(bytes, length)
  local starts, ends = ffi.new("int32_t[?]", length / 2 + 1), ffi.new("int32_t[?]", length / 2 + 1)
  local count, begin = 0, 0
  for i = 0, length do
    if (i == length or bytes[i] == 32) and i > begin then
      starts[count], ends[count], count, begin = begin, i, count + 1, i + 1
    end
  end
  return starts, ends, count
end

local function word_ngrams(bytes, length, add)  -- of 1 to 3 words
  local starts, ends, count = bounds(bytes, length)
  for i = 0, count - 1 do
    for last = i, math.min(i + 2, count - 1) do add(place(bytes + starts[i], ends[last] - starts[i])) end
  end
end

local function character_ngrams(bytes, length, add)  -- of 3 to 5 bytes, across words
  for size = 3, 5 do for i = 0, length - size do add(place(bytes + i, size)) end end
end

local function skip_grams(bytes, length, add)  -- pairs of words with up to two others between them
  local starts, ends, count = bounds(bytes, length)
  for i = 0, count - 1 do
    local first = murmur3(bytes + starts[i], 0, ends[i] - starts[i])
    for j = i + 1, math.min(i + 3, count - 1) do
      local h = murmur3(bytes + starts[j], first, ends[j] - starts[j])  -- the first word is the seed of the second
      add(h % columns + 1, h < 2 ^ 31 and 1 or -1)
    end
  end
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
