-- scaling: the first epoch for n, 2n and 4n rows on 1 and 2 ranks of a thread each, and the exponent of its cost in n (2
-- for the full kernel, 1 for the others with a fixed p); and that 1, 2, 3 and 4 ranks give the same scores.

local kbcd = require "kbcd"
local fit, measure = require "kbcd.bench.fit", require "kbcd.bench.measure"

-- The largest difference of two tables of scores, relative to the largest score.
local function difference(A, B)
  local most, size = 0, 0
  for i = 1, #A do
    for j = 1, #A[i] do
      most, size = math.max(most, math.abs(A[i][j] - B[i][j])), math.max(size, math.abs(A[i][j]))
    end
  end
  return most / size
end

return function(bench)
  if kbcd.size() > 1 then return bench.skip("scaling", "one rank, which starts others by mpirun") end
  local launch, s = require "kbcd.bench.launch", bench.sizes.scaling

  local function run(method, ranks, n)
    local images = bench.images()
    images.n = n
    return launch({ method = method, b = s.b, p = method ~= "full_kernel" and s.p or nil, images = images },
      { ranks = ranks, threads = 1 })
  end

  for _, method in ipairs{ "full_kernel", "random_features", "nystrom" } do
    local sizes, first, scores = { s.n, 2 * s.n, 4 * s.n }, nil, {}
    for ranks = 1, 2 do
      local seconds, texts = {}, {}
      for i, n in ipairs(sizes) do
        local rounds = {}
        for r = 1, bench.long_repeats do rounds[r] = run(method, ranks, n) end
        local middle = measure.median(rounds, "seconds")
        seconds[i], texts[i] = middle.seconds, ("%.3g"):format(middle.seconds)
        if i == 1 then scores[ranks] = middle.check end
      end
      first = first or seconds
      bench.add{ group = "scaling", name = ("%s, n=%d 2n 4n, %d rank%s"):format(fit.names[method], s.n, ranks,
        ranks == 1 and "" or "s"), value = measure.exponent(sizes, seconds), unit = "exponent", seconds = seconds[3],
        rows = sizes, times = seconds, ranks = ranks,
        note = table.concat(texts, ", ") .. " s" .. (ranks == 2 and (", %.2f x faster"):format(first[3] / seconds[3]) or "") }
    end
    local most = 0
    for ranks = 2, 4 do
      scores[ranks] = scores[ranks] or run(method, ranks, s.n).check
      most = math.max(most, difference(scores[1], scores[ranks]))
    end
    bench.add{ group = "scaling", name = fit.names[method] .. ", 2, 3, 4 ranks against 1", value = most, unit = "of a score",
      bar = 1e-3, at_most = true }
  end
end
