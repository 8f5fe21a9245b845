-- kmeanspp: the seeds of k-means++ (Arthur and Vassilvitskii 2007) in the kernel's feature space. Row i is drawn in
-- proportion to D_i = min_c ‖φ(x_i) − φ(c)‖² over the centres c that were drawn before,
--
--     ‖φ(x) − φ(c)‖² = K(x, x) − (2 K(x, c) − K(c, c)),
--
-- the first one uniformly.
--
-- In blocks, with rejection: b rows are drawn i.i.d. in proportion to D; in their order, each is accepted with probability
-- D_new / D, where D_new knows those accepted before it in the block. This draws exactly as one centre after the other would,
-- and K([n], c) is evaluated for a block of centres at a time, p n times in all.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs["centers.kmeanspp"] = [[centers.kmeanspp(X, p, kernel [, options])
J, D: p rows of X as k-means++ draws its seeds, each in proportion to the squared distance, in the kernel's feature space,
from those drawn before; and this rank's rows of the squared distances from J (n x 1). options: seed, stream = 1, b = p / 10
(drawn at a time, 1 to 256), tol = 1e-6 of f32 and 1e-12 of f64 data: rows nearer than that part of the largest K(x, x) are
equal, and where all rows equal a centre before p are found, the rest of J is drawn uniformly.]]

local rows_at_once = 4096

-- max_c 2 K(x, c) − K(c, c) over rows C and, where given, those before, for this rank's rows x.
local function nearest(before, X, C, kernel, diagonal)
  local K = kbcd.KernelBlock(X, C, kernel, { keep = "none" })
  local own = kbcd.allreduce(kbcd.Selector(X.n, C):t() * diagonal):t()
  local result = Matrix.zeros(X.local_n, 1)
  for first = 1, X.local_n, rows_at_once do
    local last = math.min(X.local_n, first + rows_at_once - 1)
    local largest = K:dense(first, last):to("f64"):scale(2):sub(own):max(2)
    result:rows(first, last):copy(before and Matrix.hcat{ before:rows(first, last), largest }:max(2) or largest)
  end
  return result
end

-- The draws S that are accepted, at most `most`. d: their weights, squared distances less `least`.
local function accepted(S, d, X, kernel, u, least, most)
  local K = kbcd.KernelBlock(X, S, kernel, { keep = "none" }):square():to("f64")
  local list, taken = {}, {}
  for j = 1, #S do
    local new = taken[S[j]] and 0 or d(j, 1)
    for _, c in ipairs(list) do new = math.min(new, K(j, j) + K(c, c) - 2 * K(j, c) - least) end
    if #list < most and u(j, 2) * d(j, 1) < new then list[#list + 1], taken[S[j]] = j, true end
  end
  return S:take(Index(list))
end

return function(X, p, kernel, given)
  if options.count(p) or p > X.n then
    error(("centers.kmeanspp: p in 1..%d expected, got %s"):format(X.n, tostring(p)), 2)
  end
  local o = options.read("centers.kmeanspp", given or {}, {
    seed = { options.seed, runtime.seed() }, stream = { options.seed, 1 },
    b = { options.count, math.max(1, math.min(256, math.ceil(p / 10))) },
    tol = { options.not_negative, X.dtype == "f32" and 1e-6 or 1e-12 },
  })
  local diagonal = kbcd.kernel_diagonal(X, kernel)
  local least = o.tol * kbcd.allreduce_max(diagonal.nrows > 0 and diagonal:max() or 0)
  local near, D
  local weights, parts, found, round = Matrix.ones(X.n, 1), {}, 0, 0  -- weights: in the order of rows
  while found < p and weights:max() > 0 do
    round = round + 1
    -- The first column chooses rows in proportion to their weights, the second accepts them; the first centre comes alone.
    local u = Matrix.rand(found == 0 and 1 or o.b, 2, { seed = o.seed, stream = o.stream * 2 ^ 16 + round % 2 ^ 16 })
    local S = runtime.pivots.draw(weights, u)
    local C = accepted(S, weights:take(S), X, kernel, u, least, p - found)
    near = nearest(near, X, C, kernel, diagonal)
    D = (diagonal - near):clamp(0, math.huge)
    found, parts[#parts + 1] = found + #C, C
    for _, part in ipairs(parts) do
      local here = X:local_rows(part)
      for i = 1, #here do D:set(here[i], 1, 0) end  -- and not what rounding leaves
    end
    weights = kbcd.gather(D):sub(least):clamp(0, math.huge)
  end
  local J = Index.concat(parts)
  if found < p then
    local rest = Index.permutation(X.n, { seed = o.seed, stream = o.stream * 2 ^ 16 }):without(J)
    J = Index.concat{ J, rest:slice(1, p - found) }
  end
  return J, D
end
