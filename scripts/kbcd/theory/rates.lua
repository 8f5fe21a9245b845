-- rates: how fast block coordinate descent converges on a quadratic f(w) = ½ wᵀHw − cᵀw, in theory and in runs. Each
-- update takes a fresh block I of b of the d coordinates, uniformly without replacement, and solves it exactly:
--
--     w_I ← w_I − H_II⁻¹ g_I,     g = Hw − c
--
-- Theorem 1 of the paper: E f(w^τ) − f* ≤ (1 − m/(2 L_eff))^τ (f(w⁰) − f*) with m, L the least and largest eigenvalue of H,
--
--     L_eff = e² L + (d/b) log(2d²/b) max_i H_ii
--
-- H is small enough for its eigenvalues: it is on every rank, and every rank computes the same.

local kbcd = require "kbcd"
local targets = require "kbcd.descent.targets"
local runtime = require "kbcd.runtime"
local streams = require "kbcd.support.streams"
local options = require "kbcd.descent.options"
local Index = kbcd.Index

local rates = {}

local function check(owner, H, b)
  if kbcd.type(H) ~= "Matrix" or H.nrows ~= H.ncols or H.nrows == 0 then
    error(("rates.%s: a square Matrix H expected, got %s"):format(owner, kbcd.type(H) == "Matrix" and
      H.nrows .. "x" .. H.ncols or kbcd.type(H)), 3)
  end
  local largest = H:clone():abs():max()
  if not (largest < math.huge and H:equals(H:t(), 1e-9 * largest)) then
    error(("rates.%s: H must be symmetric and finite"):format(owner), 3)
  end
  if not (type(b) == "number" and b >= 1 and b <= H.nrows and b % 1 == 0) then
    error(("rates.%s: a block size b in 1..%d expected, got %s"):format(owner, H.nrows, tostring(b)), 3)
  end
end

runtime.docs.rates = [[rates
How fast block coordinate descent converges on a quadratic: the bound of the paper's Theorem 1, and runs beside it.]]
runtime.docs["rates.bound"] = [[rates.bound(H, b)
The bound of Theorem 1 for block coordinate descent with random blocks of b on a quadratic with the Hessian H (symmetric,
positive definite): a table with L and m (its largest and least eigenvalue), L_eff, and factor = 1 - m / (2 L_eff): an
update multiplies the expected gap to the optimum by that, or by less.]]
function rates.bound(H, b)
  check("bound", H, b)
  local d, largest, values = H.nrows, 0, H:eig()
  local L, m = values(d, 1), values(1, 1)
  if m <= 0 then error(("rates.bound: H is not positive definite, its least eigenvalue is %g"):format(m), 2) end
  for i = 1, d do largest = math.max(largest, H(i, i)) end
  local L_eff = math.exp(2) * L + d / b * math.log(2 * d ^ 2 / b) * largest
  return { L = L, m = m, L_eff = L_eff, factor = 1 - m / (2 * L_eff) }
end

runtime.docs["rates.updates"] = [[rates.updates(factor, reduction)
How many updates make a gap `reduction` times smaller when each multiplies it by `factor`.]]
function rates.updates(factor, reduction) return math.ceil(math.log(reduction) / -math.log(factor)) end

local function more_than_one(x) return not (type(x) == "number" and x > 1) and "a number > 1" or nil end

runtime.docs["rates.descend"] = [[rates.descend(H, c, b, options)
Runs block coordinate descent on w'Hw/2 - c'w (c: d x 1) from w = 0, several times with other random blocks. Returns the
mean gaps: list[t] is that after t updates, as a share of the one at the start. options: runs = 8; reduction = 1e6 (stops
when the mean gap is so many times smaller); updates = 100000 (or after so many); seed.]]
function rates.descend(H, c, b, given)
  check("descend", H, b)
  local o = options.read("rates.descend", given or {}, {
    runs = { options.count, 8 }, reduction = { more_than_one, 1e6 }, updates = { options.count, 100000 },
    seed = { options.seed, kbcd.seed() },
  })
  local d, error_of, g, gaps = H.nrows, {}, {}, {}
  if kbcd.type(c) ~= "Matrix" or c.nrows ~= d or c.ncols ~= 1 then
    error(("rates.descend: a %dx1 Matrix c expected"):format(d), 2)
  end
  for r = 1, o.runs do error_of[r], g[r] = kbcd.local_solve(H, c):scale(-1), c * -1 end  -- w − w*, and Hw − c, for w = 0
  local start = o.runs * error_of[1]:dot(g[1])  -- f(w) − f* is half the product of the two
  if start == 0 or start ~= start then error("rates.descend: c must be finite, and not 0: there is no gap to close", 2) end
  for t = 1, o.updates do
    local sum = 0
    for r = 1, o.runs do
      local I = Index.sample(d, b, { seed = o.seed, stream = t * o.runs + r })
      local H_I = H:take(I)
      local Delta = kbcd.local_solve(H_I:t():take(I), g[r]:take(I)):scale(-1)
      error_of[r]:add_rows(I, Delta)
      g[r]:add(H_I:t() * Delta)
      sum = sum + error_of[r]:dot(g[r])
    end
    gaps[t] = sum / start
    if gaps[t] * o.reduction <= 1 then break end
  end
  return gaps
end

runtime.docs["rates.system"] = [[rates.system(X, Y, options)
H, c of the quadratic that block descent works on, on every rank: with a kernel, K + n lambda I and Y; with a kernel and p
centres, K_J'K_J + n lambda K_JJ + n lambda gamma I and K_J'Y; with a map, Z'Z + n lambda I and Z'Y. options: lambda; kernel;
p, gamma = 0, seed (the centres are those that nystrom draws); map.]]
function rates.system(X, Y, given)
  local o = options.read("rates.system", given, {
    lambda = { options.not_negative }, kernel = { options.maybe(options.kernel), false },
    map = { options.maybe(options.map), false }, p = { options.maybe(options.count), false },
    gamma = { options.not_negative, 0 }, seed = { options.seed, kbcd.seed() },
  })
  if (o.kernel and true) == (o.map and true) then error("rates.system: a kernel or a map expected, and not both", 2) end
  Y = targets("rates.system", X, Y)
  local n, ridge = X.n, X.n * o.lambda
  if o.map then
    local Z = kbcd.RandomFeaturesBlock(X, Index.range(1, o.map.p), o.map)
    return kbcd.allreduce(Z:gram("f64")):add_diagonal(ridge), kbcd.allreduce(Z:t() * Y)
  elseif not o.p then
    local K = kbcd.gather(kbcd.KernelBlock(X, Index.range(1, n), o.kernel):dense()):to("f64")
    return K:add_diagonal(ridge), kbcd.gather(Y)
  end
  if o.p > n then error(("rates.system: p = %d is larger than n = %d"):format(o.p, n), 2) end
  local J = Index.sample(n, o.p, { seed = o.seed, stream = streams.centers })
  local K_J = kbcd.KernelBlock(X, J, o.kernel)
  local H = kbcd.allreduce(K_J:gram("f64")):add(K_J:rows(J), ridge)
  return H:add_diagonal(ridge * o.gamma), kbcd.allreduce(K_J:t() * Y)
end

runtime.docs["rates.compare"] = [[rates.compare(H, c, b, options)
rates.bound and rates.descend of one problem, side by side: a table with d, b, L, m, L_eff, factor, gaps; how many updates
make the gap options.reduction times smaller by Theorem 1 (bound), by the standard theory with L for L_max,b (standard:
the factor is 1 - b m / (d L)) and in the runs (observed; nil where options.updates were not enough); above = the largest
mean gap over its bound.]]
function rates.compare(H, c, b, given)
  local result, gaps = rates.bound(H, b), rates.descend(H, c, b, given)
  local reduction = given and given.reduction or 1e6
  result.d, result.b, result.gaps, result.above = H.nrows, b, gaps, 0
  result.observed = gaps[#gaps] * reduction <= 1 and #gaps or nil
  for t, gap in ipairs(gaps) do result.above = math.max(result.above, gap / result.factor ^ t) end
  result.bound = rates.updates(result.factor, reduction)
  result.standard = rates.updates(1 - b * result.m / (H.nrows * result.L), reduction)
  return result
end

runtime.docs["rates.curves"] = [[rates.curves(compared, title, color)
Two curves for line_plot from the result of rates.compare: the gap after each update and, dashed and without a title, its
bound.]]
function rates.curves(compared, title, color)
  local t, far, bound = {}, {}, {}
  for i in ipairs(compared.gaps) do t[i] = i end
  for i = 0, 200 do
    far[i + 1] = compared.bound ^ (i / 200)
    bound[i + 1] = compared.factor ^ far[i + 1]
  end
  return { title = title, x = t, y = compared.gaps, color = color },
    { x = far, y = bound, color = color, dash = 2 }
end

return rates
