-- Star ratings from the text of reviews, after the paper's Yelp experiment: the full kernel machine (linear kernel on
-- n-grams of 1 to 3 words), Nyström, and hashing into p columns as random features, side by side; RMSE in stars.
--
--     kbcd examples/reviews train.tsv test.tsv       lines of stars<TAB>text, plain or .gz; without files, made-up ones
--     kbcd examples/reviews train.tsv test.tsv --clip --model m.h5; kbcd predict --model m.h5 --x new.tsv --out p.csv
--
-- λ is chosen on a tenth of the training rows, which is held out; then the model is fitted to all of them. Ratings are
-- predicted as deviations from the mean; --clip limits predictions to the range of the training ratings. --model saves the
-- method with the least held-out error, with all that it takes to predict new texts.

local kbcd = require "kbcd"
local target_scale = require "kbcd.data.target_scale"
local types, pipelines = kbcd.argument_types, kbcd.pipelines

local parser = kbcd.arguments("examples/reviews", "Star ratings from text: full kernel, Nyström and hashing, RMSE in stars.")
parser:argument("train", "Lines of stars<TAB>text (made up, if not given)."):args("?")
parser:argument("test", "The same, to test with."):args("?")
parser:option("--methods", "Which, with commas between.", "full_kernel,nystrom,hashing",
  types.some_of("full_kernel", "nystrom", "hashing"))
parser:option("--rows", "Only the first so many training rows.", nil, types.count)
parser:option("--p", "Nyström centres and hashed columns (4096; 256 for made-up reviews).", nil, types.count)
parser:option("--unit", "What n-grams are of; characters for languages without blanks.", "words")
  :choices{ "words", "characters" }
parser:option("--ngrams", "The longest n-gram (3 words, 5 characters).", nil, types.count)
parser:option("--b", "Block size.", 1024, types.count)
parser:option("--epochs", "Passes over the blocks.", 5, types.count)
parser:flag("--clip", "Predictions outside the range of the training ratings become its ends.")
parser:option("--model", "Save the model of the method with the least held-out error here."):argname("FILE")
local o = parser:parse(arg)
o.p = o.p or o.train and 4096 or 256
if o.train and not o.test then parser:error("two files expected, to train and to test with") end

local function check(path, set)
  local documents = set.documents
  if not documents.y or documents.classes then error(path .. ": numbers expected as labels, stars<TAB>text", 0) end
  if documents.invalid + documents.empty > 0 then
    kbcd.say("%s: %d unreadable lines and %d without words left out", path, documents.invalid, documents.empty)
  end
  return set
end

-- The pipeline of a method, and the sets that it makes of the files.
local function prepare(features, train, test)
  local state, set = pipelines.fit("text", train, { features = features, unit = o.unit, tf = "log", idf = true, min_count = 2,
    ngrams = { 1, o.ngrams or o.unit == "words" and 3 or 5 }, columns = o.p, regress = true, clip = o.clip, rows = o.rows,
    format = "tsv", invalid = "skip", empty = "skip" })
  check(train, set)
  return { state = state, train = set,
    test = check(test, pipelines.apply(state, test, { labels = true, format = "tsv", invalid = "skip" })) }
end

local algorithms = { full_kernel = kbcd.full_kernel, nystrom = kbcd.nystrom, hashing = kbcd.random_features }

local function fit(method, X, Y, path)
  local p = method == "full_kernel" and X.n or method == "hashing" and X.d or math.min(o.p, X.n)
  local s = { lambda = path, epochs = o.epochs, b = math.min(o.b, p), jitter = true }
  if method == "hashing" then s.map = kbcd.features.columns{ p = p } else s.kernel = kbcd.kernel.linear() end
  if method == "nystrom" then s.p = p end
  local model
  for step in kbcd.progress(algorithms[method](X, Y, s)) do model = step.model end
  return model
end

-- The model of the λ that is best on held-out rows, its place there, and what was measured.
local function run(method, data)
  local start, lambdas, X, y = kbcd.now(), { 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5 }, data.train.X, data.train.y
  local units = target_scale.fit(y)
  local function rmse(set, S, of) return (kbcd.scoring.rmse(pipelines.result(set, S), of)) end
  local order, held_out = kbcd.Index.permutation(X.n, { seed = 1 }), math.ceil(X.n / 10)
  local held, rest = order:slice(1, held_out), order:slice(held_out + 1, X.n)
  local path, errors = fit(method, X:subset(rest), units.targets(y:subset(rest)), lambdas), {}
  for l, S in ipairs(units.scores(path:predict(X:subset(held)))) do errors[l] = rmse(data.train, S, y:subset(held)) end
  local best = kbcd.scoring.best(errors)
  local model = fit(method, X, units.targets(y), lambdas[best])
  units.finish(model)
  local test_error = rmse(data.test, model[1]:predict(data.test.X), data.test.y)
  kbcd.say("%-11s RMSE %.4f  (%.4f held out, lambda = %g, %.1f s)", method, test_error, errors[best], lambdas[best],
    kbcd.now() - start)
  return { method = method, model = model, state = data.state, held_out_error = errors[best], test_error = test_error }
end

kbcd.command("examples/reviews", function()
  kbcd.output_file.check_command({ train = o.train, test = o.test }, { ["--model"] = o.model })
  local made_up = not o.train and { kbcd.made_up_reviews(600, 1), kbcd.made_up_reviews(200, 2) } or nil
  local train, test, data, best = o.train or made_up[1], o.test or made_up[2], {}, nil
  for i, method in ipairs(o.methods) do
    local features = method == "hashing" and "hash" or "vocabulary"
    data[features] = data[features] or prepare(features, train, test)
    if i == 1 then
      local some = data[features]
      kbcd.say("%d reviews to train, %d to test; %d columns", some.train.n, some.test.n, some.train.X.d)
    end
    local result = run(method, data[features])
    if not best or result.held_out_error < best.held_out_error then best = result end
  end
  if made_up and kbcd.rank() == 0 then for _, path in ipairs(made_up) do os.remove(path) end end
  if not o.model then return end
  best.model:save(o.model, { task = "regress", method = best.method, pipeline = best.state,
    metrics = { held_out_error = { best.held_out_error }, test_error = { best.test_error } } })
  kbcd.say("%s: %s, the least held-out error; test error %.4f", o.model, best.method, best.test_error)
end)
