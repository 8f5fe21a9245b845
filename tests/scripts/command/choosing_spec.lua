-- ranks: 1
-- What train, tune and compare choose by themselves: the method, λ by held-out rows and never by test rows, and when to stop.

local kbcd = require "kbcd"
local shell = require "shell"
local cjson = require "cjson"
local spec = require "spec"
local equal = spec.equal
local has, succeeds, test = shell.has, shell.succeeds, shell.test
require "three_classes"  -- writes X.npy, y.npy, t.npy (200 rows), and Xt.npy, yt.npy, tt.npy (40)

local function saved(name) return kbcd.model_file.load(shell.tmp .. "/" .. name) end

local function log(name)
  local run, blocks, result
  for line in io.lines(shell.tmp .. "/" .. name) do
    local entry = cjson.decode(line)
    if entry.type == "run" then run, blocks = entry, {} end
    if entry.type == "block" then blocks[#blocks + 1] = entry end
    if entry.type == "end" then result = entry end
  end
  return run, blocks, result
end

test("test rows choose nothing: other test targets, the same choices and the same model", function()
  local train = "kbcd --threads 1 train --x X.npy --y t.npy --test-x Xt.npy --sigma 0.5 --precision f64 --b 40 " ..
    "--lambda 1,1e-2,1e-4,1e-8 "
  -- Targets of noise, of which the smoothest model has the least test error.
  local noise = {}
  for i = 1, 40 do noise[i] = ("%.17g,%.17g\n"):format(10 * math.sin(1e4 * i), 10 * math.cos(1e4 * i)) end
  shell.write("noise.csv", table.concat(noise))
  local one = succeeds(train .. "--test-y tt.npy --model one.h5").out
  local two = succeeds(train .. "--test-y noise.csv --model two.h5").out
  has(one, "180 rows of 2 numbers", "20 rows held out to choose by, 40 rows to test, which choose nothing")
  local a, b = saved("one.h5"), saved("two.h5")
  equal(a.best, b.best, "lambda")
  equal(a.options.epochs, b.options.epochs, "epochs")
  equal((a.coefficients - b.coefficients):abs():max(), 0, "coefficients")
  equal(a.best, kbcd.scoring.best(a.metrics.held_out_error), "the least held-out error")
  assert(kbcd.scoring.best(b.metrics.test_error) ~= b.best, "here the test rows would have chosen another lambda")
  local printed = tonumber(two:match("held%-out error %S+ test error (%S+)"))
  spec.close(printed, b.metrics.test_error[b.best], 1e-4, "the test error of the lambda that was chosen")
end)

test("--follow: the epochs follow a sample of the test rows, the model and the last line have the error of all", function()
  local train = "mpi 2 train --x X.npy --y t.npy --test-x Xt.npy --test-y tt.npy --sigma 2 --lambda 1e-3,1e-5 --epochs 2 " ..
    "--method nystrom --p 30 --b 15 "
  for _, hold_out in ipairs{ "--hold-out 0", "--hold-out 0.1" } do
    local all = succeeds(train .. hold_out .. " --model all.h5").out
    local some = succeeds(train .. hold_out .. " --follow 9 --log some.jsonl --model some.h5").out
    has(some, "the test error of epochs is that of 9 of the 40 rows to test")
    local a, b = saved("all.h5").metrics.test_error, saved("some.h5").metrics.test_error
    equal(#a, #b, "errors")
    for l = 1, #a do spec.close(b[l], a[l], 1e-9, "the error of all test rows") end
    equal(some:match("test error (%d%S*)"), all:match("test error (%d%S*)"), "the last line")
    assert(some:match("epoch 2/2.-test (%S+)") ~= all:match("epoch 2/2.-test (%S+)"), "an error of a sample")
    local run, blocks = log("some.jsonl")
    equal(run.followed, 9, "followed rows in the log")
    assert(math.abs(blocks[#blocks].test_error[1] - a[1]) > 1e-6, "an error of a sample in the log")
  end
end)

test("nothing is held out where there is nothing to choose; --hold-out 0 leaves rows out one by one", function()
  local train = "kbcd train --x X.npy --y t.npy --test-x Xt.npy --test-y tt.npy --sigma 2 --model n.h5 "
  has(succeeds(train .. "--lambda 1e-3 --epochs 2").out, "200 rows of 2 numbers, 2 targets; 40 rows to test\n",
    "training error", "test error")
  has(succeeds(train .. "--lambda 1e-3 --epochs 4 --patience 2").out, "20 rows held out to choose by")
  has(succeeds(train .. "--lambda 1,1e-3 --epochs 2 --hold-out 0").out, "200 rows", "leave-one-out error of the solution",
    "best lambda = 0.001, leave-one-out error", "test error")
  has(succeeds(train .. "--lambda 1e-3 --epochs 2 --hold-out 0.25").out, "50 rows held out to choose by")
end)

test("tune chooses by held-out rows, and says the test error of its choice", function()
  local tune = "kbcd tune --x X.npy --y t.npy --test-x Xt.npy --sigma 0.3,2 --lambda 1e-1,1e-4 --epochs 3 --precision f64 "
  local one = succeeds(tune .. "--test-y tt.npy").out
  local two = succeeds(tune .. "--test-y noise.csv").out
  has(one, "held-out error", "test error of this choice, which was made without the test rows")
  equal(one:match("best: [^\n]+"), two:match("best: [^\n]+"), "the choice")
end)

test("a run ends when the error has settled, and says so; or that it had not", function()
  local train = "kbcd --threads 1 train --x X.npy --y y.npy --sigma 2 --b 20 --model s.h5 --log s.jsonl "
  local out = succeeds(train).out
  has(out, "at most 20 epochs, patience = 3", "the held-out error has settled: it ends after")
  local run, blocks, result = log("s.jsonl")
  equal(run.patience, 3)
  equal(run.residual_of, "equations")
  local taken = tonumber(out:match("it ends after (%d+) epochs"))
  equal(blocks[#blocks].epoch, taken)
  assert(taken < 20, "before the last epoch")
  equal(result.best, kbcd.scoring.best(result.held_out_error))
  equal(saved("s.h5").options.epochs, taken)
  assert(not succeeds(train .. "--epochs 9 --lambda 1e-3").out:find("settled", 1, true), "epochs that were given are done")
  equal(saved("s.h5").options.epochs, 9)
  -- Steps that are far too short: the error is still falling at the end.
  shell.write("short.lua", [[
local kbcd = require "kbcd"
return kbcd.algorithm("short", { "short steps: of gradient descent", kernel = "kernel", b = false, epochs = 6 },
function(X, Y, o, run)
  local model = run.kernel_model(o.kernel)
  local E, K = run.distributed("E", o.lambda:each(Y)), model:matrix()
  return {
    residual = E, fitted = function(A) return o.lambda:each(Y) - A end,
    iterate = function()
      local step = E * (0.1 / X.n)
      model.coefficients:add(step)
      E:sub(K * step)
    end,
  }
end)]])
  local short = "kbcd train --x X.npy --y t.npy --method ./short.lua --sigma 2 --lambda 1e-3 --model f.h5 "
  has(succeeds(short).out, "epoch 6/6", "the held-out error was still falling at the end: give more --epochs")
  has(succeeds(short .. "--hold-out 0").out, "the residual was still falling at the end: give more --epochs")
end)

test("the method is chosen by what fits in memory, and the line says why", function()
  local train = "train --x X.npy --y y.npy --sigma 2 --lambda 1e-3 --epochs 1 --model c.h5 "
  has(succeeds("kbcd " .. train).out, "chosen: method full_kernel (180 rows: the kernel of all rows fits in memory)")
  has(succeeds("mpi 2 " .. train .. "--p 50").out, "chosen: method falkon")
  has(succeeds("kbcd " .. train .. "--p 50 --b 20").out, "chosen: method nystrom")
  has(succeeds("kbcd " .. train .. "--d 20").out, "chosen: method landmarks")
  local list, reasons = kbcd.methods.advised(kbcd.DataSet(kbcd.Matrix.zeros(10, 2)))
  equal(list[1].name, "full_kernel")
  equal(#reasons, #list)
  -- Cases that are too large to be made here.
  local function first(case)
    local best, most = nil, -1
    for _, algorithm in ipairs(list) do
      local number, reason = algorithm.suits(case)
      assert(type(reason) == "string", "a reason")
      if number > most then best, most = algorithm.name, number end
    end
    return best
  end
  local function case(n, d, memory)
    return { n = n, d = d, sparse = false, memory = memory, fits = function(values) return 4 * values < 0.8 * memory end,
      seconds = function(values) return 2 * values * d / 1e11 end }
  end
  equal(first(case(6e4, 784, 16e9)), "full_kernel")
  equal(first(case(6e4, 784, 1e9)), "landmarks", "the kernel does not fit")
  equal(first(case(1e6, 784, 64e9)), "falkon", "n x p fits")
  equal(first(case(1e7, 100, 16e9)), "nystrom", "neither fits")
  equal(first(case(2e5, 1e5, 1e12)), "falkon", "it fits, and takes hours to compute")
end)

test("one block is solved exactly, and the residual says so", function()
  succeeds("kbcd train --x X.npy --y t.npy --sigma 2 --lambda 1e-3 --precision f64 --model o.h5 --log o.jsonl --hold-out 0")
  local _, blocks = log("o.jsonl")
  equal(#blocks, 1)
  assert(blocks[1].residual[1] < 1e-10, "residual " .. blocks[1].residual[1])
end)

test("growing: one run of compare for all p, and the error against p", function()
  if os.execute("gnuplot --version >/dev/null 2>&1") ~= 0 then return print("skipped: gnuplot-nox is not installed") end
  succeeds("mpi 3 compare --x X.npy --y t.npy --test-x Xt.npy --test-y tt.npy --methods growing,pcg,nystrom " ..
    "--p 10,40,500 --sigma 2 --lambda 1e-3 --epochs 3 --precision f64 --b 40 -o grow")
  local run, blocks = log("grow/growing.jsonl")
  equal(run.p, 40)
  equal(blocks[1].p .. " " .. blocks[2].p, "10 40")
  for i, p in ipairs{ 10, 40 } do
    local _, other = log(("grow/nystrom-%d.jsonl"):format(p))
    if p == 40 then spec.close(blocks[i].test_error[1], other[1].test_error[1], 1e-7, "the error of one exact block") end
  end
  local page = shell.read(shell.tmp .. "/grow/report.html")
  has(page, "Residual against time", "Training misfit against time", "Error against the number of features")
  local train = "kbcd train --x X.npy --y t.npy --method growing --sigma 2 --lambda 1e-3 --model g.h5 "
  has(succeeds(train .. "--sizes 10,20,60").out, "epoch 1/3  p = 10", "epoch 3/3  p = 60")
  shell.refuses(train .. "--sizes 20,10", "sizes", "small to large")
end)

shell.finish()
