-- kbcd tests/endurance/property.lua SEED COUNT FILE: random problems (shapes, blocks, kernels, options; number i of a seed
-- is the same one everywhere), each solved by the three methods, random features with another kernel where the problem's has
-- none. Checked here, on every rank:
--
--   descent: after no block is the objective larger than before it, beyond rounding. The objectives are computed here, in
--     f64, from K by the formulas of the kernels, with plain loops; each is the one whose exact block minimiser the method's
--     step is, h(α) = ½⟨α, (K + nλI) α⟩ − ⟨α, Y⟩ (the dual) for the full kernel,
--     (1/n)‖K_J α − Y‖² + λ⟨α, (K_JJ + γI) α⟩ for Nyström, (1/n)‖Z w − Y‖² + λ‖w‖² for random features;
--   streamed = materialised: the same model when no block may stay in memory.
--
-- The fitted values of all of them, and how far off they may be, go to FILE (HDF5), where property_spec compares those of
-- different numbers of ranks.

local kbcd = require "kbcd"
local spec, plain_kernel = require "spec", require "plain_kernel"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet

local seed, count, path = tonumber(arg[1]), tonumber(arg[2]), arg[3]

local function dot(x, y)
  local s = 0
  for c = 1, #x do s = s + x[c] * y[c] end
  return s
end
local function distance(x, y, power)
  local s = 0
  for c = 1, #x do s = s + math.abs(x[c] - y[c]) ^ power end
  return s
end

-- What is random: a problem's own generator, equal on all ranks.
local function draws(problem)
  math.randomseed(seed * 100003 + problem)
  local draw = {}
  function draw.whole(low, high) return math.random(low, high) end
  function draw.of(...) return (select(math.random(select("#", ...)), ...)) end
  function draw.log(low, high) return math.exp(math.log(low) + math.random() * math.log(high / low)) end
  return draw
end

-- Each with its formula, written anew; "features": it has random ones, as the first three do; "strict": positive definite
-- enough for Nyström without a stabiliser.
local kernels = {
  function(draw)
    local gamma = draw.log(0.05, 2)
    return kbcd.kernel.rbf{ gamma = gamma }, function(x, y) return math.exp(-gamma * distance(x, y, 2)) end, "features"
  end,
  function(draw)
    local gamma = draw.log(0.2, 2)
    return kbcd.kernel.laplacian{ gamma = gamma }, function(x, y) return math.exp(-gamma * distance(x, y, 1)) end,
      "features", "strict"
  end,
  function(draw)
    local sigma = draw.log(0.3, 3)
    return kbcd.kernel.matern{ sigma = sigma, nu = 1.5 }, function(x, y)
      local r = math.sqrt(3 * distance(x, y, 2)) / sigma
      return (1 + r) * math.exp(-r)
    end, "features"
  end,
  function(draw)
    local gamma, degree = draw.log(0.1, 1), draw.whole(1, 3)
    return kbcd.kernel.polynomial{ gamma = gamma, degree = degree, c = 1 },
      function(x, y) return (gamma * dot(x, y) + 1) ^ degree end
  end,
  function() return kbcd.kernel.linear{}, dot end,
}

local function make(problem)
  local draw = draws(problem)
  local p = { n = draw.whole(1, 60), d = draw.whole(1, 6), k = draw.whole(1, 3), dtype = draw.of("f32", "f64") }
  local kernel, formula, features, strict = draw.of(unpack(kernels))(draw)
  p.kernel, p.features_kernel = kernel, features and kernel or kernels[draw.whole(1, 3)](draw)
  local A = Matrix.randn(p.n, p.d, { seed = seed, stream = problem }):to(p.dtype)
  p.X, p.Y = DataSet(A), DataSet(Matrix.randn(p.n, p.k, { seed = seed + 1, stream = problem }))
  if draw.whole(1, 4) == 1 then p.X = p.X:to_sparse() end
  p.rows, p.targets, p.K = A:to("f64"):totable(), p.Y:gather(Index.range(1, p.n)):totable(), {}
  for i = 1, p.n do
    p.K[i] = {}
    for j = 1, p.n do p.K[i][j] = formula(p.rows[i], p.rows[j]) end
  end
  p.lambdas = {}
  for l = 1, draw.whole(1, 2) do p.lambdas[l] = draw.log(1e-4, 1e-1) end
  p.p = draw.whole(1, p.n)
  p.gamma = strict and draw.of(0, 0.1) or draw.of(0.01, 1)
  p.features_p = draw.whole(1, 50)
  p.blocks = draw.whole(1, 8)
  p.common = {
    lambda = p.lambdas, epochs = draw.whole(1, 3), seed = draw.whole(0, 1000), partition = draw.of("fresh", "fixed"),
    keep = draw.of("exact", "none"), jitter = draw.of(true, false), tol = draw.of(0, 0, 1e-3, 0.1),
  }
  -- Blocks that later epochs get back from f16 have 3 digits: no bound of rounding holds for them.
  local kept = p.common.partition == "fixed" and p.common.epochs > 1
  if draw.whole(1, 3) == 1 and not kept then p.common.keep = "f16" end
  p.full = draw.of(kbcd.full_kernel, plain_kernel)
  p.full_partition = p.common.keep ~= "f16" and draw.of("regrouped", p.common.partition) or p.common.partition
  p.name = ("problem %d of seed %d (%s, n = %d, d = %d, k = %d, %s%s, %d ranks)"):format(problem, seed, kernel.name, p.n,
    p.d, p.k, p.dtype, p.X.sparse and ", sparse" or "", kbcd.size())
  return p
end

local function with(p, more)
  local o = {}
  for name, value in pairs(p.common) do o[name] = value end
  for name, value in pairs(more) do o[name] = value end
  return o
end

local function block_size(p, of) return math.ceil(of / p.blocks) end

-- Σ over the columns of ⟨A, B⟩, of tables.
local function inner(A, B)
  local s = 0
  for i = 1, #A do s = s + dot(A[i], B[i]) end
  return s
end
local product = spec.table_product
local function take(K, rows, columns)
  local part = {}
  for i, r in ipairs(rows) do
    part[i] = {}
    for j, c in ipairs(columns) do part[i][j] = K[r][c] end
  end
  return part
end
-- (1/n)‖F − Y‖²
local function loss(F, Y)
  local s = 0
  for i = 1, #Y do s = s + distance(F[i], Y[i], 2) end
  return s / #Y
end

local function absolute(A)
  local B = {}
  for i, row in ipairs(A) do
    B[i] = {}
    for j, x in ipairs(row) do B[i][j] = math.abs(x) end
  end
  return B
end
local function at_zero(p) return inner(p.targets, p.targets) / p.n end
-- Of (1/n)‖F − Y‖² where the terms of F are larger than F.
local function size_of_loss(p, _, _, terms) return at_zero(p) + terms * math.sqrt(at_zero(p)) end

-- A method: its steps, its coefficients on every rank, the matrix that makes fitted values of them and their objective, as
-- tables; the objective of 0, and the size of an objective's terms, which rounding is measured by. `solve`: what the square
-- of a condition number, in normal equations, makes of f64's rounding.
local methods = {
  {
    name = "full_kernel",
    run = function(p)
      return p.full(p.X, p.Y, with(p, { kernel = p.kernel, b = block_size(p, p.n), partition = p.full_partition }))
    end,
    coefficients = function(m) return kbcd.gather(m.coefficients) end,
    features = function(p) return p.K end,
    objective = function(p, lambda, alpha, F)
      return (inner(alpha, F) + p.n * lambda * inner(alpha, alpha)) / 2 - inner(alpha, p.targets)
    end,
    zero = function() return 0 end,
    size = function(p, lambda, alpha)
      local A = absolute(alpha)
      return inner(A, product(absolute(p.K), A)) + p.n * lambda * inner(A, A) + inner(A, absolute(p.targets))
    end,
  },
  {
    name = "nystrom",
    run = function(p)
      return kbcd.nystrom(p.X, p.Y, with(p, { kernel = p.kernel, p = p.p, gamma = p.gamma, b = block_size(p, p.p) }))
    end,
    coefficients = function(m) return m.coefficients end,
    begin = function(p)
      local J, all = {}, {}
      local sample = Index.sample(p.n, p.p, { seed = p.common.seed, stream = 1 })
      for i = 1, #sample do J[i] = sample[i] end
      for i = 1, p.n do all[i] = i end
      p.K_J, p.K_JJ = take(p.K, all, J), take(p.K, J, J)
    end,
    features = function(p) return p.K_J end,
    solve = 1e-11,
    objective = function(p, lambda, alpha, F)
      return loss(F, p.targets) + lambda * (inner(alpha, product(p.K_JJ, alpha)) + p.gamma * inner(alpha, alpha))
    end,
    zero = at_zero, size = size_of_loss,  -- what follows is smaller
  },
  {
    name = "random_features",
    run = function(p) return kbcd.random_features(p.X, p.Y, with(p, { map = p.map, b = block_size(p, p.features_p) })) end,
    coefficients = function(m) return m.coefficients end,
    begin = function(p)
      p.map = kbcd.features.fourier{ kernel = p.features_kernel, p = p.features_p, seed = p.common.seed }
      local X = p.X:to("f64")
      p.Z = kbcd.gather(kbcd.RandomFeaturesBlock(X, Index.range(1, p.features_p), p.map):dense()):totable()
    end,
    features = function(p) return p.Z end,
    objective = function(p, lambda, w, F) return loss(F, p.targets) + lambda * inner(w, w) end,
    zero = at_zero, size = size_of_loss,
  },
}

-- How much of the size of its terms an objective may rise, and did at most.
local rounding, largest = { f32 = 1e-7, f64 = 1e-14 }, { f32 = 0, f64 = 0 }

-- Fitted values are sums Σ_j A_ij α_j: between two orders of computation they may differ by the rounding of the largest
-- such terms that any step had, however small the sums are.
local roundings = { f32 = 100 * 2 ^ -24, f64 = 100 * 2 ^ -53 }
local function largest_terms(A, alpha) return Matrix(product(absolute(A), absolute(alpha))):max() end

-- Runs a method; gives the fitted values of its last model, all λ side by side, and how far off they may be.
local function descend(p, method, how)
  local before, fitted, terms = {}, nil, 0
  for step in method.run(p) do
    fitted = {}
    for l, lambda in ipairs(p.lambdas) do
      local alpha = method.coefficients(step.model[l]):totable()
      local A = method.features(p)
      local F = product(A, alpha)
      local now = method.objective(p, lambda, alpha, F)
      local terms_here = largest_terms(A, alpha)
      local size = method.size(p, lambda, alpha, terms_here)
      before[l] = before[l] or method.zero(p)
      local fine = now <= before[l] + rounding[p.dtype] * size  -- false for NaN, too
      if not fine then
        error(("%s: %s, %s: the objective rose from %.17g to %.17g, by %g of its size, at block %d of epoch %d, lambda = %g")
          :format(p.name, method.name, how, before[l], now, (now - before[l]) / size, step.block, step.epoch, lambda), 0)
      end
      largest[p.dtype] = math.max(largest[p.dtype], (now - before[l]) / size)
      before[l], fitted[l] = now, Matrix(F)
      terms = math.max(terms, terms_here)
    end
  end
  return Matrix.hcat(fitted), math.max(roundings[p.dtype], method.solve or 0) * terms
end

local file = kbcd.rank() == 0 and kbcd.h5.create(path)
local free = kbcd.memory_budget()
for problem = 1, count do
  local p = make(problem)
  for _, method in ipairs(methods) do
    kbcd.memory_budget(free)
    if method.begin then method.begin(p) end
    local kept, tolerance = descend(p, method, "materialised")
    kbcd.memory_budget(p.X.sparse and 8 * p.d * p.features_p or 1)  -- sparse rows need the features' weights in one piece
    local streamed = descend(p, method, "streamed")
    local off = (kept - streamed):abs():max()
    local same = off <= tolerance  -- false for NaN, too
    if not same then
      error(("%s: %s: streamed and materialised differ by %g, more than %g"):format(p.name, method.name, off, tolerance), 0)
    end
    if file then
      file:append(("/%04d_%s"):format(problem, method.name), kept)
      file:append(("/%04d_%s_tolerance"):format(problem, method.name), Matrix{ { tolerance } })
    end
  end
end
if file then file:close() end
kbcd.say("%d problems for each of %d methods; the largest rise: f32 %.1e, f64 %.1e of the terms' size", count, #methods,
  largest.f32, largest.f64)
