-- ranks: 1
-- Models of texts: examples/reviews --model, then predict and evaluate on raw files, on 1 and 3 ranks, against the library
-- used directly; and what is refused.

local kbcd = require "kbcd"
local spec = require "spec"
local shell = require "shell"
local has, succeeds, refuses, test, equal = shell.has, shell.succeeds, shell.refuses, shell.test, spec.equal

local function path_of(name) return shell.tmp .. "/" .. name end

-- Reviews with half stars from 0 to 10: the words decide.
local function reviews(n, seed)
  local good, bad = { "lovely", "soft", "fits well" }, { "itchy", "too tight", "faded" }
  local filler = { "the", "dress", "was", "on me" }
  local draw, labels, texts = kbcd.Matrix.rand(n, 40, { seed = seed }), {}, {}
  for i = 1, n do
    local stars, words = math.floor(21 * draw(i, 1)) / 2, {}
    for j = 2, 9 + math.floor(20 * draw(i, 40)) do
      local list = j % 3 > 0 and filler or draw(i, j) * 10 < stars and good or bad
      words[#words + 1] = list[math.ceil(#list * draw(i, 41 - j))]
    end
    labels[i], texts[i] = stars, table.concat(words, " ")
  end
  return labels, texts
end

local function write_tsv(name, labels, texts)
  local lines = {}
  for i, text in ipairs(texts) do lines[i] = labels and ("%g\t%s"):format(labels[i], text) or text end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end

local labels, texts = reviews(160, 1)
write_tsv("train.tsv", labels, texts)
local test_labels, test_texts = reviews(50, 2)
test_texts[7] = "unheard-of"  -- no n-gram of it is known
write_tsv("test.tsv", test_labels, test_texts)
write_tsv("new.txt", nil, test_texts)

local function predictions(name) return kbcd.load(path_of(name)).rows end

-- predict on both numbers of ranks, of one file.
local function predict(model, x, more)
  for _, ranks in ipairs{ 1, 3 } do
    succeeds(("mpi %d predict --model %s --x %s --out p%d.csv %s"):format(ranks, model, x, ranks, more or ""))
  end
  spec.close(predictions("p3.csv"), predictions("p1.csv"), 1e-4, "ranks")
  return predictions("p1.csv")
end

local function rmse_of(P)
  local sum = 0
  for i, label in ipairs(test_labels) do sum = sum + (P(i, 1) - label) ^ 2 end
  return math.sqrt(sum / #test_labels)
end

local function same_as_said(said, model)
  local method, rmse = said:match(model .. ": ([%w_]+), the least held%-out error; test error ([%d.]+)")
  equal(tonumber(said:match(method .. " +RMSE ([%d.]+)")), tonumber(rmse), said)
  for _, ranks in ipairs{ 1, 3 } do
    local report = succeeds(("mpi %d evaluate --model %s --x test.tsv"):format(ranks, model)).out
    spec.close(tonumber(report:match("RMSE ([%d.]+)")), tonumber(rmse), 2e-4, report)
    has(report, "50 rows")
  end
  return method, tonumber(rmse)
end

test("words: new texts are predicted as the library does, on 1 and 3 ranks", function()
  local said = succeeds("kbcd examples/reviews train.tsv test.tsv --methods full_kernel,hashing --p 64 --epochs 2 --clip " ..
    "--model m.h5").out
  local method, rmse = same_as_said(said, "m.h5")
  local least, best = math.huge, nil
  for name, held_out in said:gmatch("([%w_]+) +RMSE [%d.]+ +%(([%d.]+) held out") do
    if tonumber(held_out) < least then least, best = tonumber(held_out), name end
  end
  equal(method, best, said)
  local P = predict("m.h5", "new.txt")
  spec.close(rmse_of(P), rmse, 1e-4, "of the predictions")
  assert(P:min() >= 0 and P:max() <= 10, "within the range of the training ratings")
  spec.close(predict("m.h5", "test.tsv"), P, 1e-5, "with labels")
end)

test("the stored vocabulary makes the rows that a fresh one makes", function()
  local said = succeeds("kbcd examples/reviews train.tsv test.tsv --methods nystrom --p 64 --epochs 2 --model v.h5").out
  local _, rmse = same_as_said(said, "v.h5")
  local function read(name) return kbcd.text.read(path_of(name), { format = "tsv", empty = "keep" }) end
  local vocabulary = kbcd.text.vocabulary(read("train.tsv"), { ngrams = 3, min_count = 2 })
  local model = kbcd.model_file.load(path_of("v.h5"))
  local expected = model[1]:predict((read("test.tsv"):matrix(vocabulary, { tf = "log", idf = true })))
  local P = predict("v.h5", "new.txt")
  spec.close(P, expected, 1e-5)
  spec.close(rmse_of(P), rmse, 1e-4)
  equal(model.method, "nystrom")
  has(succeeds("kbcd inspect v.h5").out, "pipeline", "n-grams of 1 to 3 words", "tf log, idf",
    ("a vocabulary of %d from 160 documents"):format(vocabulary.size), "raw input")
end)

test("characters", function()
  local said = succeeds("mpi 3 examples/reviews train.tsv test.tsv --methods full_kernel --unit characters --ngrams 4 " ..
    "--epochs 2 --model c.h5").out
  local _, rmse = same_as_said(said, "c.h5")
  spec.close(rmse_of(predict("c.h5", "new.txt")), rmse, 1e-4)
  has(succeeds("kbcd inspect c.h5").out, "n-grams of 1 to 4 characters")
end)

test("standard input, CSV and JSON lines", function()
  succeeds("kbcd predict --model v.h5 --x new.txt --out p.csv")
  equal(succeeds("kbcd predict --model v.h5 --x - --out - <new.txt").out, shell.read(path_of("p.csv")))
  equal(succeeds("mpi 3 predict --model v.h5 --x - --out p3.csv <test.tsv; wc -l <p3.csv").out, "50\n")
  local csv, json = { "id,stars,review" }, {}
  for i, text in ipairs(test_texts) do
    csv[i + 1] = ("%d,%g,\"%s\""):format(i, test_labels[i], text)
    json[i] = ('{"text": "%s", "label": %g}'):format(text, test_labels[i])
  end
  shell.write("test.csv", table.concat(csv, "\n") .. "\n")
  shell.write("test.jsonl", table.concat(json, "\n") .. "\n")
  local expected = shell.read(path_of("p.csv"))
  equal(succeeds("kbcd predict --model v.h5 --x test.csv --text review --out -").out, expected)
  equal(succeeds("kbcd predict --model v.h5 --x test.jsonl --out -").out, expected)
  local rmse = succeeds("kbcd evaluate --model v.h5 --x test.tsv").out:match("RMSE %S+")
  has(succeeds("kbcd evaluate --model v.h5 --x test.csv --text review --label stars").out, rmse)
  has(succeeds("kbcd evaluate --model v.h5 --x test.jsonl").out, rmse)
  shell.write("y.csv", table.concat(test_labels, "\n") .. "\n")
  has(succeeds("kbcd evaluate --model v.h5 --x new.txt --y y.csv").out, rmse)
  shell.write("worse.tsv", shell.read(path_of("test.tsv")) .. "3\tbad \255\n")
  local result = succeeds("mpi 3 evaluate --model v.h5 --x worse.tsv")
  has(result.out, rmse, "50 rows")
  has(result.err, "worse.tsv: 1 lines that cannot be read are left out")
end)

test("what a model of texts refuses", function()
  shell.write("rows.npy", "\147NUMPY\1\0")
  local expected = { "v.h5 is a model of text: n-grams", "it expects texts: a .tsv" }
  refuses("kbcd predict --model v.h5 --x rows.npy --out p.csv", "rows.npy", unpack(expected))
  refuses("mpi 3 predict --model v.h5 --x nowhere.tsv --out p.csv", "nowhere.tsv", "cannot be read", unpack(expected))
  refuses("kbcd predict --model v.h5 --x new.txt --text review --out p.csv", "no column is named 'review'", unpack(expected))
  refuses("kbcd predict --model v.h5 --x test.csv --out p.csv", "3 columns, the first 'id'; --text says", unpack(expected))
  shell.write("bad.txt", "good\nbad \255\n")
  refuses("kbcd predict --model v.h5 --x bad.txt --out p.csv", "line 2", "UTF-8", unpack(expected))
  refuses("kbcd evaluate --model v.h5 --x new.txt", "new.txt: no labels in it", "--y")
  shell.write("names.tsv", "good\tfine text\nbad\tpoor\n")
  refuses("kbcd evaluate --model v.h5 --x names.tsv", "numbers expected as targets", "'bad'")
  shell.write("empty.txt", "")
  refuses("kbcd predict --model v.h5 --x empty.txt --out p.csv", "empty.txt", "there is none")
  refuses("kbcd predict --model v.h5 --x new.txt --option delimiter=x --out p.csv", "--option")
  refuses("kbcd examples/packages --model p.h5", "--model: one method expected")
end)

test("grams of several groups, and classes by name", function()  -- the pipeline of examples/packages
  local lines = {}
  for i = 1, 60 do lines[i] = (i % 3 == 0 and "net\tServer of files " or "doc\tManual pages ") .. i end
  shell.write("sections.tsv", table.concat(lines, "\n") .. "\n")
  local settings = { cuts = { "english_pairs", "letters", "written" }, shares = { 0.4, 0.4, 0.2 }, columns = 2 ^ 12 }
  local state, set = kbcd.pipelines.fit("grams", path_of("sections.tsv"), settings)
  equal(table.concat(set.y_names, " "), "doc net")
  local Y, model = kbcd.labels.one_vs_all(set.y, { classes = 2, first = 0 }), nil
  local o = { kernel = kbcd.kernel.rbf{ sigma = 1 }, lambda = 1e-4, b = 60 }
  for step in kbcd.full_kernel(set.X, Y, o) do model = step.model end
  model:save(path_of("g.h5"), { task = "classify", names = set.y_names, pipeline = state })
  shell.write("new.txt", "server of pages\nmanual pages on files\nfiles server\n")
  spec.close(kbcd.gather(kbcd.pipelines.apply(state, path_of("sections.tsv")).X:to_dense().rows),
    kbcd.gather(set.X:to_dense().rows), 1e-7, "the training texts again")
  local S = model[1]:predict(kbcd.pipelines.apply(state, path_of("new.txt")).X)
  succeeds("mpi 3 predict --model g.h5 --x new.txt --scores --out s.csv")
  spec.close(kbcd.load(path_of("s.csv"), { header = true }).rows, S, 1e-5)
  has(succeeds("mpi 3 predict --model g.h5 --x new.txt --out -").out, "net\ndoc\nnet\n")
  has(succeeds("mpi 3 evaluate --model g.h5 --x sections.tsv").out, "top-1 error 0.00%")
  has(succeeds("kbcd inspect g.h5").out, "grams: texts cut into english_pairs (0.4)", "idf of 60 documents")
end)

shell.finish()
