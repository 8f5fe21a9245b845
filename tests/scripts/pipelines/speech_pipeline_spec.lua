-- ranks: 1
-- Models of recordings: examples/speech --model, then predict and evaluate on sounds, folders and lists of them, on 1 and 3
-- ranks, against what the example reported; and what is refused.

local kbcd = require "kbcd"
local spec = require "spec"
local shell = require "shell"
local wav = require "wav"
local has, succeeds, refuses, test, equal = shell.has, shell.succeeds, shell.refuses, shell.test, spec.equal

local function path_of(name) return shell.tmp .. "/" .. name end

local function tone(count, pitch, seed)
  local x, noise = {}, kbcd.Matrix.randn(1, count, { seed = seed })
  for s = 1, count do x[s] = math.floor(3000 * math.sin(pitch * s) + 4000 * noise(1, s) + 0.5) end
  return x
end

-- Recordings of 8 kHz, high or low tones under noise, and a list of them.
local function write_list(name, n, seed)
  local lines, labels = {}, {}
  for i = 1, n do
    labels[i] = i % 2 == 0 and "high" or "low"
    local file = ("%s/%02d.wav"):format(name, i)
    shell.write(file, wav(tone(1000 + 40 * i, (i % 2 == 0 and 0.5 or 0.42) + 0.002 * (i % 7), seed + i), 8000))
    lines[i] = path_of(file) .. "\t" .. labels[i]
  end
  shell.write(name .. ".tsv", table.concat(lines, "\n") .. "\n")
  return labels
end

succeeds("mkdir train test voice voice/wav voice/lab")
write_list("train", 16, 100)
local labels = write_list("test", 9, 200)

local function predicted(model, x)
  local outputs = {}
  for i, ranks in ipairs{ 1, 3 } do
    outputs[i] = succeeds(("mpi %d predict --model %s --x %s --out -"):format(ranks, model, x)).out
  end
  equal(outputs[2], outputs[1], "ranks")
  return outputs[1]
end

test("one label for each recording", function()
  local said = succeeds("kbcd examples/speech --list train.tsv --test-list test.tsv --rate 8000 --p 30 --methods nystrom " ..
    "--lambda 1e-3 --model m.h5").out
  has(said, "of 16 recordings", "of 9 recordings")
  local wrong = tonumber(said:match("m.h5: nystrom, test error ([%d.]+)%%"))
  equal(tonumber(said:match("epoch 2: frames [%d.]+%%, recordings ([%d.]+)%% wrong")), wrong, said)
  assert(wrong < 40, said)
  for _, ranks in ipairs{ 1, 3 } do
    local report = succeeds(("mpi %d evaluate --model m.h5 --x test.tsv"):format(ranks)).out
    equal(tonumber(report:match("top%-1 error ([%d.]+)%%")), wrong, report)
    has(report, "9 rows")
  end
  local names, mistakes = predicted("m.h5", "test"), 0
  equal(shell.count(names, "\n"), 9)
  local i = 0
  for name in names:gmatch("[^\n]+") do
    i = i + 1
    if name ~= labels[i] then mistakes = mistakes + 1 end
  end
  spec.close(100 * mistakes / 9, wrong, 0.01)
  equal(predicted("m.h5", "test.tsv"), names)
  shell.write("plain.txt", (shell.read(path_of("test.tsv")):gsub("\t%w+", "")))
  equal(predicted("m.h5", "plain.txt"), names)
  equal(predicted("m.h5", "test/02.wav"), names:match("\n([^\n]+\n)"))
  has(succeeds("kbcd inspect m.h5").out, "speech: 8000 samples a second, 40 log-mel bands", "the sum over its frames")
end)

test("the stored statistics make the scores that the library makes", function()
  local model = kbcd.model_file.load(path_of("m.h5"))
  local s, speech = model.pipeline, kbcd.speech
  local files = speech.files(path_of("test"), ".wav")
  local expected = kbcd.Matrix.zeros(#files, 2)
  for i, file in ipairs(files) do
    local samples, rate = speech.read_sound(file)
    local M = speech.log_mel(speech.power_spectrum(speech.frames(samples, rate)), rate)
    M:sub(s.mean):cdiv(s.deviation)
    expected:rows(i, i):copy(model[1]:predict(kbcd.DataSet(speech.splice(M, 5))):sum(1))
  end
  succeeds("mpi 3 predict --model m.h5 --x test --scores --out scores.csv")
  spec.close(kbcd.load(path_of("scores.csv"), { header = true }).rows, expected, 1e-3)
end)

test("labels of frames", function()
  for i = 1, 12 do  -- a low tone, then a high one
    local x = tone(1600, 0.42, i)
    for s, value in ipairs(tone(1600, 0.5, 50 + i)) do x[1600 + s] = value end
    shell.write(("voice/wav/%02d.wav"):format(i), wav(x, 8000))
    shell.write(("voice/lab/%02d.lab"):format(i), "#\n0.2 125 low\n0.4 125 high\n")
  end
  local said = succeeds("kbcd examples/speech --folder voice --rate 8000 --p 50 --methods random_features --lambda 1e-3 " ..
    "--model f.h5").out
  local wrong = tonumber(said:match("f.h5: random_features, test error ([%d.]+)%%"))
  assert(wrong < 80, said)
  succeeds("mkdir -p one/wav one/lab; cp voice/wav/10.wav one/wav; cp voice/lab/10.lab one/lab")
  for _, ranks in ipairs{ 1, 3 } do
    local report = succeeds(("mpi %d evaluate --model f.h5 --x one"):format(ranks))
    equal(tonumber(report.out:match("top%-1 error ([%d.]+)%%")), wrong, report.out)
    has(report.err, "a row for each of 38 frames of 1 recordings")
  end
  equal(shell.count(predicted("f.h5", "one/wav/10.wav"), "\n"), 38)
  refuses("kbcd evaluate --model m.h5 --x one", "a label for each recording expected", "m.h5 is a model of speech")
end)

test("what a model of recordings refuses", function()
  local expected = { "m.h5 is a model of speech: 8000 samples a second", "it expects recordings: a .wav file" }
  shell.write("fast.wav", wav(tone(2000, 0.3, 1), 16000))
  refuses("mpi 3 predict --model m.h5 --x fast.wav --out p.csv", "fast.wav: 8000 samples a second expected, got 16000",
    unpack(expected))
  shell.write("rows.csv", "1,2\n3,4\n")
  refuses("kbcd predict --model m.h5 --x rows.csv --out p.csv", "rows.csv: no sound file", unpack(expected))
  refuses("kbcd predict --model m.h5 --x nowhere.wav --out p.csv", "nowhere.wav: there is no such file", unpack(expected))
  shell.write("mixed.tsv", "a.wav\thigh\nb.wav\n")
  refuses("kbcd predict --model m.h5 --x mixed.tsv --out p.csv", "mixed.tsv: line 2", unpack(expected))
  refuses("kbcd evaluate --model m.h5 --x test", "test: no labels in it")
  refuses("kbcd predict --model m.h5 --x - --out p.csv", "--x -: a file expected", unpack(expected))
  refuses("kbcd examples/speech --test-list test.tsv", "--test-list goes with --list")
  refuses("kbcd examples/speech --list train.tsv --model x.h5", "--model: one method expected")
end)

shell.finish()
