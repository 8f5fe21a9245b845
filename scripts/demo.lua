-- kbcd demo: full kernel, Nyström and random features on Fashion-MNIST, side by side.

local kbcd = require "kbcd"
local labels = kbcd.labels

local folder = "/usr/share/datasets/fashion-mnist/"

local function number(text)
  local value = tonumber(text)
  if not value then return nil, "a number expected, got '" .. text .. "'" end
  return value
end

local parser = kbcd.arguments("demo", "Full kernel, Nyström and random features on Fashion-MNIST, side by side.")
parser:option("--methods", "Which: full, nystrom, rf, with commas between.", "full,nystrom,rf")
parser:option("--rows", "Rows to train on, at most 60000.", "20000", number)
parser:option("--features", "p of Nyström and random features.", "4096", number)
parser:option("--block", "Block size b.", "2048", number)
parser:option("--epochs", "Passes over the blocks.", "3", number)
parser:option("--sigma", "Width of the rbf kernel.", "5", number)
parser:option("--lambda", "Regulariser.", "1e-6", number)
parser:option("--data", "Folder of the four idx.gz files.", folder)
parser:flag("--timers", "Show where the time went.")
local o = parser:parse(arg)

local function load(name, options)
  return kbcd.load(o.data .. "/" .. name .. ".gz", options)
end
local X, y = load("train-images-idx3-ubyte", { rows = o.rows }), load("train-labels-idx1-ubyte", { rows = o.rows })
local Xtest, ytest = load("t10k-images-idx3-ubyte"), load("t10k-labels-idx1-ubyte")
local Y = labels.one_vs_all(y)

local rbf = kbcd.kernel.rbf{ sigma = o.sigma }
local p, b = math.min(o.features, o.rows), o.block
local methods = {
  full = { "full kernel", function()
    return kbcd.full_kernel(X, Y, { kernel = rbf, lambdas = o.lambda, b = math.min(b, X.n), epochs = o.epochs })
  end },
  nystrom = { ("Nyström, p = %d"):format(p), function()
    return kbcd.nystrom(X, Y, { kernel = rbf, lambdas = o.lambda, p = p, b = math.min(b, p), epochs = o.epochs,
      jitter = true })
  end },
  rf = { ("random features, p = %d"):format(p), function()
    local map = kbcd.features.fourier{ kernel = rbf, p = p }
    return kbcd.random_features(X, Y, { map = map, lambdas = o.lambda, b = math.min(b, p), epochs = o.epochs })
  end },
}

kbcd.say("Fashion-MNIST: %d of 60000 training rows, %d test rows, %s, lambda = %g, %d ranks of %d threads\n",
  X.n, Xtest.n, tostring(rbf), o.lambda, kbcd.size(), kbcd.threads())
local function pad(text) return text .. (" "):rep(26 - select(2, text:gsub("[^\128-\191]", ""))) end  -- by letters, not bytes

kbcd.say("%s %6s %12s %9s", pad("method"), "epoch", "test error", "seconds")
local last = {}
for name in o.methods:gmatch("[^,]+") do
  if not methods[name] then parser:error(("--methods: full, nystrom or rf expected, got '%s'"):format(name)) end
  local label, run = methods[name][1], methods[name][2]
  local final
  for step in kbcd.progress(run()) do
    if step.epoch_end then
      step.error = labels.error_rate(step.model[1], Xtest, ytest)
      kbcd.say("%s %6d %11.2f%% %9.1f", pad(label), step.epoch, 100 * step.error, step.seconds)
      final = { label = label, error = step.error, seconds = step.seconds }
    end
  end
  last[#last + 1] = final
end

table.sort(last, function(a, c) return a.error < c.error end)
local best = last[1]
local reading = ("\nFewest errors: %s, %.2f%% in %.1f s"):format(best.label, 100 * best.error, best.seconds)
for i = 2, #last do
  reading = reading .. ("; %s %.2f points more in %.1f s"):format(last[i].label, 100 * (last[i].error - best.error),
    last[i].seconds)
end
kbcd.say("%s.", reading)
if o.timers then kbcd.say(""); kbcd.timers.report() end
