-- lambdas: the first epoch of a path of 10 λ against that of one λ.

local data, fit = require "kbcd.bench.data", require "kbcd.bench.fit"

local path = {}
for l = 1, 10 do path[l] = 10 ^ (-3 - l / 2) end

return function(bench)
  local s, set = bench.sizes, data.images(bench.images())
  for _, method in ipairs{ "full_kernel", "random_features", "nystrom" } do
    local items, b = {}, method == "full_kernel" and s.path_block or math.min(s.b, s.p_block)
    for i, lambdas in ipairs{ data.lambda, path } do
      items[i] = { warm = false, run = function()
        return fit({ method = method, b = b, p = method ~= "full_kernel" and s.p or nil, lambda = lambdas }, set)
      end }
    end
    local rounds, pairs_of = bench.measure(items, bench.long_repeats), {}
    for r, one in ipairs(rounds[1]) do
      local ten = rounds[2][r].seconds
      pairs_of[r] = { ratio = ten / one.seconds, seconds = ten, one = one.seconds }
    end
    local middle = bench.median(pairs_of, "ratio")
    bench.add{ group = "lambdas", name = ("%s, b=%d, 10 lambdas"):format(fit.names[method], b), value = middle.ratio,
      unit = "x one lambda", bar = method == "full_kernel" and 1.5 or 1.3, at_most = true, seconds = middle.seconds,
      note = ("one: %.3g s"):format(middle.one) }
  end
end
