-- factors{…}: the Cholesky factors of the blocks' systems H_λ, each on one rank.
--
-- H does not depend on the model, so the systems of the next blocks, one a rank, are built and factored at the same time:
-- rank r holds the factors of the r-th of them, solves with them when their turn comes, and sends Δ to the others. With
-- `keep` they are kept from epoch to epoch, as far as the memory budget goes.
--
-- lambdas, k (columns a λ), jitter, keep; ahead (how many blocks to look ahead, at most the ranks); begin(block, root), which
-- every rank calls, begins to build what H is made of and returns a function that gives it, on rank root; and
-- system(parts, lambda), the matrix H_λ of it. Blocks are those of steps.lua.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix

return function(f)
  local held = {}  -- by number of block: { root, kept, the Factor of each λ on the root }
  local L = #f.lambdas

  local function factor(block, parts)
    local list = {}
    for l, lambda in ipairs(f.lambdas) do
      list[l] = kbcd.chol(f.system(parts, lambda), { jitter = f.jitter })
      if list[l].jitter > 0 then
        io.stderr:write(("block of %d: the system of lambda = %g is not positive definite; added %.3g to its diagonal\n")
          :format(#block.I, lambda, list[l].jitter))
      end
    end
    return list
  end

  local factors = {}

  -- The factors of this block and of those of the next ones that are not there, one a rank; nothing if they are there.
  function factors.prepare(block)
    if held[block.number] then return end
    local new = {}
    while block and #new < f.ahead do
      if not held[block.number] then new[#new + 1] = { block = block, finish = f.begin(block, #new) } end
      block = block.next()
    end
    for i, entry in ipairs(new) do entry.parts, entry.root = entry.finish(), i - 1 end
    kbcd.together(function()
      for _, entry in ipairs(new) do
        if entry.root == kbcd.rank() then entry.list = factor(entry.block, entry.parts) end
      end
    end)
    for _, entry in ipairs(new) do
      local bytes, kept = 8 * L * (#entry.block.I) ^ 2, f.keep
      if kept and entry.list then kept = kbcd.system.reserve(bytes) end
      kept = kbcd.allreduce_min(kept and 1 or 0) == 1  -- the ranks must agree
      held[entry.block.number] = { root = entry.root, kept = kept, list = entry.list }
    end
  end

  -- For each λ, own columns of B solved with H_λ: on every rank the result of the one that has the factor. `and_times`: also
  -- |H_λ D|² for each λ, with D = result − and_times.
  function factors.solve(block, B, and_times)
    factors.prepare(block)
    local entry, X, squares = held[block.number], Matrix.zeros(B.nrows, B.ncols), Matrix.zeros(1, L)
    for l, H in ipairs(entry.list or {}) do
      local from, to = (l - 1) * f.k + 1, l * f.k
      X:cols(from, to):copy(H:solve(B:cols(from, to)))
      if and_times then squares:set(1, l, H:times(X:cols(from, to) - and_times:cols(from, to)):norm() ^ 2) end
    end
    if not entry.kept then held[block.number] = nil end
    kbcd.bcast(X, entry.root)
    return X, and_times and kbcd.bcast(squares, entry.root)
  end

  return factors
end
