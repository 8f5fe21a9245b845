-- median_distance(X [, options]): the median distance of pairs among some random rows of X, from which widths of kernels are
-- chosen: |x − y|, or |x − y|₁ with metric = "manhattan".

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local streams = require "kbcd.support.streams"
local Index = kbcd.Index

runtime.docs.median_distance = [[median_distance(X [, options])
The median distance of pairs among some random rows of X; 1 where most rows are equal. options: metric = "euclidean" or
"manhattan", rows = 600, seed. Half of it is a good first width of a kernel.]]

return function(X, given)
  local o = options.read("median_distance", given or {}, { metric = { options.one_of("euclidean", "manhattan"), "euclidean" },
    rows = { options.count, 600 }, seed = { options.seed, kbcd.seed() } })
  local sample = X:subset(Index.sample(X.n, math.min(X.n, o.rows), { seed = o.seed, stream = streams.median }))
  local identity = kbcd.kernel.custom{ metric = o.metric == "manhattan" and "manhattan" or "sqeuclidean",
    kappa = function(D) return D end }
  local all, list = kbcd.gather(kbcd.KernelBlock(sample, Index.range(1, sample.n), identity):dense()), {}
  for i = 1, all.nrows do for j = 1, i - 1 do list[#list + 1] = all(i, j) end end
  table.sort(list)
  local middle = math.max(list[math.ceil(#list / 2)] or 0, 0)
  if o.metric == "euclidean" then middle = math.sqrt(middle) end
  return middle > 0 and middle or 1
end
