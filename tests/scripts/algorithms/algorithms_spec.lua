-- The three algorithms against direct solves of the formulas of section 2, made here with plain loops and Gaussian
-- elimination; on any number of ranks, with ragged blocks, in f64 and f32, for one λ and for a path.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local spec, plain_kernel, plain_algebra = require "spec", require "plain_kernel", require "plain_algebra"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet

local n, d, k = 90, 4, 3
local data = Matrix.randn(n, d, { seed = 3 })
local targets = Matrix.randn(n, k, { seed = 4 })
local tests = Matrix.randn(17, d, { seed = 5 })
local gamma_rbf, lambda = 0.4, 1e-3
local rbf = kbcd.kernel.rbf{ gamma = gamma_rbf }

-- Independent of the library: tables of numbers.
local function reference_kernel(A, B)
  local K = {}
  for i = 1, A.nrows do
    K[i] = {}
    for j = 1, B.nrows do
      local s = 0
      for c = 1, d do s = s + (A(i, c) - B(j, c)) ^ 2 end
      K[i][j] = math.exp(-gamma_rbf * s)
    end
  end
  return K
end

local product, transpose, solve = spec.table_product, plain_algebra.transpose, plain_algebra.solve
local add_diagonal = plain_algebra.add_diagonal

local function X_of(dtype) return DataSet(data):to(dtype or "f64") end
local Y = DataSet(targets)
local Xtest = DataSet(tests)

-- The whole of a matrix of which every rank has its rows.
local function whole(local_rows) return kbcd.gather(local_rows) end

local function last(steps)
  local step
  for s in steps do step = s end
  return step
end

local function full_reference(lam)
  return Matrix(solve(add_diagonal(reference_kernel(data, data), n * lam), targets:totable()))
end

spec.test("full kernel converges to (K + nλI)⁻¹Y", function()
  for _, partition in ipairs{ "fresh", "fixed", "regrouped" } do
    local step = last(kbcd.full_kernel(X_of(), Y, { kernel = rbf, lambda = 0.01, b = 25, epochs = 3000, tol = 1e-13,
      partition = partition }))
    spec.close(whole(step.model[1].coefficients), full_reference(0.01), 1e-8, partition)
    local scores = whole(step.model[1]:predict(Xtest))
    spec.close(scores, Matrix(product(reference_kernel(tests, data), full_reference(0.01):totable())), 1e-8, "predictions")
  end
end)

spec.test("random features converge to (ZᵀZ + nλI)⁻¹ZᵀY", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 40, seed = 9 }
  local Z = whole(kbcd.RandomFeaturesBlock(X_of(), Index.range(1, 40), map):dense()):totable()
  local Zt = transpose(Z)
  local w = Matrix(solve(add_diagonal(product(Zt, Z), n * lambda), product(Zt, targets:totable())))
  local step = last(kbcd.random_features(X_of(), Y, { map = map, lambda = lambda, b = 11, epochs = 5000, tol = 1e-14 }))
  spec.close(step.model[1].coefficients, w, 1e-8)
  local Zs = whole(kbcd.RandomFeaturesBlock(Xtest, Index.range(1, 40), map):dense())
  spec.close(whole(step.model[1]:predict(Xtest)), Zs * w, 1e-8, "predictions")
end)

spec.test("blocks of a map that computes neighbours together take its features in order", function()
  local map = kbcd.features.sorf{ kernel = rbf, p = 20, seed = 9 }
  assert(map.in_order and not kbcd.features.fourier{ kernel = rbf, p = 20 }.in_order)
  local Z = whole(kbcd.RandomFeaturesBlock(X_of(), Index.range(1, 20), map):dense())
  local w = kbcd.local_solve((Z:t() * Z):add_diagonal(n * 0.01), Z:t() * targets)
  local seen = {}
  local function choose(c)
    for i, block in ipairs(c.blocks) do seen[i] = block end
    return c.step
  end
  local o = { map = map, lambda = 0.01, b = 8, epochs = 2000, tol = 1e-13 }
  spec.close(last(kbcd.random_features(X_of(), Y, o)).model[1].coefficients, w, 1e-8, "the solution")
  o.choose, o.epochs = choose, 1
  last(kbcd.random_features(X_of(), Y, o))
  spec.equal(seen[1], Index.range(1, 8))
  spec.equal(seen[3], Index.range(17, 20))
end)

spec.test("Nyström converges to the direct solve", function()
  local p = 24
  for _, stabiliser in ipairs{ 0, 0.3 } do
    local o = { kernel = rbf, lambda = 0.01, p = p, b = 10, gamma = stabiliser, epochs = 8000, tol = 1e-13, seed = 7 }
    local step = last(kbcd.nystrom(X_of(), Y, o))
    local centres = data:take(Index.sample(n, p, { seed = 7, stream = 1 }))
    local K_J, K_JJ = reference_kernel(data, centres), reference_kernel(centres, centres)
    local H = product(transpose(K_J), K_J)
    for i = 1, p do for j = 1, p do H[i][j] = H[i][j] + n * 0.01 * K_JJ[i][j] end end
    add_diagonal(H, n * 0.01 * stabiliser)
    local alpha = solve(H, product(transpose(K_J), targets:totable()))
    spec.close(whole(step.model[1]:predict(Xtest)), Matrix(product(reference_kernel(tests, centres), alpha)), 1e-6,
      "gamma = " .. stabiliser)
  end
end)

-- The epoch as the paper prints it (corrected), on plain tables: the same on every number of ranks.
local function gauss_seidel(K, blocks)
  local A = {}
  for i = 1, n do A[i] = { 0, 0, 0 } end
  for _, block in ipairs(blocks) do
    local I = block:totable()
    local inside, H, R = {}, {}, {}
    for _, i in ipairs(I) do inside[i] = true end
    for s, i in ipairs(I) do
      H[s], R[s] = {}, {}
      for t, j in ipairs(I) do H[s][t] = K[i][j] + (i == j and n * lambda or 0) end
      for c = 1, k do
        R[s][c] = targets(i, c)
        for j = 1, n do if not inside[j] then R[s][c] = R[s][c] - K[i][j] * A[j][c] end end
      end
    end
    for s, row in ipairs(solve(H, R)) do A[I[s]] = row end
  end
  return A
end

spec.test("one epoch of the full kernel is block Gauss–Seidel in the drawn order", function()
  local o = { kernel = rbf, lambda = lambda, b = 25, seed = 11 }
  local blocks = Index.permutation(n, { seed = 11, stream = 2 }):partition(25)
  spec.equal(#blocks[4], 15, "ragged last block")
  local order, visited = Index.permutation(4, { seed = 11, stream = 3 }), {}
  for b = 1, 4 do visited[b] = blocks[order[b]] end
  local A = gauss_seidel(reference_kernel(data, data), visited)
  spec.close(whole(last(kbcd.full_kernel(X_of(), Y, o)).model[1].coefficients), Matrix(A), 1e-10)
  local f32 = last(kbcd.full_kernel(X_of("f32"), Y, o)).model[1]
  spec.close(whole(f32:predict(Xtest:to("f32"))), Matrix(product(reference_kernel(tests, data), A)), 1e-4, "f32 predictions")
end)

spec.test("regrouped epochs are block Gauss–Seidel on the drawn tiles", function()
  local o = { kernel = rbf, lambda = lambda, b = 25, seed = 11, epochs = 6 }
  local tiles = Index.permutation(n, { seed = 11, stream = 0 }):partition(5)
  local visited = {}
  for epoch = 1, 6 do  -- four partitions into groups; then these again, in another order
    local which = (epoch - 1) % 4 + 1
    local numbers = which == 1 and Index.range(1, 18) or Index.permutation(18, { seed = 11, stream = 2 * which + 1 })
    local groups = numbers:partition(5)
    local order = epoch > 4 and Index.permutation(#groups, { seed = 11, stream = 2 * epoch + 1 }) or Index.range(1, #groups)
    for at = 1, #groups do
      local group, parts = groups[order[at]], {}
      for i = 1, #group do parts[i] = tiles[group[i]] end
      visited[#visited + 1] = Index.concat(parts)
    end
  end
  local A = gauss_seidel(reference_kernel(data, data), visited)
  local step = last(kbcd.full_kernel(X_of(), Y, o))
  spec.equal(step.blocks, 4)
  spec.close(whole(step.model[1].coefficients), Matrix(A), 1e-10)
  -- Weights w are rows of √w Y and √w K √w; a start; no memory for the kernel; keep = "none".
  local w = Matrix.rand(n, 1, { seed = 5 }):add(0.5)
  local function with(more)
    local all = { kernel = rbf, lambda = 0.1, b = 25, seed = 11, epochs = 300, tol = 1e-12 }
    for name, value in pairs(more) do all[name] = value end
    return whole(last(kbcd.full_kernel(X_of(), Y, all)).model[1]:predict(Xtest))
  end
  local own_w = w:take(Index.range(X_of().first, X_of().first + X_of().local_n - 1))
  spec.close(with{ weights = own_w }, with{ weights = own_w, partition = "fresh" }, 1e-8, "weights")
  spec.close(with{ start = step.model }, with{ partition = "fresh" }, 1e-8, "start")
  spec.close(with{ keep = "none", epochs = 2, tol = 0 }, with{ partition = "fresh", epochs = 2, tol = 0 }, 0, "keep = none")
  local budget = kbcd.memory_budget()
  kbcd.memory_budget(20000)
  local small = with{ epochs = 2, tol = 0 }
  kbcd.memory_budget(budget)
  spec.close(small, with{ partition = "fresh", epochs = 2, tol = 0 }, 1e-9, "no memory for it")
end)

spec.test("one epoch of Nyström and of random features follows the listings", function()
  local p, b = 22, 8
  local J = Index.sample(n, p, { seed = 11, stream = 1 })
  local blocks = Index.permutation(p, { seed = 11, stream = 0 }):partition(b)
  local order = Index.permutation(#blocks, { seed = 11, stream = 3 })
  local map = kbcd.features.fourier{ kernel = rbf, p = p, seed = 2 }
  local centres = data:take(J)
  local K_J, K_JJ = Matrix(reference_kernel(data, centres)), Matrix(reference_kernel(centres, centres))
  local Z = whole(kbcd.RandomFeaturesBlock(X_of(), Index.range(1, p), map):dense())
  -- The listings' form: R loses the block, the block is solved, R gains it.
  local function epoch(F, S, stabiliser)
    local R, alpha = Matrix.zeros(n, k), Matrix.zeros(p, k)
    for i = 1, #blocks do
      local B = blocks[order[i]]
      local F_b, old = F:t():take(B):t(), alpha:take(B)
      local full = F_b + S(B)
      R = R - full * old
      local new = Matrix(solve((F_b:t() * F_b + stabiliser(B)):totable(), (F_b:t() * (targets - R)):totable()))
      R = R + full * new
      alpha:add_rows(B, new - old)
    end
    return alpha
  end
  local function S(B)
    local M = Matrix.zeros(n, #B)
    for j = 1, #B do M:set(J[B[j]], j, n * lambda) end
    return M
  end
  local nystrom = epoch(K_J, S, function(B)
    return K_JJ:take(B):t():take(B) * (n * lambda) + Matrix.eye(#B) * (n * lambda * 0.1)
  end)
  local o = { kernel = rbf, lambda = lambda, p = p, b = b, gamma = 0.1, seed = 11 }
  spec.close(last(kbcd.nystrom(X_of(), Y, o)).model[1].coefficients, nystrom, 1e-10, "Nyström")
  spec.close(whole(last(kbcd.nystrom(X_of("f32"), Y, o)).model[1]:predict(Xtest:to("f32"))),
    Matrix(reference_kernel(tests, centres)) * nystrom, 1e-4, "Nyström, f32")

  local w = epoch(Z, function(B) return Matrix.zeros(n, #B) end, function(B) return Matrix.eye(#B) * (n * lambda) end)
  local q = { map = map, lambda = lambda, b = b, seed = 11 }
  spec.close(last(kbcd.random_features(X_of(), Y, q)).model[1].coefficients, w, 1e-10, "random features")
  local Zs = whole(kbcd.RandomFeaturesBlock(Xtest, Index.range(1, p), map):dense())
  spec.close(whole(last(kbcd.random_features(X_of("f32"), Y, q)).model[1]:predict(Xtest:to("f32"))), Zs * w, 1e-4,
    "random features, f32")
end)

spec.test("a λ path equals separate runs", function()
  local lambdas = { 1e-2, 1e-4, 1e-3 }
  local map = kbcd.features.fourier{ kernel = rbf, p = 20 }
  local runs = {
    function(l) return kbcd.full_kernel(X_of(), Y, { kernel = rbf, lambda = l, b = 40, epochs = 2 }) end,
    function(l) return kbcd.nystrom(X_of(), Y, { kernel = rbf, lambda = l, p = 20, b = 7, gamma = 0.1, epochs = 2 }) end,
    function(l) return kbcd.random_features(X_of(), Y, { map = map, lambda = l, b = 7, epochs = 2 }) end,
  }
  for r, run in ipairs(runs) do
    local path = last(run(lambdas)).model
    local all = path:predict(Xtest)
    for l, lam in ipairs(lambdas) do
      local single = last(run(lam)).model[1]
      spec.equal(path[l].lambda, lam, "lambda")
      spec.close(path[l].coefficients, single.coefficients, 1e-12, "method " .. r)
      spec.close(all[l], single:predict(Xtest), 1e-12, "scores of method " .. r)
    end
  end
end)

spec.test("steps count epochs and blocks, and tol stops", function()
  local blocks, ends = 0, 0
  for step in kbcd.full_kernel(X_of(), Y, { kernel = rbf, lambda = lambda, b = 25, epochs = 3 }) do
    blocks, ends = blocks + 1, ends + (step.epoch_end and 1 or 0)
    spec.equal(step.blocks, 4, "blocks")
    spec.equal(step.block, (blocks - 1) % 4 + 1, "block")
    spec.equal(step.epoch, math.ceil(blocks / 4), "epoch")
  end
  spec.equal(blocks, 12, "steps")
  spec.equal(ends, 3, "epoch ends")
  local step = last(kbcd.full_kernel(X_of(), Y, { kernel = rbf, lambda = 1, b = n, epochs = 50, tol = 1e-10 }))
  spec.equal(step.epoch, 2, "one block solves it; the second epoch changes nothing")
end)

spec.test("test scores and fitted values follow the blocks, and the residual is theirs", function()
  local map = kbcd.features.fourier{ kernel = rbf, p = 20 }
  local lambdas, X = { 1e-2, 1e-3 }, X_of()
  local runs = {
    kbcd.full_kernel(X, Y, { kernel = rbf, lambda = lambdas, b = 40, epochs = 60, test = Xtest }),
    kbcd.nystrom(X, Y, { kernel = rbf, lambda = lambdas, p = 20, b = 7, gamma = 0.1, epochs = 2, test = Xtest }),
    kbcd.random_features(X, Y, { map = map, lambda = lambdas, b = 7, epochs = 2, test = Xtest }),
  }
  for r, run in ipairs(runs) do
    local step
    for s in run do
      step = s
      if s.epoch <= 2 then
        for l, scores in ipairs(s.model:predict(Xtest)) do
          spec.close(s.test_scores[l], scores, 1e-10, "test scores of method " .. r)
        end
      end
    end
    for l = 1, #lambdas do
      local prediction, fitted = whole(step.model[l]:predict(X)), whole(step.model:fitted()[l])
      spec.close(fitted, prediction, r == 1 and 1e-3 or 1e-9, "fitted values of method " .. r)  -- full: of the last visit
      if r > 1 then spec.close(step.residual[l], (targets - fitted):norm() / targets:norm(), 1e-10, "residual") end
    end
    if r == 1 then assert(step.residual[1] < 1e-3 and step.residual[1] > 0, "residual of the full kernel") end
  end
  spec.fails(function() kbcd.full_kernel(X, Y, { kernel = rbf, lambda = 1, test = data }) end, "test", "DataSet")
end)

spec.test("the kernel entries computed are those counted on paper", function()
  local function entries(steps)
    kbcd.timers.reset()
    last(steps)
    return kbcd.timers.count("kernel entries"), kbcd.timers.count("feature entries")
  end
  local map = kbcd.features.fourier{ kernel = rbf, p = 20 }
  local function full(o, method)
    o.kernel, o.lambda, o.b = rbf, { 1, 2 }, 25
    return entries((method or kbcd.full_kernel)(X_of(), Y, o))
  end
  local squares = 3 * 25 * 25 + 15 * 15                             -- the blocks K(I,I): three of 25 rows, one of 15
  local sampled = n * n                                             -- of the residual's rows: here all of them, once
  spec.equal(full{ epochs = 2, partition = "fresh" }, n * n + squares + sampled, "half: (n² + squares) / 2 an epoch")
  local tiles = 5 * 5 * 18 * 19 / 2                                 -- pairs of 18 tiles of 5 rows
  spec.equal(full{ epochs = 3 }, tiles + (kbcd.size() > 1 and 3 * squares or 0) + sampled, "regrouped: a triangle, once")
  local plain = full({ epochs = 2 }, plain_kernel)
  assert(plain <= 2 * n * n and plain >= 2 * n * n - 25 * (n - 25), "plain; only a product with zero makes none")
  spec.equal(full{ epochs = 3, partition = "fixed" }, (n * n + squares) / 2 + sampled, "half, kept")
  spec.equal(full({ epochs = 3, partition = "fixed" }, plain_kernel), n * n, "plain, kept")
  local checked = 64 * 20                                           -- scores of rows, compared with the residual once
  local nystrom = { kernel = rbf, lambda = 1, p = 20, b = 7, epochs = 3 }
  spec.equal(entries(kbcd.nystrom(X_of(), Y, nystrom)), n * 20 + 7 * 7 + 7 * 7 + 6 * 6 + checked, "Nyström, kept")
  nystrom.keep = "none"
  spec.equal(entries(kbcd.nystrom(X_of(), Y, nystrom)), 3 * n * 20 + 7 * 7 + 7 * 7 + 6 * 6 + checked,
    "Nyström, only factors kept")
  for epochs, keep in ipairs{ "exact", "none" } do
    local o = { map = map, lambda = 1, b = 7, epochs = 2, keep = keep }
    local _, features = entries(kbcd.random_features(X_of(), Y, o))
    spec.equal(features, epochs * n * 20 + checked, "random features, keep = " .. keep)
  end
end)

spec.test("what is kept, and how the kernel is generated, does not change the iterates", function()
  local function run(method, o, X)
    local all = { kernel = rbf, lambda = { 0.02, 0.001 }, b = 25, epochs = 4, partition = "fixed", seed = 3 }
    if method == kbcd.random_features then
      all.kernel, all.map = nil, kbcd.features.fourier{ kernel = rbf, p = 40 }
    elseif method == kbcd.nystrom then
      all.p, all.gamma = 40, 0.1
    end
    for key, value in pairs(o) do all[key] = value end
    local model = last(method(X or X_of(), Y, all)).model
    return Matrix.hcat{ whole(model[1]:predict(Xtest:to((X or X_of()).dtype))),
      whole(model[2]:predict(Xtest:to((X or X_of()).dtype))) }
  end
  local half = run(kbcd.full_kernel, { partition = "fresh" })
  spec.close(half, run(plain_kernel, { partition = "fresh" }), 1e-11, "half = plain")
  for _, name in ipairs{ "full_kernel", "nystrom", "random_features" } do
    local method = kbcd[name]
    spec.close(run(method, { keep = "exact" }), run(method, { keep = "none" }), 1e-10, name)
    local f32, f16 = run(method, {}, X_of("f32")), run(method, { keep = "f16" }, X_of("f32"))
    spec.close(f16, f32, 0.02, name .. " in f16")
    assert((f16 - f32):norm() > 0, name .. ": f16 was not used")
  end
  spec.close(run(plain_kernel, {}), run(plain_kernel, { keep = "none" }), 1e-10, "plain")
  spec.fails(function() run(kbcd.full_kernel, { keep = "f16" }) end, "f16", "f32 data")
  spec.fails(function() run(kbcd.full_kernel, { keep = "disk" }) end, "keep", "'none'")
end)

spec.test("a run frees the memory that it kept", function()
  local function kept_after_a_run()
    last(kbcd.full_kernel(X_of(), Y, { kernel = rbf, lambda = { 1, 2 }, b = 25, epochs = 2, partition = "fixed" }))
    return kbcd.allreduce(runtime.memory.reserved())
  end
  local first = kept_after_a_run()
  assert(first > 8 * n * n / 4, "nothing was kept")
  for _ = 1, 5 do assert(kept_after_a_run() <= 2 * first, "it piles up") end  -- of one run that nobody has collected yet
end)

spec.test("a block that is streamed gives the same model", function()
  local o = { kernel = rbf, lambda = lambda, b = 40, epochs = 2, partition = "fixed" }
  local kept = last(kbcd.full_kernel(X_of(), Y, o)).model[1].coefficients:clone()
  local budget = kbcd.memory_budget()
  kbcd.memory_budget(1000)
  local streamed = last(kbcd.full_kernel(X_of(), Y, o)).model[1].coefficients
  local nys = last(kbcd.nystrom(X_of(), Y, { kernel = rbf, lambda = lambda, p = 30, b = 11, gamma = 0.1 })).model[1]
  kbcd.memory_budget(budget)
  spec.close(streamed, kept, 1e-12)
  local nys_kept = last(kbcd.nystrom(X_of(), Y, { kernel = rbf, lambda = lambda, p = 30, b = 11, gamma = 0.1 })).model[1]
  spec.close(nys.coefficients, nys_kept.coefficients, 1e-10)
end)

spec.test("more ranks than rows", function()
  local X3, Y3 = DataSet(data:rows(1, 3)), DataSet(targets:rows(1, 3))
  local K = reference_kernel(data:rows(1, 3), data:rows(1, 3))
  local alpha = Matrix(solve(add_diagonal(K, 3 * 0.1), targets:rows(1, 3):totable()))
  local step = last(kbcd.full_kernel(X3, Y3, { kernel = rbf, lambda = 0.1, b = 2, epochs = 500, tol = 1e-14 }))
  spec.close(whole(step.model[1].coefficients), alpha, 1e-9)
  last(kbcd.nystrom(X3, Y3, { kernel = rbf, lambda = 0.1, p = 2, b = 2 }))
end)

spec.test("bad input is refused at once", function()
  local X, o = X_of(), { kernel = rbf, lambda = 1 }
  local function with(changes)
    local all = {}
    for key, value in pairs(o) do all[key] = value end
    for key, value in pairs(changes) do all[key] = value end
    return all
  end
  spec.fails(function() kbcd.full_kernel(X, Y, with{ b = 91 }) end, "b = 91 is larger than n = 90")
  spec.fails(function() kbcd.full_kernel(X, Y, with{ lambda = 0 }) end, "lambda", "> 0")
  spec.fails(function() kbcd.full_kernel(X, Y, with{ lambda = {} }) end, "at least one")
  spec.fails(function() kbcd.full_kernel(X, Y, with{ epoch = 3 }) end, "unknown option 'epoch'", "epochs", "partition")
  spec.fails(function() kbcd.full_kernel(X, Y, with{ partition = "new" }) end, "'fixed', 'fresh'", "'new'")
  spec.fails(function() kbcd.full_kernel(X, Y, { lambda = 1 }) end, "kernel is missing")
  spec.fails(function() kbcd.full_kernel(data, Y, o) end, "DataSet expected, got Matrix")
  spec.fails(function() kbcd.full_kernel(X, DataSet(targets:rows(1, 80)), o) end, "X has 90 rows, Y has 80")
  spec.fails(function() kbcd.nystrom(X, Y, with{ p = 91 }) end, "p = 91 is larger than n = 90")
  spec.fails(function() kbcd.nystrom(X, Y, with{ p = 10, b = 11 }) end, "b = 11 is larger than p = 10")
  spec.fails(function() kbcd.nystrom(X, Y, with{ p = 10, gamma = -1 }) end, "gamma", ">= 0")
  spec.fails(function() kbcd.random_features(X, Y, { map = 3, lambda = 1 }) end, "map")
  spec.fails(function() DataSet(Matrix.zeros(0, 3)) end, "at least one row")
  if X.rows.nrows > 0 and kbcd.size() == 1 then
    local bad = data:clone():set(5, 2, 0 / 0)
    spec.fails(function() DataSet(bad) end, "row 5, column 2", "nan")
  end
end)

spec.finish()
