-- ranks: an epoch on t ranks of 1 thread, each bound to a core, against 1 rank of t threads; t is this run's threads.

local kbcd = require "kbcd"
local fit = require "kbcd.bench.fit"

return function(bench)
  local threads, s = kbcd.threads(), bench.sizes
  if kbcd.size() > 1 then return bench.skip("ranks", "one rank, which starts others by mpirun") end
  if threads < 2 then return bench.skip("ranks", "at least two threads") end
  local launch, images = require "kbcd.bench.launch", bench.images()
  images.n = math.min(images.n, s.ranks_n)
  for _, method in ipairs{ "full", "rf", "nystrom" } do
    local run = { method = method, b = math.min(s.b, s.p_block), p = method ~= "full" and s.ranks_p or nil, images = images }
    local rounds = {}
    for r = 1, bench.long_repeats do
      local one = launch(run, { ranks = 1, threads = threads }).seconds
      local many = launch(run, { ranks = threads, threads = 1 }).seconds
      rounds[r] = { ratio = many / one, seconds = many, one = one }
    end
    local middle = bench.median(rounds, "ratio")
    bench.add{ group = "ranks", name = ("%s, %d ranks x 1 thread"):format(fit.names[method], threads), value = middle.ratio,
      unit = "x the time", bar = 1.1, at_most = true, seconds = middle.seconds,
      note = ("1 rank x %d threads: %.3g s"):format(threads, middle.one) }
  end
end
