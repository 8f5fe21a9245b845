-- ranks: 1
-- alone
-- bench: its formulas by hand, its rounds with a clock that is made up, and the whole command at tiny sizes. No speeds.

local cjson = require "cjson"
local kbcd = require "kbcd"
local shell, spec = require "shell", require "spec"
local flops, measure = require "kbcd.bench.flops", require "kbcd.bench.measure"
local test, equal, has, succeeds, refuses = shell.test, spec.equal, shell.has, shell.succeeds, shell.refuses

test("flop of small cases, by hand", function()
  equal(flops.product(2, 3, 4), 48)
  equal(flops.gram(3, 2), 12)
  equal(flops.block(3, 2, 5), 60)
  equal(flops.block_times(3, 2, 4, 1), 60)
  equal(flops.full_epoch(3, 2, 1), 54)
  equal(flops.rf_epoch(3, 5, 2, 4, 1), 210)
  equal(flops.nystrom_epoch(3, 5, 2, 4, 1), 240)
  equal(flops.convolution(2, 4, 5, 3, 2, 10), 2 * 2 * 12 * 12 * 10)
end)

test("the exponent of a cost", function()
  spec.close(measure.exponent({ 10, 20, 40 }, { 3 * 10 ^ 1.7, 3 * 20 ^ 1.7, 3 * 40 ^ 1.7 }), 1.7, 1e-12)
  local e = math.exp
  spec.close(measure.exponent({ e(1), e(2), e(3) }, { e(0), e(1), e(5) }), 2.5, 1e-12, "least squares")
end)

test("the median", function()
  equal(measure.median({ { x = 3 }, { x = 1 }, { x = 2 } }, "x").x, 2)
  equal(measure.median({ { x = 4 }, { x = 1 }, { x = 2 }, { x = 3 } }, "x").x, 2)
  equal(measure.median({ { x = 4 } }, "x").x, 4)
end)

test("rounds interleave the items with the peak beside each", function()
  local order, peaks, takes, at = {}, { 5, 10, 30, 20, 10, 10, 40 }, { 2, 4, 1 }, 0
  local function peak()
    order[#order + 1], at = "p", at + 1
    return peaks[at]
  end
  local turn = 0
  local first = { flop = 80e9, warm = false, run = function()
    order[#order + 1], turn = "a", turn + 1
    return { seconds = takes[turn] }
  end }
  local rounds = measure.rounds({ first, { run = function() order[#order + 1] = "b" end } }, 2, peak)
  equal(table.concat(order), "pbpapbppapbp", "a warm-up of what wants one, then the rounds")
  equal(rounds[1][1].peak, 20, "the mean of before and after")
  equal(rounds[1][1].rate, 40)
  equal(rounds[1][1].ratio, 2)
  equal(rounds[1][2].peak, 10)
  equal(rounds[1][2].ratio, 2)
  equal(rounds[2][1].ratio, nil, "no flop, no ratio")
  assert(rounds[2][1].seconds > 0)
end)

test("a figure is compared with its bar", function()
  local results, said = require("kbcd.bench.results")(), {}
  local say = kbcd.say
  kbcd.say = function(format, ...) said[#said + 1] = format:format(...) end
  for i, value in ipairs{ 0.79, 0.8, 0.81 } do
    results.add{ group = "g", name = "at least", value = value, unit = "u", bar = 0.8 }
    results.add{ group = "g", name = "at most", value = value, unit = "u", bar = 0.8, at_most = true }
    equal(results.list[2 * i - 1].ok, i > 1)
    equal(results.list[2 * i].ok, i < 3)
  end
  results.add{ group = "g", name = "not reached", unit = "u", bar = 2 }
  kbcd.say = say
  equal(results.list[7].ok, false)
  has(said[1], "at least", "0.79", ">= 0.8", "below")
  has(said[6], "at most", "0.81", "<= 0.8", "above")
  has(said[3], ">= 0.8", "ok")
end)

-- Runs the command and reads its JSON: the list of results, by name, and the printed table.
local function bench(command)
  local out = succeeds(command .. " --quick --json out.json").out
  local written = cjson.decode(shell.read(shell.tmp .. "/out.json"))
  local groups = {}
  for _, entry in ipairs(written.results) do
    local group = groups[entry.group] or {}
    groups[entry.group] = group
    group[#group + 1] = entry
    group[entry.name] = entry
    has(out, entry.name)
    assert(math.abs(entry.value) < math.huge, entry.name)
    if entry.rate then
      spec.close(entry.rate, entry.flop / entry.seconds / 1e9, 1e-9, entry.name .. ", rate")
      spec.close(entry.value, entry.rate / entry.peak, 1e-9, entry.name .. ", ratio")
    end
    if entry.bar then
      local above = entry.value >= entry.bar
      equal(entry.ok, entry.at_most and entry.value <= entry.bar or not entry.at_most and above, entry.name)
    end
  end
  return groups, written.about, out
end

-- What every run measures, on any number of ranks.
local function complete(groups, about, ranks)
  equal(#groups.start, 3, "an empty script, a small table with flags and without")
  equal(#groups.peaks, 5, "sgemm, dgemm, dsyrk, ssyrk; memory")
  equal(#groups.kept, 10, "two products with 10 and 40 columns, in f16; four of the triangle")
  equal(#groups.blocks, 2 * 2 * 3 + 2 + 2, "two sorts, three shapes, with and without products; bytes; text")
  equal(#groups.gram, 4)
  equal(#groups.lambdas, 3)
  equal(#groups.solvers, 5, "regrouped blocks twice, two lambdas, an iteration")
  equal(#groups.timit, 1)
  equal(groups.plugin["Nyström as a user's file"].bar, 1.03)
  local saved = groups.checkpoint["full kernel, one every 60 s"]
  spec.close(saved.value, 100 * saved.seconds / 60, 1e-9, "a checkpoint's share of a minute")
  assert(saved.bar == 2 and saved.at_most and saved.seconds > 0)
  equal(shell.run("ls bench.checkpoint*").status ~= 0, true, "the checkpoint is removed")
  equal(groups.vision["convolve, cifar d=27, 8 filters"].flop, 77760, "2 x 5 x 36 x 27 x 8")
  equal(groups.blocks["KernelBlock rbf, fashion d=28"].flop, 1075200, "2 x 300 x 64 x 28")
  equal(groups.blocks["KernelBlock rbf, fashion d=28"].bar, 0.85)
  equal(groups.blocks["KernelBlock rbf of bytes, d=28"].flop, 1075200)
  equal(groups.blocks["RandomFeaturesBlock, speech d=44"].bar, 0.80)
  equal(groups.epochs["full kernel, b=64"].flop, 12160000, "400^2 x (2 x 28 + 2 x 10)")
  equal(groups.epochs["full kernel of bytes, b=64"].flop, 12160000)
  equal(groups.epochs["random features, p=128 b=64"].flop, 8192000, "400 x 128 x (56 + 64 + 40)")
  equal(groups.epochs["Nyström, p=128 b=64"].flop, 11468800, "400 x 128 x (56 + 128 + 40)")
  equal(about.ranks, ranks)
  equal(about.quick, true)
  has(about.versions, "kbcd", "OpenBLAS")
  assert(about.date:match("^%d%d%d%d%-%d%d%-%d%dT"), about.date)
  assert(about.threads >= 1 and #about.blas_kernels > 0 and #about.processor > 0)
end

test("every group on one rank", function()
  local groups, about, out = bench("kbcd --threads 2 bench")
  complete(groups, about, 1)
  equal(#groups.epochs, 3 + 1 + 4 + 3 + 3, "first, of bytes, later, outside primitives, memory")
  equal(#groups.ranks, 6)
  has(out, "out.json", "mean nothing")
end)

test("on two ranks, all but what starts ranks itself", function()
  local groups, about, out = bench("mpi 2 bench")
  complete(groups, about, 2)
  equal(#groups.epochs, 3 + 1 + 4 + 3)
  equal(groups.ranks, nil)
  has(out, "ranks: left out", "memory: left out")
end)

test("groups by name", function()
  local groups, about = bench("kbcd bench peaks gram --n 200 --b 32 --repeat 3")
  equal(#groups.peaks + #groups.gram, 9)
  equal(groups.blocks, nil)
  equal(groups.gram["  the Gram alone"].flop, 2 * 200 * 32 * 32, "the last, in f64")
  equal(about.rounds, 3)
end)

test("scaling: the exponent of the times shown, the same scores on 1, 2, 3 and 4 ranks", function()
  local groups = bench("kbcd bench --scaling")
  equal(groups.peaks, nil, "nothing else unless named")
  equal(#groups.scaling, 9)
  for _, entry in ipairs(groups.scaling) do
    if entry.unit == "exponent" then
      equal(table.concat(entry.rows, " "), "100 200 400")
      spec.close(entry.value, measure.exponent(entry.rows, entry.times), 1e-9, entry.name)
    else
      equal(entry.ok, true, entry.name)
    end
  end
end)

-- The test error of the exact solution of (K + nλI) α = Y on the first n rows.
local function exact_error(n)
  local data = require "kbcd.bench.data"
  local sizes = require("kbcd.bench.sizes").quick.images
  local set = data.images{ data = "generated", n = sizes.n, d = sizes.d, k = sizes.k, test = sizes.test }
  local kernel, I = kbcd.kernel.rbf{ sigma = 5 }, kbcd.Index.range(1, n)
  local X = set.X:subset(I)
  local K = kbcd.KernelBlock(X, I, kernel):dense():to("f64"):add_diagonal(n * 1e-6)
  local alpha = kbcd.local_solve(K, set.Y:take(I))
  local S = kbcd.KernelBlock(set.test.X, I, kernel, { centers = X }) * alpha
  return kbcd.labels.error_rate(S, set.test.X, set.test.y, { first = 1 })
end

test("scikit-learn beside it solves the same problem", function()
  local result = shell.run("kbcd bench --quick --against sklearn --json out.json")
  if result.status ~= 0 then
    has(result.err, "apt-get install python3-sklearn")
    return print("skipped: scikit-learn (package python3-sklearn) is not installed")
  end
  local results = cjson.decode(shell.read(shell.tmp .. "/out.json")).results
  equal(#results, 4)
  for _, entry in ipairs(results) do
    has(result.out, entry.name)
    equal(entry.peer.dtype, "float32")
    if entry.value then
      spec.close(entry.value, entry.peer.seconds / entry.ours.seconds, 1e-9)
      assert(entry.ours.error <= entry.peer.error, entry.name)
    else
      assert(entry.ours.error > entry.peer.error, entry.name)
    end
  end
  has(results[4].name, "KernelRidge, n=200")
  assert(math.abs(results[4].peer.error - exact_error(200)) < 0.02, "KernelRidge: " .. results[4].peer.error)
  has(results[1].peer.blas, kbcd.version():match("%((%w+) kernels"))
end)

test("what is refused", function()
  refuses("kbcd bench --quik", "--quik", "--quick")
  refuses("kbcd bench speed", "speed", "peaks")
  refuses("kbcd bench --repeat 0", "repeat", "whole number")
  refuses("kbcd bench --n 100", "--b 4096", "100")
  refuses("kbcd bench --data mnist", "fashion", "generated")
  refuses("kbcd bench --against falkon", "sklearn")
  refuses("kbcd bench peaks --quick --json no/such/folder.json", "no/such/folder.json", "cannot be written")
  equal(shell.count(refuses("mpi 2 bench --quik").err, "--quik"), 1, "said once")
  has(succeeds("kbcd bench --help").out, "--scaling", "--against", "--json", "timit")
end)

shell.finish()
