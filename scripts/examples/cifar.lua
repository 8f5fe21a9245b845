-- Pictures, after the paper's CIFAR-10 experiment. Random patches of the pictures are normalised, whitened and used as
-- filters; the rectified responses, summed over regions, are the features of a linear model, the full rbf kernel, Nyström
-- and random cosines. README.md in this folder explains the options. The data is Fashion-MNIST unless given. --model saves
-- the model of one method with all that it takes to predict new pictures (kbcd predict --model m.h5 --x new.png …); the best
-- of several λ is the one with the least error on a tenth of the training pictures, held out.

local kbcd = require "kbcd"
local vision, types, pipelines, Index = kbcd.vision, kbcd.argument_types, kbcd.pipelines, kbcd.Index

local folder = "/usr/share/datasets/fashion-mnist/"
local parser = kbcd.arguments("examples/cifar", "Linear model, full kernel, Nyström and random cosines on patch features.")
parser:option("--train", "CIFAR-10 batches (.bin), an idx file, or a folder of PNG folders."):args("+")
parser:option("--test", "The same, to test with."):args("+")
parser:option("--methods", "Which, with commas between.", "linear,full_kernel,nystrom,cosines",
  types.some_of("linear", "full_kernel", "nystrom", "cosines"))
parser:mutex(
  parser:option("--rows", "Train and test on so many random pictures (10000 of the default set).", nil, types.count),
  parser:flag("--full", "Train and test on all pictures, also of the default set."))
parser:option("--filters", "How many random patches.", "512", types.count)
parser:option("--size", "Pixels on a side of a patch.", "6", types.count)
parser:option("--pool", "Regions: POOL x POOL.", "2", types.count)
parser:option("--crop", "Train on random crops of so many pixels, test on ten fixed ones.", nil, types.count)
parser:option("--views", "Crops of each picture to train on (1).", nil, types.count)
parser:flag("--mirror", "Train on mirror images too, and test on both (crops are mirrored anyway).")
parser:option("--p", "Nyström's centres, and random cosines.", "4096", types.count)
parser:option("--sigma", "Width of the kernel (half the median distance).", nil, types.positive)
parser:option("--lambda", "Regularisation: one or more with commas between.", "1e-5,1e-6,1e-7", types.positives)
parser:option("--epochs", "Of block coordinate descent.", "3", types.count)
parser:option("--model", "Save the model here; --methods must name one."):argname("FILE")
local o = parser:parse(arg)
if o.views and not o.crop then parser:error("--views: of crops; --crop says how large they are") end
if (o.train == nil) ~= (o.test == nil) then parser:error("--train and --test go together") end
if o.model and #o.methods > 1 then parser:error("--model: one method expected with it; --methods says which") end
local rows = o.rows or not o.full and not o.train and 10000 or math.huge

-- Pictures, or a sample of them, with their labels; the names of the classes, and how many there are in all the pictures.
local function load(paths, options)
  local images, y, classes = vision.load(#paths == 1 and paths[1] or paths, options)
  if not y then error(paths[1] .. ": pictures without labels", 0) end
  local count = 1 + kbcd.allreduce_max(y.local_n > 0 and y.rows:max() or 0)
  if images.n > rows then
    local I = Index.sample(images.n, rows, { stream = 80 })
    images, y = images:subset(I), y:subset(I)
  end
  return { images = images, y = y, y_names = classes }, count
end

local function fit(name, X, Y, kernel, lambda)
  local p = name == "linear" and X.d or name == "full_kernel" and X.n or math.min(o.p, X.n)
  local s = { lambda = lambda, epochs = o.epochs, b = math.min(name == "linear" and 4096 or 2048, p), jitter = true }
  local algorithm, last = kbcd.random_features, nil
  if name == "linear" then s.map = kbcd.features.columns{ p = p }  -- the data themselves
  elseif name == "cosines" then s.map = kbcd.features.fourier{ kernel = kernel, p = p }
  elseif name == "nystrom" then algorithm, s.kernel, s.p = kbcd.nystrom, kernel, p
  else algorithm, s.kernel, s.partition = kbcd.full_kernel, kernel, "fixed" end
  for step in kbcd.progress(algorithm(X, Y, s)) do last = step end
  return last.model, p, last.seconds
end

-- The error of each λ on the pictures of a set, whose rows X are standardised.
local function errors(model, X, views, y)
  local list = {}
  for l, S in ipairs(model:predict(X)) do
    list[l] = kbcd.labels.error_rate(vision.average(S, views), y, y, { first = 0 })
  end
  return list
end

-- The place of the best λ on a tenth of the training pictures, of a model of the others; and its error there.
local function choose(name, train, Y, kernel)
  if #o.lambda == 1 then return 1 end
  local order, held_out, views = Index.permutation(train.n, { seed = 1 }), math.ceil(train.n / 10), train.views
  local function views_of(I)
    local list = {}
    for i = 1, #I do for v = 1, views do list[#list + 1] = (I[i] - 1) * views + v end end
    return Index(list)
  end
  local held, rest = order:slice(1, held_out), views_of(order:slice(held_out + 1, train.n))
  local targets = kbcd.DataSet.local_part(train.X.n, Y):subset(rest).rows
  local model = fit(name, train.X:subset(rest), targets, kernel, o.lambda)
  local list = errors(model, train.X:subset(views_of(held)), views, train.y:subset(held))
  local best = kbcd.scoring.best(list)
  return best, list[best]
end

local function class_names(classes, count)
  local names = {}
  for i = 1, count do names[i] = classes and classes[i] or ("%d"):format(i - 1) end
  return names
end

kbcd.command("examples/cifar", function()
  kbcd.output_file.check_command({}, { ["--model"] = o.model })
  local pictures, count = load(o.train or { folder .. "train-images-idx3-ubyte.gz" })
  local test_pictures = load(o.test or { folder .. "t10k-images-idx3-ubyte.gz" }, { classes = pictures.y_names })
  if test_pictures.images.shape ~= pictures.images.shape then
    error(("%s: pictures of %s expected, as for training, got %s"):format(o.test[1], pictures.images.shape,
      test_pictures.images.shape), 0)
  end
  local state, train = pipelines.fit("pictures", pictures, { filters = o.filters, size = o.size, pool = o.pool, crop = o.crop,
    views = o.views, mirror = o.mirror })
  local test = pipelines.apply(state, test_pictures)
  local standard = kbcd.preprocess.fit("standardize", train.X)
  for _, set in ipairs{ train, test } do kbcd.preprocess.apply(standard, set.X) end
  local kernel = kbcd.kernel.rbf{ sigma = o.sigma or kbcd.median_distance(train.X) / 2 }
  local Y = kbcd.labels.one_vs_all(vision.repeat_rows(pictures.y, train.views), { classes = count, first = 0 })
  kbcd.say("%d pictures of %s to train on, %d to test; %d features; %s", train.X.n, train.shape, test.n, train.X.d,
    tostring(kernel))
  kbcd.say("%-10s %8s  test error with lambda = %s, and seconds", "method", "p", table.concat(o.lambda, ", "))
  for _, name in ipairs(o.methods) do
    local model, p, seconds = fit(name, train.X, Y, kernel, o.lambda)
    local list, texts = errors(model, test.X, test.views, test_pictures.y), {}
    for l, rate in ipairs(list) do texts[l] = ("%6.2f%%"):format(100 * rate) end
    kbcd.say("%-10s %8d  %s  %8.1f", name, p, table.concat(texts, "  "), seconds)
    if o.model then
      local best, held_out = choose(name, train, Y, kernel)
      model:save(o.model, { task = "classify", names = class_names(pictures.y_names, count), best = best, method = name,
        preprocess = standard, pipeline = state, metrics = { test_error = list } })
      kbcd.say("%s: %s, lambda = %g%s; test error %.2f%%", o.model, name, o.lambda[best],
        held_out and (", the best on pictures held out (%.2f%%)"):format(100 * held_out) or "", 100 * list[best])
    end
  end
end)
