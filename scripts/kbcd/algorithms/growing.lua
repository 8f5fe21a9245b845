-- growing: the exact solutions of Nyström's equations for more and more centres, p = p₁ < p₂ < …, in one run, after Rudi,
-- Camoriano and Rosasco (2015), by blocks. With K = K([n], J) of the first p centres J of one random order and M = K(J, J),
--
--     H α = KᵀY,     H = KᵀK + nλ M = L Lᵀ.
--
-- L grows by rows and columns (growing_factor.lua), so that all sizes together cost what the largest one does, n p² + p³/3.
-- Sums over rows, H and L are in f64, in slabs of rows; each λ has its L, on one rank. An epoch is a size. A run that resumes
-- computes L again.

local kbcd = require "kbcd"
local growing_factor = require "kbcd.solvers.growing_factor"
local Matrix, Index, allreduce = kbcd.Matrix, kbcd.Index, kbcd.allreduce

local slab = 4096  -- rows at a time

-- p/8, p/4, p/2 and p.
local function halved(p)
  local list = {}
  for _, part in ipairs{ 8, 4, 2, 1 } do
    local size = math.ceil(p / part)
    if size ~= list[#list] then list[#list + 1] = size end
  end
  return list
end

return kbcd.algorithm("growing", {
  "Nyström path: the exact solutions for more and more centres, by block updates of one Cholesky factor",
  kernel = "kernel", b = false, epochs = function(_, o) return #(o.sizes or halved(o.p)) end,
  sizes = { "counts", "the numbers of centres, from small to large (p/8, p/4, p/2 and p)", default = false },
  p = { "count", "most centres", default = function(X, o) return o.sizes and o.sizes[#o.sizes] or math.min(8192, X.n) end },
}, function(X, Y, o, run)
  local n, lambda, p, sizes = X.n, o.lambda, o.p, o.sizes or halved(o.p)
  for t, size in ipairs(sizes) do
    local good = size > (sizes[t - 1] or 0) and (t < #sizes or size == p)
    if not good then error(("growing: option sizes: numbers from small to large expected, the last p = %d"):format(p), 0) end
  end
  o.epochs = math.min(o.epochs, #sizes)
  local model = run.kernel_model(o.kernel, run.centers(p, o.kernel), 8 * p ^ 2 * (3 + math.ceil(lambda.count / kbcd.size())))
  local M, E = model:exact_square(), run.distributed("E", lambda:each(Y))  -- Y − K α
  local blocks, factors, epsilon = {}, {}, X.dtype == "f32" and 2 ^ -44 or 2 ^ -52 -- the l-th λ is solved on one rank
  for l = 1 + kbcd.rank(), lambda.count, kbcd.size() do factors[l] = growing_factor(p, epsilon) end

  -- Adds the centres of the t-th size to the factors; gives KᵀY of all so far.
  local function grow(t)
    local q, size = sizes[t - 1] or 0, sizes[t]
    local C, B = Matrix.zeros(size, size - q), Matrix.zeros(size, Y.ncols)        -- KᵀK₂ + nλ M₂, KᵀY
    blocks[t] = model:block(Index.range(q + 1, size), nil, o.keep)
    local _ = blocks[t]:t() * Y                                  -- a product stores it: dense() is the same from now on
    for first = 1, X.local_n, slab do
      local last, parts = math.min(X.local_n, first + slab - 1), {}
      for i, block in ipairs(blocks) do parts[i] = block:dense(first, last):to("f64") end
      local K = Matrix.hcat(parts)
      C:add(K:t() * parts[t])
      B:add(K:t() * Y:rows(first, last))
    end
    allreduce(C, B)
    kbcd.together(function()
      for l, factor in pairs(factors) do factor:add(C:clone():add(M:block(1, size, q + 1, size), n * lambda[l])) end
    end)
    return B
  end

  return {
    residual = E, weights = true, targets_changed = function() end,
    iterate = function(t)
      local alpha, B = Matrix.zeros(p, run.columns), nil
      for s = #blocks + 1, t do B = grow(s) end                  -- all of them in a run that resumes
      for l, factor in pairs(factors) do lambda:columns(alpha, l):rows(1, sizes[t]):copy(factor:solve(B)) end
      model.coefficients:copy(allreduce(alpha))
      E:copy(lambda:each(Y))
      for i, block in ipairs(blocks) do E:sub(block * model.coefficients:rows((sizes[i - 1] or 0) + 1, sizes[i])) end
      run.p = sizes[t]
    end,
    fitted = function(A) return lambda:each(Y) - A end,
  }
end, { least_squares = true })
