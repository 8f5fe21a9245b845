-- gram_matrix{…}: sparse rows of texts from the grams that Lua functions cut them into. Each gram is hashed to a column and
-- weighted with its idf; each group of grams (of words, of letters) has a given share of the row's squared length
-- (modules/text/gram_rows).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"

runtime.docs.gram_matrix = [[gram_matrix{columns, n, group, group, ...}
X, counts: a sparse DataSet with a row a text. A group is a table: documents; cut, a function cut(text, count) that
calls count(gram) for each gram of the words of a text; share (of the squared length of a row); raw = false (true: cut
gets the text unchanged from the file). columns = 2^20. n: the first n documents are the training set, from which idf is
computed (all). All groups have the same documents. counts: how many training texts have each column, 1 x columns; given
to another call, with its n, the idf is that of those texts. All ranks call it.]]

-- For each of this rank's texts, counts the grams of every group, then calls f(number of the text).
local function each_text(groups, rows, f)
  local texts = {}
  for g, group in ipairs(groups) do texts[g] = group.raw and group.documents:texts() or group.documents:words() end
  for i = 1, groups[1].documents.local_n do
    for g, group in ipairs(groups) do group.cut(texts[g](), rows.count[g]) end
    f(groups[1].documents.first + i - 1)
  end
end

local function is_documents(x) return kbcd.type(x) ~= "Documents" and "Documents of text.read" or nil end
local function is_function(x) return type(x) ~= "function" and "a function cut(text, count)" or nil end
local schema = { columns = { options.count, 2 ^ 20 }, n = { options.maybe(options.count), false },
  counts = { options.maybe(options.matrix), false } }
local group_schema = { documents = { is_documents }, cut = { is_function }, share = { options.not_negative },
  raw = { options.flag, false } }

return function(given)
  if type(given) ~= "table" then error("gram_matrix: a table {columns, n, group, …} expected, got " .. type(given), 2) end
  local groups, named = {}, {}
  for name, value in pairs(given) do
    if type(name) ~= "number" then named[name] = value end
  end
  local o = options.read("gram_matrix", named, schema)
  for g, group in ipairs(given) do groups[g] = options.read("gram_matrix: group " .. g, group, group_schema) end
  if not groups[1] then error("gram_matrix: at least one group expected", 2) end
  local columns, documents = o.columns, groups[1].documents
  local n = o.n or documents.n
  if not o.counts and n > documents.n then error(("gram_matrix: n in 1..%d expected, got %d"):format(documents.n, n), 2) end
  for _, group in ipairs(groups) do
    local same = group.documents.n == documents.n and group.documents.local_n == documents.local_n
    if not same then
      error(("gram_matrix: groups of the same documents expected, got %d and %d"):format(documents.n, group.documents.n), 2)
    end
  end
  local shares = {}
  for g, group in ipairs(groups) do shares[g] = group.share end
  local rows = runtime.gram_rows(columns, shares)
  if o.counts then
    rows.set_counts(o.counts, n)
  else
    each_text(groups, rows, function(i) rows.end_text(i <= n) end)
    rows.end_pass(n)
  end
  each_text(groups, rows, rows.end_row)
  return runtime.DataSet.local_part(documents.n, rows.finish()), rows.counts()
end
