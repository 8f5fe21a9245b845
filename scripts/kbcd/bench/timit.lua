-- timit: the core-hours of an epoch of the full kernel on data of TIMIT's shape, from a few of its block steps at that n.
--
-- A step costs (kernel entries that it generates) x (seconds an entry, products included) + (its solve). How many entries
-- a whole epoch generates is c n²; c is counted on a small problem of many blocks (near 1/2, since K is symmetric; the
-- share of a step depends on its place in the epoch). So an epoch takes
-- c n² (seconds an entry) + n/b (seconds of a solve).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local data = require "kbcd.bench.data"
local Matrix = kbcd.Matrix

local kernel = kbcd.kernel.rbf{ sigma = data.sigma }

local function steps(X, Y, b)
  return kbcd.full_kernel(X, Y, { kernel = kernel, lambda = data.lambda, b = b, jitter = true })
end

local function entries() return kbcd.timers.count("kernel entries") end

-- c: entries that an epoch generates, over n².
local function share_of_kernel()
  local n, before = 1024, entries()
  local X = data.rows(n, 4)
  for _ in steps(X, Matrix.randn(X.local_n, 1, { seed = 5 }), 16) do end
  return (entries() - before) / (n * n)
end

local function solve_seconds(b, k)
  local X = data.rows(b, 8)
  local H = kbcd.KernelBlock(X, kbcd.Index.range(1, b), kernel):rows(kbcd.Index.range(1, b)):to("f64"):add_diagonal(1)
  local P = Matrix.randn(b, k, { seed = 6 })
  return require("kbcd.bench.measure").seconds(function() kbcd.local_solve(H, P) end)
end

return function(bench)
  local t = bench.sizes.timit
  local needed = t.n * (4 * t.d + 5 * 8 * t.k)  -- X; Y, α and what products of them need
  if needed > runtime.memory.available() then
    return bench.skip("timit", ("about %.0f GB of free memory"):format(needed / 2 ^ 30))
  end
  local c, solve = share_of_kernel(), solve_seconds(t.b, t.k)
  local X = data.rows(t.n, t.d)
  bench.peak()
  local peak_before, before, seconds, blocks = bench.peak(), entries(), nil, nil
  for step in steps(X, Matrix.randn(X.local_n, t.k, { seed = 7 }), t.b) do
    seconds, blocks = kbcd.allreduce_max(step.seconds), step.blocks
    if step.block == t.steps then break end
  end
  local made, peak = entries() - before, (peak_before + bench.peak()) / 2
  local an_entry = (seconds - t.steps * solve) / made
  local epoch = c * t.n ^ 2 * an_entry + blocks * solve
  local rate = 2 * (t.d + t.k) * made / seconds / 1e9
  bench.add{ group = "timit", name = ("an epoch of n=%d d=%d k=%d b=%d"):format(t.n, t.d, t.k, t.b),
    value = epoch * kbcd.size() * kbcd.threads() / 3600, unit = "core-hours", bar = 20, at_most = true, seconds = epoch,
    note = ("from %d blocks in %.3g s, %.2f of sgemm; %.3f n^2 entries an epoch"):format(t.steps, seconds, rate / peak, c) }
end
