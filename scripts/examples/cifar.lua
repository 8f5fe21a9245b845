-- Pictures, after the paper's CIFAR-10 experiment. Random patches of the pictures are normalised, whitened and used as
-- filters; the rectified responses, summed over regions, are the features of a linear model, the full rbf kernel, Nyström
-- and random cosines. README.md in this folder explains the options. The data is Fashion-MNIST unless given.

local kbcd = require "kbcd"
local vision, types = kbcd.vision, kbcd.argument_types

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
local o = parser:parse(arg)
if o.views and not o.crop then parser:error("--views: of crops; --crop says how large they are") end
if (o.train == nil) ~= (o.test == nil) then parser:error("--train and --test go together") end
local rows = o.rows or not o.full and not o.train and 10000 or math.huge

-- Pictures, or a sample of them, with their labels; the names of the classes, and how many there are in all the pictures.
local function load(paths, options)
  local images, y, classes = vision.load(#paths == 1 and paths[1] or paths, options)
  if not y then error(paths[1] .. ": pictures without labels", 0) end
  local count = 1 + kbcd.allreduce_max(y.local_n > 0 and y.rows:max() or 0)
  if images.n <= rows then return images, y, classes, count end
  local I = kbcd.Index.sample(images.n, rows, { stream = 80 })
  return images:subset(I), y:subset(I), classes, count
end

local function views(images, training)
  if o.crop and training then return vision.random_crops(images, { size = o.crop, views = o.views or 1 }) end
  if o.crop then return vision.fixed_crops(images, { size = o.crop }) end
  return o.mirror and vision.mirrored(images) or images
end

local function run(name, X, Y, test, kernel)
  local p = name == "linear" and X.d or name == "full_kernel" and X.n or math.min(o.p, X.n)
  local s = { lambda = o.lambda, epochs = o.epochs, b = math.min(name == "linear" and 4096 or 2048, p), jitter = true }
  local algorithm, last, errors = kbcd.random_features, nil, {}
  if name == "linear" then s.map = kbcd.features.columns{ p = p }  -- the data themselves
  elseif name == "cosines" then s.map = kbcd.features.fourier{ kernel = kernel, p = p }
  elseif name == "nystrom" then algorithm, s.kernel, s.p = kbcd.nystrom, kernel, p
  else algorithm, s.kernel, s.partition = kbcd.full_kernel, kernel, "fixed" end
  for step in kbcd.progress(algorithm(X, Y, s)) do last = step end
  for l, S in ipairs(last.model:predict(test.X)) do
    local rate = kbcd.labels.error_rate(vision.average(S, test.views), test.y, test.y, { first = 0 })
    errors[l] = ("%6.2f%%"):format(100 * rate)
  end
  kbcd.say("%-10s %8d  %s  %8.1f", name, p, table.concat(errors, "  "), last.seconds)
end

kbcd.command("examples/cifar", function()
  local pictures, y, classes, count = load(o.train or { folder .. "train-images-idx3-ubyte.gz" })
  local test_pictures, test_y = load(o.test or { folder .. "t10k-images-idx3-ubyte.gz" }, { classes = classes })
  if test_pictures.shape ~= pictures.shape then
    error(("%s: pictures of %s expected, as for training, got %s"):format(o.test[1], pictures.shape, test_pictures.shape), 0)
  end
  local train, tests = views(pictures, true), views(test_pictures, false)
  local convolution = kbcd.patch_filters(train, { count = o.filters, size = o.size })
  convolution.pool = o.pool
  local X, Xtest = vision.convolve(train, convolution), vision.convolve(tests, convolution)
  local standard = kbcd.preprocess.fit("standardize", X)
  kbcd.preprocess.apply(standard, X)
  kbcd.preprocess.apply(standard, Xtest)
  local kernel = kbcd.kernel.rbf{ sigma = o.sigma or kbcd.median_distance(X) / 2 }
  local Y = kbcd.labels.one_vs_all(vision.repeat_rows(y, train.views), { classes = count, first = 0 })
  kbcd.say("%d pictures of %s to train on, %d to test; %d features; %s", train.n, train.shape, test_pictures.n,
    X.d, tostring(kernel))
  kbcd.say("%-10s %8s  test error with lambda = %s, and seconds", "method", "p", table.concat(o.lambda, ", "))
  local test = { X = Xtest, y = test_y, views = tests.views }
  for _, name in ipairs(o.methods) do run(name, X, Y, test, kernel) end
end)
