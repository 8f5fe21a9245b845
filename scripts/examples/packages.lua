-- Predicts the section of a Debian package (58 classes) from its one-line synopsis, on about 63,000 texts that every Debian
-- machine has: full kernel machine, Nyström and hashing side by side. Test packages come from sources that are not in the
-- training set.
--
--     kbcd examples/packages            every twentieth source, in seconds
--     kbcd examples/packages --full     all of them
--
-- The kernels see stemmed words and marks and pairs of these, n-grams of 2 to 5 letters within words, and words as they are
-- written (Go is a language), all with idf weights; the features are made here, in Lua. Hashing has words and pairs of them
-- in p columns.

local kbcd = require "kbcd"
local types = kbcd.argument_types

local parser = kbcd.arguments("examples/packages", "The section of a Debian package from its synopsis: error of each method.")
parser:flag("--full", "All packages; else those of every twentieth source.")
parser:option("--methods", "Which, with commas between.", "full_kernel,nystrom,hashing",
  types.some_of("full_kernel", "nystrom", "hashing"))
parser:option("--p", "Nyström centres and hashed columns (4096; 1/4 of the rows if those are fewer).", nil, types.count)
parser:option("--sigma", "Width of the rbf kernel on rows of length 1.", "1", types.positive)
parser:option("--lambda", "Regulariser.", "3e-6", types.positive)
parser:option("--b", "Block size.", "2048", types.count)
parser:option("--epochs", "Passes over the blocks.", "6", types.count)
parser:option("--tsv", "Leave the lines section<TAB>synopsis in this file, those to train with first."):argname("FILE")
local o = parser:parse(arg)

-- Words; words and pairs that follow each other; n-grams of 2 to 5 letters (bytes) of each word, with blanks around it.
local function single_words(text, count) for word in text:gmatch("%S+") do count(word) end end
local function words_and_pairs(text, count)
  local last
  for word in text:gmatch("%S+") do
    count(word)
    if last then count(last .. " " .. word) end
    last = word
  end
end
local function letter_grams(text, count)
  for word in text:gmatch("%S+") do
    local padded = " " .. word .. " "
    for size = 2, 5 do
      for i = 1, #padded - size + 1 do count(padded:sub(i, i + size - 1)) end
    end
  end
end

-- The data of the methods, from a file whose first n lines are the training set.
local function read(path, n)
  local stems = kbcd.text.read(path, { format = "tsv", stem = "english", marks = true, empty = "keep" })
  local words = kbcd.text.read(path, { format = "tsv", empty = "keep" })
  local p = o.p or math.min(4096, math.floor(n / 4))
  return { n = n, p = p, y = stems.y, classes = #stems.classes, hashes = stems:hash{ columns = p, ngrams = 2 },
    grams = kbcd.gram_matrix{ n = n, { documents = stems, cut = words_and_pairs, share = 0.4 },
      { documents = words, cut = letter_grams, share = 0.4 },
      { documents = words, cut = single_words, share = 0.2, raw = true } } }
end

kbcd.command("examples/packages", function()
  local all = kbcd.package_synopses({ every = not o.full and 20 or nil, path = o.tsv }, read)
  local n, p, rows, test = all.n, all.p, kbcd.Index.range(1, all.n), kbcd.Index.range(all.n + 1, all.y.n)
  local Y = kbcd.labels.one_vs_all(all.y:subset(rows), { classes = all.classes, first = 0 })
  local ytest = all.y:subset(test)
  kbcd.say("%d synopses to train, %d to test, %d sections", n, ytest.n, all.classes)

  local kernel, methods = kbcd.kernel.rbf{ sigma = o.sigma }, {}
  function methods.full_kernel(X, s) s.kernel = kernel return kbcd.full_kernel(X, Y, s) end
  function methods.nystrom(X, s) s.kernel, s.p, s.gamma = kernel, p, 1e-2 return kbcd.nystrom(X, Y, s) end
  function methods.hashing(X, s) s.map = kbcd.features.columns{ p = p } return kbcd.random_features(X, Y, s) end
  for _, name in ipairs(o.methods) do
    local data, start, model = name == "hashing" and all.hashes or all.grams, kbcd.now(), nil
    local X, Xtest, b = data:subset(rows), data:subset(test), math.min(o.b, name == "full_kernel" and n or p)
    for step in kbcd.progress(methods[name](X, { lambda = o.lambda, b = b, epochs = o.epochs, jitter = true })) do
      model = step.model[1]
    end
    local wrong = kbcd.labels.error_rate(model, Xtest, ytest, { first = 0 })
    kbcd.say("%-8s error %.2f%%  (%.1f s)", name, 100 * wrong, kbcd.now() - start)
  end
end)
