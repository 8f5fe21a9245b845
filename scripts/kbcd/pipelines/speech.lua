-- Recordings as rows of log-mel energies, a row for each frame with those around it (kbcd.speech_corpus), normalised by the
-- mean and deviation of the training frames. Where a recording has one label, its result is the sum of its frames' scores;
-- where frames have labels, results are of frames.
--
-- fit(raw, settings): raw is a path as recordings{ path } takes it, or { files, labels }. settings: rate = 16000, splice = 5,
-- parts = 1 (of a phone), skip (recordings that cannot be used).

local kbcd = require "kbcd"
local options = require "kbcd.descent.options"
local speech, Matrix, DataSet = kbcd.speech, kbcd.Matrix, kbcd.DataSet

local pipeline = {
  expects = "recordings: a .wav file, a folder of them, or a list (.tsv, .txt) of lines sound or sound<TAB>label",
}

function pipeline.rows(s) return s.per == "recording" and "recordings" or "frames" end

pipeline.schema = {
  rate = { options.count }, length = { options.positive }, step = { options.positive },
  window = { options.one_of("hamming", "hann", "rectangular") }, preemphasis = { options.not_negative },
  center = { options.flag, false }, bands = { options.count }, low = { options.not_negative }, high = { options.positive },
  floor = { options.positive }, splice = { options.whole }, parts = { options.count },
  mean = { options.matrix }, deviation = { options.matrix }, per = { options.one_of("recording", "frame") },
}

-- The features of a file.
local function features(s)
  return function(file)
    local samples, rate = speech.read_sound(file, s.rate)
    local F = speech.frames(samples, rate, { length = s.length, step = s.step, window = s.window, preemphasis = s.preemphasis,
      center = s.center })
    return speech.log_mel(speech.power_spectrum(F), rate, { bands = s.bands, low = s.low, high = s.high, floor = s.floor })
  end
end

local function load(raw, s)
  if type(raw) == "table" then return raw end
  local files, labels = kbcd.recordings{ path = raw, parts = s.parts, length = s.length, step = s.step }
  return { files = files, labels = labels }
end

-- Labels that count from 0, as those of names do.
local function from_zero(y) return y and y:to("f64") + -1 or nil end

local function set_of(s, corpus)
  local set = { X = corpus.X, y_names = corpus.classes, n = corpus.X.n, corpus = corpus }
  if s.per == "frame" then
    if corpus.y then set.y = DataSet.local_part(corpus.y.n, from_zero(corpus.y.rows)) end
    return set
  end
  set.n = #corpus.files
  if corpus.utterance_labels then set.y = DataSet(from_zero(corpus.utterance_labels)) end
  function set.result(S) return DataSet(kbcd.sum_by(corpus.utterances, S, #corpus.files)).rows end
  return set
end

function pipeline.fit(raw, given)
  local rate = given.rate or 16000
  local s = { rate = rate, length = 0.025, step = 0.010, window = "hamming", preemphasis = 0.97, center = true, bands = 40,
    low = 20, high = rate / 2, floor = 1e-10, splice = given.splice or 5, parts = given.parts or 1 }
  local input = load(raw, s)
  if not input.labels then error("recordings with labels expected, to train on", 0) end
  local corpus = kbcd.speech_corpus(input.files, { features = features(s), labels = input.labels, normalize = "global",
    splice = s.splice, skip = given.skip })
  s.mean, s.deviation = corpus.statistics.mean, corpus.statistics.deviation
  s.per = corpus.utterance_labels and "recording" or "frame"
  return s, set_of(s, corpus)
end

function pipeline.apply(s, raw, how)
  local input = load(raw, s)
  local corpus = kbcd.speech_corpus(input.files, { features = features(s), labels = how.labels and input.labels or nil,
    normalize = { mean = s.mean, deviation = s.deviation }, splice = s.splice, classes = how.classes, skip = how.skip })
  if corpus.classes and s.per == "recording" and not corpus.utterance_labels then
    error("a label for each recording expected, as for training, got labels of frames", 0)
  end
  return set_of(s, corpus)
end

function pipeline.columns(s)
  for _, name in ipairs{ "mean", "deviation" } do
    if s[name].nrows ~= 1 or s[name].ncols ~= s.bands then error(("%s: 1 x %d numbers expected"):format(name, s.bands), 0) end
  end
  if s.deviation:min() <= 0 then error("deviation: numbers > 0 expected", 0) end
  if s.rate > 1e6 or s.length > 10 or s.bands > 1e4 or s.splice > 1e3 then
    error("rate, length, bands or splice: too large", 0)
  end
  if s.high > s.rate / 2 or s.low >= s.high then error("low < high <= rate / 2 expected", 0) end
  speech.log_mel(speech.power_spectrum(speech.frames(Matrix.zeros(math.ceil(s.rate * s.length), 1), s.rate,
    { length = s.length, step = s.step })), s.rate, { bands = s.bands, low = s.low, high = s.high })  -- fails where it cannot
  return s.bands * (2 * s.splice + 1)
end

function pipeline.describe(s)
  return ("speech: %d samples a second, %d log-mel bands of frames of %g ms every %g ms, with %d to either side; %s"):format(
    s.rate, s.bands, 1000 * s.length, 1000 * s.step, s.splice,
    s.per == "recording" and "a result for each recording, the sum over its frames" or "a result for each frame")
end

return pipeline
