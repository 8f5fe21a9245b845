-- rpcholesky: randomly pivoted Cholesky in blocks, with rejection (Chen, Epperly, Tropp and Webber; Epperly, Tropp and Webber
-- 2024). F Fᵀ ≈ K is built from pivots that are drawn in proportion to d = diag(K − F Fᵀ):
--
--     draw S: b rows, i.i.d. ∝ d;     H = K(S, S) − F_S F_Sᵀ
--     for each j of S, in order:  accept it with probability H_jj / d_j, and then eliminate it from H
--     G = (K([n], S) − F F_Sᵀ) L⁻ᵀ of those accepted, H = L Lᵀ;     F ← [F G],     d ← d − rowsums(G²)
--
-- which draws exactly as one pivot after the other would, for the price of products with blocks. K is evaluated p n times.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs["centers.rpcholesky"] = [[centers.rpcholesky(X, p, kernel [, options])
J, F: p pivots of randomly pivoted Cholesky, in the order they were drawn, and, where options.factor is true, this rank's
rows of the n x p factor F with F F' near K (exact in rows and columns J). It takes n p / ranks numbers of f64.
options: seed, stream = 1, b = p / 10 (drawn at a time, 1 to 256), factor = false, tol = 1e-6 of f32 and 1e-12 of f64 data:
when the trace of K - F F' falls to tol of that of K before p pivots are found, the rest of J is drawn uniformly and adds
nothing to F.]]

return function(X, p, kernel, given)
  local o = options.read("centers.rpcholesky", given or {}, {
    seed = { options.seed, runtime.seed() }, stream = { options.seed, 1 },
    b = { options.count, math.max(1, math.min(256, math.ceil(p / 10))) }, factor = { options.flag, false },
    tol = { options.not_negative, X.dtype == "f32" and 1e-6 or 1e-12 },
  })
  if options.count(p) or p > X.n then
    error(("centers.rpcholesky: p in 1..%d expected, got %s"):format(X.n, tostring(p)), 2)
  end
  local F, found, chosen = Matrix.zeros(X.local_n, p), 0, {}
  local d = kbcd.kernel_diagonal(X, kernel)
  local all = kbcd.gather(d)  -- in the order of rows
  local trace, round, idle = all:sum(), 0, 0
  while found < p and all:sum() > o.tol * trace and idle < 10 do
    round, idle = round + 1, idle + 1
    -- The first column chooses rows in proportion to their weights, the second accepts them.
    local u = Matrix.rand(o.b, 2, { seed = o.seed, stream = o.stream * 2 ^ 16 + round % 2 ^ 16 })
    local S = runtime.pivots.draw(all, u)
    local K_S = kbcd.KernelBlock(X, S, kernel, { keep = "none" })
    local F_S = kbcd.allreduce(kbcd.Selector(X.n, S):t() * F:cols(1, math.max(1, found)))
    local H = K_S:square():to("f64"):sub(F_S * F_S:t())
    local picks = runtime.pivots.accept(H, all:take(S), u)  -- H then holds L in the columns of these
    if #picks > p - found then picks = picks:slice(1, p - found) end
    if #picks > 0 then
      local T = S:take(picks)
      local G = kbcd.KernelBlock(X, T, kernel, { keep = "none" }):dense():to("f64")
      G:sub(F:cols(1, math.max(1, found)) * F_S:take(picks):t())
      local L = H:take(picks):t():take(picks):t()  -- its upper triangle is not read
      G = L:trsolve(G:t()):t()
      F:cols(found + 1, found + #picks):copy(G)
      d:sub(G:clone():square():sum(2)):clamp(0, math.huge)
      for i = 1, #T do chosen[#chosen + 1] = T[i] end
      found, idle = found + #picks, 0
      -- A row that was taken cannot be taken again, even if rounding left a positive d.
      local here = X:local_rows(T)
      for i = 1, #here do d:set(here[i], 1, 0) end
      all = kbcd.gather(d)
    end
  end
  local J = Index(chosen)
  if found < p then
    local rest = Index.permutation(X.n, { seed = o.seed, stream = o.stream * 2 ^ 16 }):without(J)
    J = Index.concat{ J, rest:slice(1, p - found) }
  end
  return J, o.factor and F or nil
end
