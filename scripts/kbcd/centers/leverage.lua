-- leverage: rows drawn in proportion to approximate ridge leverage scores ℓ_i(λ) = (K (K + nλ I)⁻¹)_ii, after BLESS (Rudi,
-- Calandriello, Carratino and Rosasco 2018). From a dictionary D of rows with weights a, the scores of any rows are near
--
--     ℓ_i = (k_ii − k_iD (K_DD + nλ diag(a))⁻¹ k_Di) / (nλ)
--
-- where a_i is the probability with which row i came into D. λ falls by the factor `step` from where a few rows are enough
-- to the one wanted. At each λ, about q κ² / λ rows U are drawn uniformly, of which row i stays in the new D with probability
-- min(1, q ℓ_i n / |U|), so that D has about q Σ ℓ rows; ℓ comes from the dictionary before. At last the scores of all rows,
-- by the last dictionary, give the centres.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs["centers.leverage"] = [[centers.leverage(X, p, kernel [, options])
J, scores: p rows of X without replacement, in proportion to their approximate ridge leverage scores, and this rank's rows of
the scores (n x 1). options: lambda (unless given, about that of which the scores sum to p), seed, stream = 1, q = 5 (larger
dictionaries and better scores), step = 4 (the factor from one lambda to the next), most = p (rows of a
dictionary).]]

local function positive(x) return not (type(x) == "number" and x > 0 and x < math.huge) and "a number > 0" or nil end
local function above_one(x) return not (type(x) == "number" and x > 1 and x < math.huge) and "a number > 1" or nil end

local rows_at_once = 4096

-- The scores, of this rank's share of the rows of Z, by the dictionary.
local function scores(Z, diagonal, kernel, dictionary, ridge)
  if not dictionary then return diagonal:clone():scale(1 / ridge):clamp(0, 1) end
  local K = kbcd.KernelBlock(Z, Index.range(1, dictionary.count), kernel, { centers = dictionary.data, keep = "none" })
  local system = K:square():to("f64"):add_diagonal(dictionary.weights * ridge)
  local L = kbcd.chol(system, { jitter = true }).lower
  local result = Matrix.zeros(Z.local_n, 1)
  for first = 1, Z.local_n, rows_at_once do
    local last = math.min(Z.local_n, first + rows_at_once - 1)
    local V = L:trsolve(K:dense(first, last):t())
    result:rows(first, last):copy(diagonal:rows(first, last)):sub(V:square():sum(1):t())
  end
  return result:scale(1 / ridge):clamp(1e-12, 1)
end

-- The rows of U that stay, each with its probability, at most about o.most of them; the likeliest if it would be none.
local function chosen(X, U, probabilities, o, stream)
  local expected = probabilities:sum()
  if expected > o.most then probabilities:scale(o.most / expected) end
  local u, list, best = Matrix.rand(#U, 1, { seed = o.seed, stream = stream }), {}, 1
  for i = 1, #U do
    if u(i, 1) < probabilities(i, 1) then list[#list + 1] = i end
    if probabilities(i, 1) > probabilities(best, 1) then best = i end
  end
  local picks = Index(#list > 0 and list or { best })
  local rows = U:take(picks)
  return { count = #rows, data = X:subset(rows), weights = probabilities:take(picks):scale(#U / X.n) }
end

return function(X, p, kernel, given)
  local n = X.n
  if options.count(p) or p > n then
    error(("centers.leverage: p in 1..%d expected, got %s"):format(n, tostring(p)), 2)
  end
  local o = options.read("centers.leverage", given or {}, {
    lambda = { options.maybe(positive), false }, seed = { options.seed, runtime.seed() }, stream = { options.seed, 1 },
    q = { positive, 5 }, step = { above_one, 4 }, most = { options.count, p },
  })
  local diagonal = kbcd.kernel_diagonal(X, kernel)
  local all = kbcd.gather(diagonal)
  local kappa2 = all:max()
  if kappa2 <= 0 then error("centers.leverage: the diagonal of the kernel matrix is 0", 2) end
  local least = o.lambda or kappa2 / n * 1e-6
  local lambda, dictionary, round = all:mean(), nil, 0
  local function stream() round = round + 1 return o.stream * 2 ^ 16 + round end
  repeat
    lambda = math.max(least, lambda / o.step)
    local ridge, count = n * lambda, math.min(n, math.max(64, math.ceil(o.q * kappa2 / lambda)))
    local U = Index.sample(n, count, { seed = o.seed, stream = stream() })
    local Z = X:subset(U)
    local mine = U:slice(Z.first, Z.first + Z.local_n - 1)
    local l = kbcd.gather(scores(Z, all:take(mine), kernel, dictionary, ridge))
    local enough = not o.lambda and n / count * l:sum() >= p  -- as many as the effective dimension
    dictionary = chosen(X, U, l:scale(o.q * n / count):clamp(0, 1), o, stream())
  until lambda <= least or enough
  local own = scores(X, diagonal, kernel, dictionary, n * lambda)
  return Index.weighted(kbcd.gather(own), p, { seed = o.seed, stream = stream() }), own
end
