-- ranks: an epoch on t ranks of 1 thread, each bound to a core, against 1 rank of t threads; t is this run's threads. And
-- the share of it that the ranks need to compare their calls (--check).

local kbcd = require "kbcd"
local fit = require "kbcd.bench.fit"

return function(bench)
  local threads, s = kbcd.threads(), bench.sizes
  if kbcd.size() > 1 then return bench.skip("ranks", "one rank, which starts others by mpirun") end
  if threads < 2 then return bench.skip("ranks", "at least two threads") end
  local launch, images = require "kbcd.bench.launch", bench.images()
  for _, method in ipairs{ "full_kernel", "random_features", "nystrom" } do
    local run = { method = method, b = math.min(s.b, s.p_block), p = method ~= "full_kernel" and s.p or nil, images = images }
    run.warm = true
    local rounds = {}
    for r = 1, bench.long_repeats do
      local one = launch(run, { ranks = 1, threads = threads }).seconds
      local result = launch(run, { ranks = threads, threads = 1 })
      local many = result.seconds
      rounds[r] = { ratio = many / one, seconds = many, one = one, calls = result.checked_calls,
        check = result.check_seconds, share = result.checked_calls * result.check_seconds / many }
    end
    local middle = bench.median(rounds, "ratio")
    bench.add{ group = "ranks", name = ("%s, %d ranks x 1 thread"):format(fit.names[method], threads), value = middle.ratio,
      unit = "x the time", bar = 1.1, at_most = true, seconds = middle.seconds,
      note = ("1 rank x %d threads: %.3g s"):format(threads, middle.one) }
    middle = bench.median(rounds, "share")
    bench.add{ group = "ranks", name = fit.names[method] .. ", check", value = 100 * middle.share, unit = "% of an epoch",
      bar = 1, at_most = true, note = ("%d calls, %.1f us each"):format(middle.calls, 1e6 * middle.check) }
  end
end
