-- plugin: a copy of nystrom.lua in a folder elsewhere, as a user's file for --method, against the shipped one: two epochs
-- each.

local kbcd = require "kbcd"
local data = require "kbcd.bench.data"

-- The shipped file, read as a user's.
local function copied()
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() .. ".lua" or "")
  if kbcd.rank() == 0 then
    local from = assert(io.open(assert(package.searchpath("kbcd.algorithms.nystrom", package.path)), "rb"))
    local to = assert(io.open(path, "wb"))
    to:write(from:read("*a"))
    to:close()
    from:close()
  end
  kbcd.barrier()
  local algorithm = kbcd.methods.find(path)
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
  return algorithm
end

return function(bench)
  local s, set, items = bench.sizes, data.images(bench.images()), {}
  for i, method in ipairs{ kbcd.nystrom, copied() } do
    items[i] = { run = function()
      local last
      for step in method(set.X, set.Y, { kernel = kbcd.kernel.rbf{ sigma = data.sigma }, lambda = data.lambda,
        p = math.min(s.p, 4096), b = math.min(s.p_block, s.p), epochs = 2, jitter = true }) do last = step end
      return { seconds = last.seconds }
    end }
  end
  local rounds, pairs_of = bench.measure(items, bench.repeats), {}
  for r, shipped in ipairs(rounds[1]) do
    local seconds = rounds[2][r].seconds
    pairs_of[r] = { ratio = seconds / shipped.seconds, seconds = seconds, shipped = shipped.seconds }
  end
  local middle = bench.median(pairs_of, "ratio")
  bench.add{ group = "plugin", name = "Nyström as a user's file", value = middle.ratio, unit = "x the shipped", bar = 1.03,
    at_most = true, seconds = middle.seconds, note = ("shipped: %.3g s"):format(middle.shipped) }
end
