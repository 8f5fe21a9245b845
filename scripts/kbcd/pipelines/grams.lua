-- Texts as sparse rows of grams of several groups (kbcd.gram_matrix): ways to cut a text (text/cuts.lua), each with its share
-- of the row's squared length, hashed into columns and weighted with their idf.
--
-- fit(raw, settings): raw is a file as for text. settings: cuts = a list of names, shares = a list of numbers, columns =
-- 2^20; rows and format, as for text.read.

local kbcd = require "kbcd"
local options = require "kbcd.descent.options"
local read_raw = require "kbcd.text.read_raw"
local cuts = require "kbcd.text.cuts"
local text = require "kbcd.pipelines.text"

local grams = { expects = text.expects, rows = text.rows, streams = true }

local function names(x)
  local good = type(x) == "table" and #x > 0
  for _, name in ipairs(good and x or {}) do good = good and cuts[name] ~= nil end
  return not good and "a list of " .. table.concat(kbcd.sorted_keys(cuts), ", ") or nil
end

grams.schema = { cuts = { names }, shares = { options.matrix }, columns = { options.count }, counts = { options.matrix },
  documents = { options.count } }

local function groups(s, raw, how)
  local list = { columns = s.columns }
  for g, name in ipairs(s.cuts) do
    local way = cuts[name]
    list[g] = { documents = read_raw(raw, way.words, how), cut = way.cut, raw = way.raw, share = s.shares(1, g) }
  end
  return list
end

local function set_of(X, list)
  local documents = list[1].documents
  return { X = X, y = documents.y, y_names = documents.classes, n = documents.n, documents = documents }
end

function grams.fit(raw, given)
  local s = { cuts = given.cuts, shares = kbcd.Matrix{ given.shares }, columns = given.columns or 2 ^ 20 }
  local list = groups(s, raw, { labels = true, rows = given.rows, format = given.format })
  local X, counts = kbcd.gram_matrix(list)
  s.counts, s.documents = counts, list[1].documents.n
  return s, set_of(X, list)
end

function grams.apply(s, raw, how)
  local list = groups(s, raw, how)
  list.counts, list.n = s.counts, s.documents
  return set_of((kbcd.gram_matrix(list)), list)
end

function grams.columns(s)
  if s.shares.nrows ~= 1 or s.shares.ncols ~= #s.cuts or s.shares:min() < 0 then
    error(("shares: a number >= 0 for each of the %d cuts expected"):format(#s.cuts), 0)
  end
  if s.counts.nrows ~= 1 or s.counts.ncols ~= s.columns or s.counts:min() < 0 or s.counts:max() > s.documents * #s.cuts then
    error(("counts: documents with each of the %d columns expected, of %d in all"):format(s.columns, s.documents), 0)
  end
  return s.columns
end

function grams.describe(s)
  local list = {}
  for g, name in ipairs(s.cuts) do list[g] = ("%s (%g)"):format(name, s.shares(1, g)) end
  return ("grams: texts cut into %s, hashed into %d columns, idf of %d documents"):format(table.concat(list, ", "), s.columns,
    s.documents)
end

return grams
