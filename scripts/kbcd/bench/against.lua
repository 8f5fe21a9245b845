-- against: scikit-learn (against_sklearn.py, in a separate process with as many threads and the same OpenBLAS kernels) and
-- kbcd on the same rows, sigma, lambda, p and centres: seconds and test error of its fit, and kbcd's seconds to an error
-- that is no larger, within a tenth of the standard error of the test error (two solvers of the same system differ in a row
-- or two by rounding). Nyström uses one block, which is solved directly: several blocks cost less, but reach the last tenth
-- of a percent slowly.

local cjson = require "cjson"
local kbcd = require "kbcd"
local outside_mpi = require "kbcd.support.outside_mpi"
local streams = require "kbcd.support.streams"
local data, fit, launch = require "kbcd.bench.data", require "kbcd.bench.fit", require "kbcd.bench.launch"

local against, seed = {}, 1

local script = debug.getinfo(1, "S").source:match("^@(.*)against%.lua$") .. "against_sklearn.py"

-- A Python that has scikit-learn: Debian's, which need not be the first on the path; nil where there is none.
function against.python()
  for _, name in ipairs{ "/usr/bin/python3", "python3" } do
    if select(2, launch.output(name .. " -c 'import sklearn, threadpoolctl' 2>/dev/null")) == 0 then return name end
  end
end

-- Fails before, not after, all other groups.
function against.check()
  if kbcd.size() > 1 or against.python() then return end
  error("--against sklearn: scikit-learn is not installed; on Debian: apt-get install python3-sklearn", 0)
end

local function write(path, X)
  local out = kbcd.row_writer(path, "npy", "f8", X.d)
  for _, I in ipairs(kbcd.Index.range(1, X.n):partition(4096)) do out:write(X:gather(I)) end
  out:close()
end

local function peer(s)
  local command = ("%s OPENBLAS_CORETYPE=%s OMP_NUM_THREADS=%d OPENBLAS_NUM_THREADS=%d %s '%s' '%s'"):format(
    outside_mpi(), kbcd.version():match("%((%w+) kernels"), kbcd.threads(), kbcd.threads(), against.python(), script,
    cjson.encode(s))
  local text, status = launch.output(command)
  if status ~= 0 then error("scikit-learn's run failed; the command was: " .. command, 0) end
  return cjson.decode(text)
end

-- The first block step after which the test error is at most `wanted`, and true; else the best one, and false.
local function ours(s, set, wanted)
  local best = { error = math.huge }
  for step in fit.steps(s, set, { test = set.test.X, seed = seed }) do
    local e = kbcd.labels.error_rate(step.test_scores[1], set.test.X, set.test.y, { first = set.first })
    if e < best.error then best = { error = e, seconds = step.seconds, epoch = step.epoch, block = step.block } end
    if e <= wanted then return best, true end
  end
  return best, false
end

local function compare(bench, folder, name, s, n, bar)
  local images = bench.images()
  images.n = n
  if s.method == "nystrom" then
    local J = kbcd.Index.sample(n, s.p, { seed = seed, stream = streams.centers })  -- as nystrom.lua draws them
    write(folder .. "/centers.npy", kbcd.DataSet(kbcd.Matrix{ J:totable() }:t():clone()))
  end
  local theirs = peer{ folder = folder, method = s.method, n = n, p = s.p, gamma = 1 / (2 * data.sigma ^ 2),
    lambda = data.lambda }
  local set = data.images(images)
  local wanted = theirs.error + 0.1 * math.sqrt(theirs.error * (1 - theirs.error) / set.test.X.n)
  local best, reached = ours(s, set, wanted)
  bench.add{ group = "against", name = name, value = reached and theirs.seconds / best.seconds or nil, unit = "x faster",
    bar = bar, seconds = best.seconds, peer = theirs, ours = best,
    note = ("%.2f%%%s; scikit-learn %.3g s, %.2f%%"):format(100 * best.error, reached and "" or " at best",
      theirs.seconds, 100 * theirs.error) }
  return theirs
end

local function compare_all(bench, folder)
  local a, set = bench.sizes.against, data.images(bench.images())
  write(folder .. "/X.npy", set.X)
  write(folder .. "/y.npy", set.y)
  write(folder .. "/X_test.npy", set.test.X)
  write(folder .. "/y_test.npy", set.test.y)
  local function settings(method, p, block)
    return { method = method, p = p, b = block or bench.sizes.p_block, epochs = a.epochs }
  end
  compare(bench, folder, ("random features, RBFSampler(%d) + Ridge"):format(a.rf), settings("random_features", a.rf),
    set.X.n, 2)
  for _, p in ipairs(a.nystrom) do
    compare(bench, folder, ("Nyström, Nystroem(%d) + Ridge"):format(p), settings("nystrom", p, p), set.X.n, 2)
  end
  local last = compare(bench, folder, ("full kernel, KernelRidge, n=%d"):format(a.ridge_n), settings("full_kernel"),
    a.ridge_n)
  kbcd.say("  %s, %s; sigma = %g, lambda = %g, %d test rows", last.versions, last.blas, data.sigma, data.lambda, set.test.X.n)
end

function against.run(bench)
  if kbcd.size() > 1 then return bench.skip("against", "one rank, beside which scikit-learn runs") end
  local folder = launch.output("mktemp -d"):match("[^\n]+")
  local good, message = pcall(compare_all, bench, folder)
  launch.output("rm -r '" .. folder .. "'")
  if not good then error(message, 0) end
end

return setmetatable(against, { __call = function(_, bench) against.run(bench) end })
