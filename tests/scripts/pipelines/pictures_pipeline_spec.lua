-- ranks: 1
-- Models of pictures: examples/cifar --model, then predict and evaluate on idx files, folders of PNG and single ones, on 1
-- and 3 ranks, against what the example reported; and what is refused.

local kbcd = require "kbcd"
local spec = require "spec"
local shell = require "shell"
local png = require "png"
local has, succeeds, refuses, test, equal = shell.has, shell.succeeds, shell.refuses, shell.test, spec.equal

local function path_of(name) return shell.tmp .. "/" .. name end

local side = 12

-- Stripes, lying or standing, or none, under noise: classes 0, 1 and 2.
local function pictures(n, seed)
  local noise, list, labels = kbcd.Matrix.rand(n, side * side, { seed = seed }), {}, {}
  for i = 1, n do
    local class, pixels = i % 3, {}
    for y = 0, side - 1 do
      for x = 0, side - 1 do
        local stripe = class == 0 and y % 3 == i % 2 or class == 1 and x % 3 == i % 2
        pixels[#pixels + 1] = math.floor((stripe and 90 or 0) + 165 * noise(i, #pixels + 1))
      end
    end
    list[i], labels[i] = pixels, class
  end
  return list, labels
end

local function size(x) return "\0\0\0" .. string.char(x) end

local function write_idx(name, list, labels, height)
  local bytes = {}
  for i, pixels in ipairs(list) do bytes[i] = string.char(unpack(pixels)) end
  shell.write(name .. "-images-idx3-ubyte", "\0\0\8\3" .. size(#list) .. size(height or side) ..
    size(#list[1] / (height or side)) .. table.concat(bytes))
  shell.write(name .. "-labels-idx1-ubyte", "\0\0\8\1" .. size(#list) .. string.char(unpack(labels)))
end

local train, train_labels = pictures(90, 1)
local tests, test_labels = pictures(36, 2)
write_idx("train", train, train_labels)
write_idx("test", tests, test_labels)

local function said_error(said, model) return tonumber(said:match(model .. ": .*; test error ([%d.]+)%%")) end

local function evaluates_to(model, x, expected)
  for _, ranks in ipairs{ 1, 3 } do
    local report = succeeds(("mpi %d evaluate --model %s --x %s"):format(ranks, model, x)).out
    equal(tonumber(report:match("top%-1 error ([%d.]+)%%")), expected, report)
  end
end

local function predicted(model, x, more)
  local outputs = {}
  for i, ranks in ipairs{ 1, 3 } do
    outputs[i] = succeeds(("mpi %d predict --model %s --x %s --out - %s"):format(ranks, model, x, more or "")).out
  end
  if not more then equal(outputs[2], outputs[1], "ranks") end
  return outputs[1]
end

local common = "kbcd examples/cifar --train train-images-idx3-ubyte --test test-images-idx3-ubyte --filters 8 --size 3 " ..
  "--p 60 "

test("an idx file: evaluate gives the error of the example, predict its classes", function()
  local said = succeeds(common .. "--methods nystrom --lambda 1e-2,1e-4 --mirror --model m.h5").out
  has(said, "m.h5: nystrom, lambda = ", "the best on pictures held out")
  local wrong = said_error(said, "m.h5")
  assert(wrong < 40, said)  -- a guess has 67
  evaluates_to("m.h5", "test-images-idx3-ubyte", wrong)
  local count, i = 0, 0
  for class in predicted("m.h5", "test-images-idx3-ubyte"):gmatch("[^\n]+") do
    i = i + 1
    if tonumber(class) ~= test_labels[i] then count = count + 1 end
  end
  equal(i, #tests)
  spec.close(100 * count / i, wrong, 0.01)
  has(succeeds("kbcd inspect m.h5").out, "pictures: of 12x12x1, and mirrored, 8 filters of 3x3 pixels", "standardize")
end)

test("the stored filters make the rows that the library makes", function()
  local model = kbcd.model_file.load(path_of("m.h5"))
  local s = model.pipeline
  local images = kbcd.vision.mirrored((kbcd.vision.load(path_of("test-images-idx3-ubyte"))))
  local X = kbcd.vision.convolve(images, { filters = s.filters, offsets = s.offsets, normalize = 10, pool = 2 })
  local S = kbcd.vision.average(model[model.best]:predict(X), 2)
  predicted("m.h5", "test-images-idx3-ubyte", "--scores >scores.csv")
  spec.close(kbcd.load(path_of("scores.csv"), { header = true }).rows, S, 1e-4)
end)

test("folders of PNG, with classes and without, and single files", function()
  succeeds("mkdir -p new; for s in train test; do mkdir -p pngs/$s/lying pngs/$s/standing pngs/$s/none; done")
  local names = { [0] = "lying", "standing", "none" }
  local function write(folder, list, labels)
    for i, pixels in ipairs(list) do
      shell.write(("%s/%s/%03d.png"):format(folder, names[labels[i]], i), png(pixels, side, side))
    end
  end
  write("pngs/train", train, train_labels)
  write("pngs/test", tests, test_labels)
  local said = succeeds("kbcd examples/cifar --train pngs/train --test pngs/test --filters 8 --size 3 --methods linear " ..
    "--lambda 1e-2 --crop 10 --views 2 --model p.h5").out
  local wrong = said_error(said, "p.h5")
  assert(wrong < 50, said)
  evaluates_to("p.h5", "pngs/test", wrong)
  local all = predicted("p.h5", "pngs/test")
  for i = 1, 3 do shell.write(("new/%d.png"):format(i), png(tests[3 * i], side, side)) end
  local classes = predicted("p.h5", "new")
  equal(shell.count(classes, "\n"), 3)
  has(all, classes:match("[^\n]+"))
  local first = succeeds("kbcd predict --model p.h5 --x new/2.png --out -").out
  equal(first, classes:match("\n([^\n]+\n)"))
  refuses("kbcd evaluate --model p.h5 --x new", "new: no labels in it", "--y")
  evaluates_to("m.h5 --y test-labels-idx1-ubyte", "test-images-idx3-ubyte",
    tonumber(succeeds("kbcd evaluate --model m.h5 --x test-images-idx3-ubyte").out:match("top%-1 error ([%d.]+)")))
end)

test("what a model of pictures refuses", function()
  local expected = { "m.h5 is a model of pictures: of 12x12x1", "it expects pictures: an idx file" }
  shell.write("rows.csv", "1,2\n3,4\n")
  refuses("kbcd predict --model m.h5 --x rows.csv --out p.csv", "rows.csv: pictures expected", unpack(expected))
  refuses("mpi 3 predict --model m.h5 --x nowhere --out p.csv", "nowhere", unpack(expected))
  local half = {}
  for i, pixels in ipairs(tests) do half[i] = { unpack(pixels, 1, side * side / 2) } end
  write_idx("half", half, test_labels, side / 2)
  refuses("mpi 3 predict --model m.h5 --x half-images-idx3-ubyte --out p.csv", "pictures of 12x12x1 expected", "got 6x12x1",
    unpack(expected))
  shell.write("small.png", png({ 1, 2, 3, 4 }, 2, 2))
  refuses("kbcd predict --model p.h5 --x small.png --out p.csv", "got 2x2x1", "p.h5 is a model of pictures")
  shell.write("broken.png", "this is no PNG")
  refuses("kbcd predict --model m.h5 --x broken.png --out p.csv", "broken.png: no PNG file", unpack(expected))
  refuses("kbcd predict --model m.h5 --x - --out p.csv", "--x -: a file expected", unpack(expected))
  refuses("kbcd predict --model m.h5 --x small.png --text a --out p.csv", "--text is for models of texts")
  succeeds("mkdir -p odd/striped; cp new/1.png odd/striped")
  refuses("kbcd evaluate --model p.h5 --x odd", "the class 'striped' is none of the model's")
  refuses(common .. "--model x.h5", "--model: one method expected")
end)

shell.finish()
