-- kbcd.rates against hand: L_eff of tiny matrices, expectations by the list of all blocks, the bound over the runs, the
-- block-diagonal example of the paper; kbcd.circle_kernels against the sums they stand for.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, rates = kbcd.Matrix, kbcd.Index, kbcd.rates

local d = 5
local H = Matrix{ { 4, 1, 0.5, 0, 1 }, { 1, 3, 1, 0.2, 0 }, { 0.5, 1, 2, 0.3, 0.1 }, { 0, 0.2, 0.3, 1, 0.4 },
  { 1, 0, 0.1, 0.4, 2 } }
local c = Matrix{ { 1 }, { -2 }, { 0.5 }, { 3 }, { 1 } }

local all_blocks = {}  -- every block of 2 of 5
for i = 1, d do for j = i + 1, d do table.insert(all_blocks, { i, j }) end end

spec.test("L_eff by hand", function()
  local two = rates.bound(Matrix{ { 2, 1 }, { 1, 2 } }, 1)  -- eigenvalues 1 and 3
  spec.close(two.L, 3, 1e-12)
  spec.close(two.m, 1, 1e-12)
  spec.close(two.L_eff, 7.389056098930650 * 3 + 2 * 2.0794415416798357 * 2, 1e-12)  -- e²·3 + (2/1)·log 8·2
  spec.close(two.factor, 1 - 1 / (2 * two.L_eff), 1e-12)
  local three = rates.bound(Matrix{ { 1, 0, 0 }, { 0, 2, 0 }, { 0, 0, 3 } }, 2)
  spec.close(three.L_eff, 7.389056098930650 * 3 + 1.5 * 2.1972245773362196 * 3, 1e-12)  -- e²·3 + (3/2)·log 9·3
end)

-- λ_max of a 2 x 2 block is ½ (a + c + √((a − c)² + 4b²)); the theorem's (b/d) L_eff is over its mean, and over all but a
-- share b/(2d) of the blocks, as its proof has it.
spec.test("(b/d) L_eff is over the blocks' largest eigenvalues", function()
  local limit, sum, over = 2 / d * rates.bound(H, 2).L_eff, 0, 0
  for _, block in ipairs(all_blocks) do
    local a, e, o = H(block[1], block[1]), H(block[2], block[2]), H(block[1], block[2])
    local top = (a + e + math.sqrt((a - e) ^ 2 + 4 * o ^ 2)) / 2
    sum = sum + top
    if top >= limit then over = over + 1 end
  end
  assert(sum / #all_blocks <= limit, sum / #all_blocks)
  assert(over / #all_blocks <= 2 / (2 * d), over)
end)

-- E f(w^t) − f* exactly: ½ eᵀ M_t e with M_0 = H and M_{t+1} the mean of A_Iᵀ M_t A_I over all blocks I, where the update
-- takes the error e to A_I e; rows I of A_I are those of 1 − H_II⁻¹ H_I, the others those of 1.
local function exact_gaps(updates)
  local steps, M, error_at_0, gaps = {}, H, kbcd.local_solve(H, c) * -1, {}
  for k, block in ipairs(all_blocks) do
    local i, j = block[1], block[2]
    local determinant, A = H(i, i) * H(j, j) - H(i, j) ^ 2, Matrix.eye(d)
    for l = 1, d do
      A:set(i, l, A(i, l) - (H(j, j) * H(i, l) - H(i, j) * H(j, l)) / determinant)
      A:set(j, l, A(j, l) - (H(i, i) * H(j, l) - H(i, j) * H(i, l)) / determinant)
    end
    steps[k] = A
  end
  local start = error_at_0:dot(H * error_at_0)
  for t = 1, updates do
    local mean = Matrix.zeros(d, d)
    for _, A in ipairs(steps) do mean:add(A:t() * M * A, 1 / #steps) end
    M = mean
    gaps[t] = error_at_0:dot(M * error_at_0) / start
  end
  return gaps
end

spec.test("the exact expected gap is under the bound, and the runs agree with it", function()
  local exact, factor = exact_gaps(60), rates.bound(H, 2).factor
  for t, gap in ipairs(exact) do assert(gap <= factor ^ t, t) end
  local seen = rates.descend(H, c, 2, { runs = 3000, updates = 6, seed = 5 })
  spec.equal(#seen, 6)
  for t = 1, 6 do spec.close(seen[t], exact[t], 0.08, "gap after " .. t) end
end)

spec.test("random quadratics stay under the bound, whatever b", function()
  for _, b in ipairs{ 1, 5, 13, 40 } do
    local A = Matrix.randn(60, 40, { seed = b })
    local s = rates.compare(A:gram(), Matrix.randn(40, 1, { seed = b + 1 }), b, { runs = 4, reduction = 1e4, seed = 1 })
    assert(s.above <= 1, ("b = %d: %g over the bound"):format(b, s.above))
    assert(s.observed < s.bound and s.gaps[#s.gaps] <= 1e-4, "b = " .. b)
    for t = 2, #s.gaps do assert(s.gaps[t] <= s.gaps[t - 1] * (1 + 1e-9), "an update never makes it worse") end
    if b == 40 then spec.equal(s.observed, 1, "a block of everything") end
  end
end)

local function block_diagonal(size, lambda)
  return spec.make(size ^ 2, size ^ 2, function(i, j)
    return (i == j and lambda or 0) + (math.ceil(i / size) == math.ceil(j / size) and 1 or 0)
  end)
end

spec.test("the block-diagonal example: √d rather than d", function()
  local all = {}
  for _, size in ipairs{ 4, 12 } do
    local s = rates.compare(block_diagonal(size, 0.1), Matrix.randn(size ^ 2, 1, { seed = 2 }), size, { runs = 6, seed = 1 })
    spec.close(s.L, size + 0.1, 1e-9)
    spec.close(s.m, 0.1, 1e-9)
    spec.close(s.L_eff, math.exp(2) * s.L + size * math.log(2 * size ^ 3) * 1.1, 1e-9)
    spec.close(s.standard, size * (size + 0.1) / 0.1 * math.log(1e6), 0.01)  -- d L / (b m)
    assert(s.above <= 1)
    all[#all + 1] = s
  end
  local function power(key) return math.log(all[2][key] / all[1][key]) / math.log(9) end  -- d grows 9 times
  assert(power "standard" > 0.95, power "standard")
  assert(power "bound" < 0.75 and power "observed" < 0.75, power "bound" .. " " .. power "observed")
  -- √d coordinates at a time need at least √d / 2 times fewer updates than one.
  local single = rates.compare(block_diagonal(12, 0.1), Matrix.randn(144, 1, { seed = 2 }), 1, { runs = 1, seed = 1 })
  assert(single.observed > 6 * all[2].observed, single.observed .. " " .. all[2].observed)
end)

local function grid(n)
  return kbcd.DataSet.generate(n, 1, function(first, last)
    return spec.make(last - first + 1, 1, function(i) return (first + i - 1) / n end)
  end)
end

local circles = { kbcd.circle_kernels.exponential(0.6), kbcd.circle_kernels.polynomial() }

spec.test("circle kernels have their spectrum, and features of the same kernel", function()
  local n, p = 12, 3000
  local X = grid(n)
  for _, circle in ipairs(circles) do
    local expected, sum = {}, 0
    for k = 1, n do expected[k] = 0 end
    for l = 0, 40000 do  -- a cosine of frequency l is, on the grid, half of frequency l and half of −l, modulo n
      local a, rest = circle.coefficient(l), l % n
      sum = sum + a
      expected[rest + 1] = expected[rest + 1] + a * n / 2
      expected[(n - rest) % n + 1] = expected[(n - rest) % n + 1] + a * n / 2
    end
    spec.close(sum, 1, 1e-4, "the coefficients' sum")
    table.sort(expected)
    local K = kbcd.gather(kbcd.KernelBlock(X, Index.range(1, n), circle.kernel):dense())
    spec.close((K:eig()), spec.make(n, 1, function(i) return expected[i] end), 1e-4, "the spectrum")
    local Z = kbcd.gather(kbcd.RandomFeaturesBlock(X, Index.range(1, p), circle.map(p, 7)):dense())
    spec.close(Z * Z:t(), K, 5 / math.sqrt(p), "features")
    local some = kbcd.gather(kbcd.RandomFeaturesBlock(X, Index{ 9, 2 }, circle.map(p, 7)):dense())
    spec.close(some, Matrix.hcat{ Z:cols(9), Z:cols(2) }, 1e-12, "a block of features")
  end
end)

spec.test("the system of a method has the method's solution", function()
  local n, p, lambda = 30, 8, 1e-2
  local X, circle = grid(n), circles[1]
  local y = Matrix.randn(X.local_n, 1, { seed = 8, first_row = X.first })
  local function solution(o)
    o.lambda = lambda
    return kbcd.local_solve(rates.system(X, y, o))
  end
  local function solved(steps)  -- by one block of everything
    local last
    for step in steps do last = step end
    return last.model[1].coefficients
  end
  local kernel, map = circle.kernel, circle.map(p, 3)
  spec.close(solution({ kernel = kernel }),
    kbcd.gather(solved(kbcd.full_kernel(X, y, { kernel = kernel, lambda = lambda, b = n }))), 1e-8, "full_kernel")
  spec.close(solution({ kernel = kernel, p = p, gamma = 0.2, seed = 6 }),
    solved(kbcd.nystrom(X, y, { kernel = kernel, lambda = lambda, p = p, b = p, gamma = 0.2, seed = 6 })), 1e-8, "nystrom")
  spec.close(solution({ map = map }),
    solved(kbcd.random_features(X, y, { map = map, lambda = lambda, b = p })), 1e-8, "random_features")
end)

spec.test("what is wrong is reported", function()
  spec.fails(function() rates.bound(Matrix.zeros(2, 3), 1) end, "rates.bound", "square Matrix", "2x3")
  spec.fails(function() rates.bound(3, 1) end, "square Matrix", "number")
  spec.fails(function() rates.bound(Matrix{ { 1, 2 }, { 0, 1 } }, 1) end, "symmetric")
  spec.fails(function() rates.bound(Matrix{ { 1, 0 }, { 0, 0 / 0 } }, 1) end, "finite")
  spec.fails(function() rates.bound(Matrix{ { 1, 2 }, { 2, 1 } }, 1) end, "not positive definite", "-1")
  for _, b in ipairs{ 0, 6, 1.5, "two" } do spec.fails(function() rates.bound(H, b) end, "1..5", tostring(b)) end
  spec.fails(function() rates.descend(H, c, 2, { run = 3 }) end, "unknown option 'run'", "runs")
  spec.fails(function() rates.descend(H, c, 2, { reduction = 1 }) end, "reduction", "> 1")
  spec.fails(function() rates.descend(H, Matrix.ones(4, 1), 2) end, "5x1")
  spec.fails(function() rates.descend(H, Matrix.zeros(5, 1), 2) end, "not 0")
  spec.fails(function() rates.system(grid(3), Matrix.ones(1, 1), { lambda = 1 }) end, "a kernel or a map")
  local X = grid(6)
  spec.fails(function()
    rates.system(X, Matrix.ones(X.local_n, 1), { kernel = circles[1].kernel, p = 7, lambda = 1 })
  end, "p = 7", "n = 6")
  spec.fails(function() kbcd.circle_kernels.exponential(1) end, "0 < r < 1")
end)

spec.finish()
