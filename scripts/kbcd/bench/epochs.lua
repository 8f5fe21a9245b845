-- epochs: whole epochs on Fashion-MNIST: the first one's flop (flops.lua) over its time, later ones against the first,
-- Lua's share, and the memory of a run within a small budget.

local kbcd = require "kbcd"
local data, fit, flops = require "kbcd.bench.data", require "kbcd.bench.fit", require "kbcd.bench.flops"

local function first_epochs(bench)
  local s, set = bench.sizes, data.images(bench.images())
  local n, d, k, p, b = set.X.n, set.X.d, set.Y.ncols, s.p, s.p_block
  local items = {
    { name = ("full kernel, b=%d"):format(b), bar = 1.4, flop = flops.full_epoch(n, d, k),
      run = function() return fit({ method = "full_kernel", b = b }, set, bench.peak) end },
    { name = ("random features, p=%d b=%d"):format(p, b), bar = 0.75, flop = flops.rf_epoch(n, p, b, d, k),
      run = function() return fit({ method = "random_features", p = p, b = b, epochs = s.epochs }, set, bench.peak) end },
    { name = ("Nyström, p=%d b=%d"):format(p, b), bar = 0.70, flop = flops.nystrom_epoch(n, p, b, d, k),
      run = function() return fit({ method = "nystrom", p = p, b = b, epochs = s.epochs }, set, bench.peak) end },
  }
  for _, item in ipairs(items) do item.warm = false end
  local rounds = bench.measure(items, bench.long_repeats)
  bench.add_rates("epochs", items, rounds)
  return items, rounds
end

-- The full kernel of rows that are kept as bytes.
local function of_bytes(bench)
  local images = bench.images()
  images.bytes = true
  local set, b = data.images(images), bench.sizes.p_block
  local item = { name = ("full kernel of bytes, b=%d"):format(b), warm = false, bar = data.multiplies_bytes() and 3 or nil,
    flop = flops.full_epoch(set.X.n, set.X.d, set.Y.ncols),
    run = function() return fit({ method = "full_kernel", b = b }, set, bench.peak) end }
  bench.add_rates("epochs", { item }, bench.measure({ item }, bench.long_repeats))
end

-- How many times faster the later epochs are than the first, by the median round.
local function later(bench, name, rounds)
  for _, round in ipairs(rounds) do
    local epochs, sum = round.result.epochs, 0
    for e = 2, #epochs do sum = sum + epochs[e] end
    round.later = sum / (#epochs - 1)
    round.gain = epochs[1] / round.later
  end
  local round = bench.median(rounds, "gain")
  bench.add{ group = "epochs", name = name .. ", later epochs", value = round.gain, unit = "x faster", bar = 10,
    seconds = round.later, note = ("the first %.3g s"):format(round.result.seconds) }
end

-- The full kernel keeps its blocks from epoch to epoch when the partition is fixed and the kernel matrix fits the budget.
local function cached_full(bench)
  local s, images = bench.sizes, bench.images()
  images.n = math.min(images.n, s.cached_n)
  local set = data.images(images)
  for _, keep in ipairs{ "exact", "f16" } do
    local item = { warm = false, run = function()
      return fit({ method = "full_kernel", b = math.min(s.p_block, set.X.n), epochs = s.epochs, partition = "fixed",
        keep = keep },
        set)
    end }
    later(bench, ("full kernel, n=%d, %s"):format(set.X.n, keep), bench.measure({ item }, bench.long_repeats)[1])
  end
end

local function memory(bench)
  if kbcd.size() > 1 then return bench.skip("memory", "one rank") end
  local s, launch = bench.sizes, require "kbcd.bench.launch"
  for _, method in ipairs{ "full_kernel", "random_features", "nystrom" } do
    local full = method == "full_kernel"
    local settings = { method = method, b = s.p_block, p = not full and s.p or nil, images = bench.images() }
    local run = launch(settings, { ranks = 1, threads = kbcd.threads(), memory = s.memory })
    bench.add{ group = "epochs", name = fit.names[method] .. ", memory", value = run.memory / (run.bytes + s.memory),
      unit = "of allowed", bar = 1.1, at_most = true, note = ("%.0f MB, data %.0f + budget %.0f"):format(
        run.memory / 2 ^ 20, run.bytes / 2 ^ 20, s.memory / 2 ^ 20) }
  end
end

return function(bench)
  local items, rounds = first_epochs(bench)
  of_bytes(bench)
  cached_full(bench)
  for i = 2, 3 do later(bench, items[i].name, rounds[i]) end
  for i, item in ipairs(items) do
    for _, round in ipairs(rounds[i]) do round.lua = 100 * round.result.lua end
    bench.add{ group = "epochs", name = item.name:match("[^,]+") .. ", outside primitives",
      value = bench.median(rounds[i], "lua").lua, unit = "% of an epoch", bar = 1, at_most = true }
  end
  memory(bench)
end
