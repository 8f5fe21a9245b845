-- Predicts the section of a Debian package (58 classes) from its one-line synopsis, on about 63,000 texts that every Debian
-- machine has: full kernel machine, Nyström and hashing side by side. Test packages come from sources that are not in the
-- training set.
--
--     kbcd examples/packages            every twentieth source, in seconds
--     kbcd examples/packages --full     all of them
--     kbcd examples/packages --methods full_kernel --model m.h5; kbcd predict --model m.h5 --x new.txt --out sections.csv
--
-- The kernels see stemmed words and marks and pairs of these, n-grams of 2 to 5 letters within words, and words as they are
-- written (Go is a language), all with idf weights; kbcd/text/cuts.lua makes them in Lua. Hashing has words and pairs of them
-- in p columns.

local kbcd = require "kbcd"
local types, pipelines = kbcd.argument_types, kbcd.pipelines

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
parser:option("--model", "Save the model here; --methods must name one."):argname("FILE")
local o = parser:parse(arg)
if o.model and #o.methods > 1 then parser:error("--model: one method expected with it; --methods says which") end

-- The pipelines of the methods, fitted on the first n lines of a file, and all rows of the file.
local function read(path, n)
  local all = { n = n, p = o.p or math.min(4096, math.floor(n / 4)), sets = {}, states = {} }
  local function fit(name, kind, settings)
    settings.rows = n
    all.states[name] = (pipelines.fit(kind, path, settings))
    all.sets[name] = pipelines.apply(all.states[name], path, { labels = true, format = "tsv" })
    all.y, all.names = all.sets[name].y, all.sets[name].y_names
  end
  local hashes = #o.methods == 1 and o.methods[1] == "hashing"
  if not hashes then
    fit("grams", "grams", { cuts = { "english_pairs", "letters", "written" }, shares = { 0.4, 0.4, 0.2 }, format = "tsv" })
  end
  if hashes or table.concat(o.methods):find("hashing") then
    fit("hashes", "text", { features = "hash", columns = all.p, ngrams = { 1, 2 }, stem = "english", marks = true,
      format = "tsv" })
  end
  return all
end

kbcd.command("examples/packages", function()
  kbcd.output_file.check_command({}, { ["--model"] = o.model, ["--tsv"] = o.tsv })
  local all = kbcd.package_synopses({ every = not o.full and 20 or nil, path = o.tsv }, read)
  local n, p, rows, test = all.n, all.p, kbcd.Index.range(1, all.n), kbcd.Index.range(all.n + 1, all.y.n)
  local Y = kbcd.labels.one_vs_all(all.y:subset(rows), { classes = #all.names, first = 0 })
  local ytest = all.y:subset(test)
  kbcd.say("%d synopses to train, %d to test, %d sections", n, ytest.n, #all.names)

  local kernel, methods = kbcd.kernel.rbf{ sigma = o.sigma }, {}
  function methods.full_kernel(X, s) s.kernel = kernel return kbcd.full_kernel(X, Y, s) end
  function methods.nystrom(X, s) s.kernel, s.p, s.gamma = kernel, p, 1e-2 return kbcd.nystrom(X, Y, s) end
  function methods.hashing(X, s) s.map = kbcd.features.columns{ p = p } return kbcd.random_features(X, Y, s) end
  for _, name in ipairs(o.methods) do
    local features, start, model = name == "hashing" and "hashes" or "grams", kbcd.now(), nil
    local data = all.sets[features].X
    local X, Xtest, b = data:subset(rows), data:subset(test), math.min(o.b, name == "full_kernel" and n or p)
    for step in kbcd.progress(methods[name](X, { lambda = o.lambda, b = b, epochs = o.epochs, jitter = true })) do
      model = step.model
    end
    local wrong = kbcd.labels.error_rate(model[1], Xtest, ytest, { first = 0 })
    kbcd.say("%-8s error %.2f%%  (%.1f s)", name, 100 * wrong, kbcd.now() - start)
    if o.model then
      model:save(o.model, { task = "classify", names = all.names, method = name, pipeline = all.states[features],
        metrics = { test_error = { wrong } } })
      kbcd.say("%s: %s, test error %.2f%%", o.model, name, 100 * wrong)
    end
  end
end)
