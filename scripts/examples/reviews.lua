-- Star ratings from the text of reviews, after the paper's Yelp experiment: the full kernel machine (linear kernel on
-- n-grams of 1 to 3 words), Nyström, and hashing into p columns as random features, side by side; RMSE in stars.
--
--     kbcd examples/reviews train.tsv test.tsv       lines of stars<TAB>text, plain or .gz; without files, made-up ones
--
-- λ is chosen on a tenth of the training rows, which is held out; then the model is fitted to all of them. Ratings are
-- predicted as deviations from the mean; --clip limits predictions to 1 to 5 stars.

local kbcd = require "kbcd"
local pad = require "kbcd.support.pad"
local types = kbcd.argument_types

local parser = kbcd.arguments("examples/reviews", "Star ratings from text: full kernel, Nyström and hashing, RMSE in stars.")
parser:argument("train", "Lines of stars<TAB>text (made up, if not given)."):args("?")
parser:argument("test", "The same, to test with."):args("?")
parser:option("--rows", "Only the first so many training rows.", nil, types.count)
parser:option("--p", "Nyström centres and hashed columns (4096; 256 for made-up reviews).", nil, types.count)
parser:option("--ngrams", "The longest n-gram, in words.", 3, types.count)
parser:option("--b", "Block size.", 1024, types.count)
parser:option("--epochs", "Passes over the blocks.", 5, types.count)
parser:flag("--clip", "Predictions below 1 or above 5 stars become 1 or 5.")
local o = parser:parse(arg)
o.p = o.p or o.train and 4096 or 256
if o.train and not o.test then parser:error("two files expected, to train and to test with") end

local function read(path, rows)
  local documents = kbcd.text.read(path, { format = "tsv", rows = rows, invalid = "skip", empty = "skip" })
  if documents.invalid + documents.empty > 0 then
    kbcd.say("%s: %d unreadable lines and %d without words left out", path, documents.invalid, documents.empty)
  end
  if documents.classes then error(path .. ": ratings that are numbers expected in the first column", 0) end
  return documents
end

local linear, lambdas = kbcd.kernel.linear(), { 2e-4, 1e-4, 5e-5, 2e-5, 1e-5 }
local function fit(method, X, Y, path)
  local p = method == "full_kernel" and X.n or method == "hashing" and X.d or math.min(o.p, X.n)
  local s = { lambda = path, epochs = o.epochs, b = math.min(o.b, p), jitter = true }
  if method == "hashing" then s.map = kbcd.features.columns{ p = p } else s.kernel = linear end
  if method == "Nyström" then s.p = p end
  local algorithm = ({ full_kernel = kbcd.full_kernel, ["Nyström"] = kbcd.nystrom, hashing = kbcd.random_features })[method]
  local model
  for step in kbcd.progress(algorithm(X, Y, s)) do model = step.model end
  return model
end

kbcd.command("examples/reviews", function()
  local made_up = not o.train and { kbcd.made_up_reviews(600, 1), kbcd.made_up_reviews(200, 2) }
  local train, test = read(o.train or made_up[1], o.rows), read(o.test or made_up[2])
  local vocabulary = kbcd.text.vocabulary(train, { ngrams = o.ngrams, min_count = 2 })
  local weights, hashed = { tf = "log", idf = true }, { columns = o.p, ngrams = o.ngrams, tf = "log" }
  local grams = { X = train:matrix(vocabulary, weights), Xtest = test:matrix(vocabulary, weights) }
  local hashes = { X = train:hash(hashed), Xtest = test:hash(hashed) }
  if made_up and kbcd.rank() == 0 then for _, path in ipairs(made_up) do os.remove(path) end end
  kbcd.say("%d reviews to train, %d to test; %d n-grams", train.n, test.n, vocabulary.size)

  local mean = kbcd.allreduce(train.y.rows:sum()) / train.n
  local function rmse(scores, y)
    local stars = scores + mean
    return (kbcd.scoring.rmse(o.clip and stars:clamp(1, 5) or stars, y))
  end

  local order = kbcd.Index.permutation(train.n, { seed = 1 })
  local held, rest = order:slice(1, math.ceil(train.n / 10)), order:slice(math.ceil(train.n / 10) + 1, train.n)
  for _, run in ipairs{ { "full_kernel", grams }, { "Nyström", grams }, { "hashing", hashes } } do
    local method, X, Xtest, start = run[1], run[2].X, run[2].Xtest, kbcd.now()
    local path, errors = fit(method, X:subset(rest), train.y:subset(rest).rows - mean, lambdas), {}
    for l, scores in ipairs(path:predict(X:subset(held))) do errors[l] = rmse(scores, train.y:subset(held)) end
    local best = kbcd.scoring.best(errors)
    local model = fit(method, X, train.y.rows - mean, lambdas[best])
    kbcd.say("%s RMSE %.4f  (%.4f held out, lambda = %g, %.1f s)", pad(method, 8),
      rmse(model[1]:predict(Xtest), test.y), errors[best], lambdas[best], kbcd.now() - start)
  end
end)
