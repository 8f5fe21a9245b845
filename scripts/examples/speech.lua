-- After the paper's TIMIT experiment: predicts the phone of a frame of speech, and which third of it. The full kernel (on
-- some of the frames), Nyström and random features side by side, on recordings with .lab files or with one label each.
-- README.md in this folder explains more. --model saves the model of one method with all that it takes to predict new
-- recordings: kbcd predict --model m.h5 --x new.wav --out labels.csv.

local kbcd = require "kbcd"
local Index, types, pipelines = kbcd.Index, kbcd.argument_types, kbcd.pipelines

local parser = kbcd.arguments("examples/speech", "Phone states of recorded speech by three kernel methods.")
parser:mutex(
  parser:option("--folder", "With wav/NAME.wav and lab/NAME.lab (the voice of Debian's festvox-ru)."),
  parser:option("--list", "Instead of a folder: a file of lines sound<TAB>label, a label for the whole recording."))
parser:option("--test-list", "With --list: the recordings to test with (every tenth of --list)."):argname("FILE")
parser:option("--rate", "Samples a second of every recording.", "16000", types.count)
parser:option("--files", "Only so many recordings, evenly from all (60 of the default voice).", nil, types.count)
parser:option("--p", "p of Nyström and random features (2048).", nil, types.count)
parser:option("--rows", "Frames for the full kernel (8000).", nil, types.count)
parser:option("--methods", "Which, with commas between.", "full_kernel,nystrom,random_features",
  types.some_of("full_kernel", "nystrom", "random_features"))
parser:option("--sigma", "Width of the rbf kernel.", "14", types.positive)
parser:option("--lambda", "Regularisation (1e-5 for the full kernel, else 1e-8).", nil, types.positive)
parser:option("--epochs", "Epochs of each method (2).", nil, types.count)
parser:flag("--skip", "Skip recordings that cannot be used, and report them.")
parser:flag("--full", "All recordings, p = 8192, 20000 frames for the full kernel, 3 epochs.")
parser:option("--model", "Save the model here; --methods must name one."):argname("FILE")
local o = parser:parse(arg)
if o.test_list and not o.list then parser:error("--test-list goes with --list") end
if o.model and #o.methods > 1 then parser:error("--model: one method expected with it; --methods says which") end
local small, large = { p = 2048, rows = 8000, epochs = 2 }, { p = 8192, rows = 20000, epochs = 3 }
for name, value in pairs(o.full and large or small) do o[name] = o[name] or value end
if not (o.full or o.folder or o.list) then o.files = o.files or 60 end

-- The pipeline, the training frames, and the test frames: of --test-list, or of every tenth recording, so that they are of
-- sentences that are not in the training set.
local function corpora()
  local folder = not o.list and (o.folder or "/usr/share/festival/voices/russian/msu_ru_nsh_clunits") or nil
  local files, labels = kbcd.recordings{ folder = folder, list = o.list, parts = 3, count = o.files }
  local least = o.test_list and 2 or 10
  if #files < least then error(("at least %d recordings expected, got %d"):format(least, #files), 0) end
  local train, test = { files = {}, labels = labels }, { files = {}, labels = labels }
  if o.test_list then test.files, test.labels = kbcd.recordings{ list = o.test_list } end
  for i, file in ipairs(files) do
    table.insert(not o.test_list and i % 10 == 0 and test.files or train.files, file)
  end
  local state, A = pipelines.fit("speech", train, { rate = o.rate, splice = 5, parts = 3, skip = o.skip })
  local B = pipelines.apply(state, test, { labels = true, classes = A.corpus.classes, skip = o.skip })
  return state, A.corpus, B.corpus
end

-- The shares of frames and, where a recording has one label, of recordings (by the sum of its frames' scores) that are
-- wrong.
local function errors(S, B)
  local frames = kbcd.labels.error_rate(S, B.X, B.y, { first = 1 })
  local text = ("frames %.2f%%"):format(100 * frames)
  if not B.utterance_labels then return text, frames end
  local best, wrong = kbcd.sum_by(B.utterances, S, #B.files):argmax(2), 0
  for i = 1, #B.files do if best(i, 1) ~= B.utterance_labels(i, 1) then wrong = wrong + 1 end end
  return ("%s, recordings %.2f%%"):format(text, 100 * wrong / #B.files), wrong / #B.files
end

kbcd.command("examples/speech", function()
  kbcd.output_file.check_command({ ["--list"] = o.list, ["--test-list"] = o.test_list }, { ["--model"] = o.model })
  local state, A, B = corpora()
  for title, corpus in ipairs{ A, B } do
    kbcd.say("%s %d frames of %d recordings, %d left out", title == 1 and "train:" or "test: ", corpus.X.n, #corpus.files,
      #corpus.skipped)
    for _, message in ipairs(corpus.skipped) do kbcd.say("  left out: %s", message) end
  end
  kbcd.say("%d numbers a frame, %d classes", A.X.d, #B.classes)

  local kernel, p = kbcd.kernel.rbf{ sigma = o.sigma }, math.min(o.p, A.X.n)
  local I = Index.sample(A.X.n, math.min(o.rows, A.X.n), { stream = 5 })
  local methods = {
    full_kernel = { "full kernel, " .. #I .. " frames", kbcd.full_kernel, { kernel = kernel, lambda = 1e-5 }, I },
    nystrom = { "Nyström, p = " .. p, kbcd.nystrom, { kernel = kernel, lambda = 1e-8, p = p } },
    random_features = { "random features, p = " .. p, kbcd.random_features,
      { map = kbcd.features.fourier{ kernel = kernel, p = p }, lambda = 1e-8 } },
  }
  for _, name in ipairs(o.methods) do
    local title, method, s, some = unpack(methods[name])
    s.lambda, s.epochs, s.jitter = o.lambda or s.lambda, o.epochs, true
    local X, y, model, wrong = some and A.X:subset(some) or A.X, some and A.y:subset(some) or A.y, nil, nil
    for step in kbcd.progress(method(X, kbcd.labels.one_vs_all(y, { classes = #B.classes, first = 1 }), s)) do
      model = step.model
      if step.epoch_end then
        local text
        text, wrong = errors(model[1]:predict(B.X), B)
        kbcd.say("%-28s epoch %d: %s wrong, after %.0f s", title, step.epoch, text, step.seconds)
      end
    end
    if o.model then
      model:save(o.model, { task = "classify", names = B.classes, method = name, pipeline = state,
        metrics = { test_error = { wrong } } })
      kbcd.say("%s: %s, test error %.2f%%", o.model, name, 100 * wrong)
    end
  end
end)
