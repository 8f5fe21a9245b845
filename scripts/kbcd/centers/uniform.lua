-- uniform: every row is a centre with the same probability.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"

runtime.docs["centers.uniform"] = [[centers.uniform(X, p, kernel [, options])
p rows of X, all equally likely. options: seed, stream = 1 (numbers independent choices).]]

return function(X, p, _, given)
  local o = options.read("centers.uniform", given or {}, {
    seed = { options.seed, runtime.seed() }, stream = { options.seed, 1 },
  })
  return kbcd.Index.sample(X.n, p, { seed = o.seed, stream = o.stream })
end
