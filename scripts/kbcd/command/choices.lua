-- choices(o, data): the settings of a run, as given or chosen for the data; and a text of what was chosen.
--
-- Gives { method, kernel, sigma (where it was chosen), map, p, b, lambdas, epochs, gamma, partition, form, cache, tol,
-- jitter, seed, precision }.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Index = kbcd.Index

local choices = { largest_full = 60000, features = 8192 }

runtime.docs["choices.median_distance"] = [[choices.median_distance(X, kernel_name [, seed])
The median distance (|x-y|, or |x-y|_1 for the laplacian kernel) of pairs among 600 random rows.]]
function choices.median_distance(X, kernel_name, seed)
  local sample = X:subset(Index.sample(X.n, math.min(X.n, 600), { seed = seed or kbcd.seed(), stream = 78 }))
  local metric = kernel_name == "laplacian" and "manhattan" or "sqeuclidean"
  local identity = kbcd.kernel.custom{ metric = metric, kappa = function(D) return D end }
  local all = kbcd.gather(kbcd.KernelBlock(sample, Index.range(1, sample.n), identity):dense())
  local list = {}
  for i = 1, all.nrows do for j = 1, i - 1 do list[#list + 1] = all(i, j) end end
  table.sort(list)
  local middle = list[math.ceil(#list / 2)] or 0
  if metric == "sqeuclidean" then middle = math.sqrt(math.max(middle, 0)) end
  if middle > 0 then return middle end
  return 1  -- most rows are equal; any width is as good
end

-- The kernel that the options name; has_width says whether one must be chosen.
function choices.kernel(o, sigma)
  local given = { sigma = o.sigma or sigma, gamma = o.gamma, nu = o.nu, degree = o.degree, c = o.c }
  if given.gamma then given.sigma = nil end
  local good, kernel = pcall(kbcd.kernel[o.kernel], given)
  if not good then error("--kernel " .. o.kernel .. ": " .. tostring(kernel):gsub("^.-: ", "", 1), 0) end
  return kernel
end

function choices.needs_width(o)
  local widths = { rbf = true, laplacian = true, matern = true }
  return widths[o.kernel] and not o.sigma and not o.gamma
end

-- A block of the n x b kind, and a b x b system in f64, within half of the memory budget.
local function block_size(X, count)
  local rows = math.ceil(X.n / kbcd.size())
  local fits = math.floor(kbcd.allreduce_min(kbcd.memory_budget()) / 2 / (rows * (X.dtype == "f32" and 4 or 8) + 1))
  return math.min(count, math.max(256, math.min(fits, 2048)))
end

-- Whether all blocks fit the memory of all ranks, with some to spare: p columns, or one triangle of the kernel matrix.
local function blocks_fit(X, s)
  local bytes = s.cache == "f16" and 2 or X.dtype == "f32" and 4 or 8
  local entries = X.n * (s.p or X.n / 2)
  return s.cache ~= "none" and entries * bytes < 0.8 * kbcd.size() * kbcd.allreduce_min(kbcd.memory_budget())
end

local function choose(_, o, data)
  local X, notes, s = data.X, {}, {}
  local function chosen(text, ...) notes[#notes + 1] = text:format(...) end
  s.method = o.method
  if not s.method then
    s.method = X.n <= choices.largest_full and "full" or "nystrom"
    chosen("method %s (%d rows)", s.method, X.n)
  end
  local sigma
  if choices.needs_width(o) then
    sigma = choices.median_distance(X, o.kernel, o.seed) / 2
    chosen("sigma = %.4g (half the median distance)", sigma)
  end
  s.kernel, s.sigma = choices.kernel(o, sigma), sigma
  if s.method ~= "full" then
    s.p = o.features or math.min(choices.features, s.method == "rf" and choices.features or X.n)
    if not o.features then chosen("%d %s", s.p, s.method == "rf" and "features" or "centres") end
    if s.method == "nystrom" and s.p > X.n then
      error(("--features %d: at most the %d training rows expected"):format(s.p, X.n), 0)
    end
  end
  local count = s.p or X.n
  if o.block and o.block > count then
    error(("--block %d: at most %d, the number of %s, expected"):format(o.block, count, s.p and "features" or "rows"), 0)
  end
  s.b = o.block or block_size(X, count)
  if not o.block then chosen("blocks of %d", s.b) end
  s.lambdas = o.lambda or { 1e-4, 1e-5, 1e-6, 1e-7 }
  s.jitter = o.jitter or not o.lambda
  if not o.lambda then chosen("lambda = 1e-4, 1e-5, 1e-6, 1e-7, with jitter") end
  s.cache, s.form = o.cache or "f32", s.method == "full" and (o.form or "half") or nil
  local fits = s.form ~= "plain" and o.partition ~= "fresh" and blocks_fit(X, s)
  s.epochs = o.epochs or (s.b >= count and 1 or fits and 8 or 3)  -- epochs cost little when the blocks are kept
  if not o.epochs then chosen("%d epoch%s", s.epochs, s.epochs == 1 and "" or "s") end
  if s.method == "rf" then
    s.map = { kind = o.map or "fourier", p = s.p, seed = o.seed }
  end
  s.gamma, s.tol, s.seed, s.precision = o.nystrom_gamma or 0, o.tol or 0, o.seed, X.dtype
  s.partition = o.partition or "fixed"
  if s.method == "full" and not o.partition and s.epochs > 1 then
    s.partition = fits and "fixed" or "fresh"
    chosen(fits and "a fixed partition (the kernel fits in memory)" or "a fresh partition each epoch")
  end
  return s, table.concat(notes, ", ")
end

return setmetatable(choices, { __call = choose })
