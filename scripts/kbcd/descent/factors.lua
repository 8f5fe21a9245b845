-- factors{…}: the Cholesky factors of the blocks' systems H_λ, each on one rank.
--
-- H does not depend on the model, so the systems of the next blocks are built and factored at the same time, on all ranks and
-- threads: a rank holds the factors of its blocks, solves with them when their turn comes, and sends Δ to the others. With
-- `keep` they are kept from epoch to epoch, as far as the memory budget goes.
--
-- lambdas, k (columns a λ), jitter, keep; ahead (how many blocks to look ahead, this one included; side_by_side: a rank may
-- have several of them); begin(block, root, now), which every rank calls, begins to build what H is made of and returns a
-- function that gives it, on rank root (`now`: the step at hand is this block's); and system(parts, lambda), the matrix H_λ
-- of it. Blocks are those of steps.lua.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Matrix = kbcd.Matrix

return function(f)
  local held = {}  -- by number of block: { root, kept, the Factor of each λ on the root }
  local L = #f.lambdas

  -- The factors of this rank's systems, as many at a time as there are threads. With several, each is made on one thread;
  -- so is one that is left over (that is what another beside it is for): a factor is the same to the bit, whichever blocks
  -- are factored with it. Only where there is never more than one, all threads share in it.
  local function factor(entries)
    local wanted, threads = {}, L == 1 and not f.side_by_side and 1 or kbcd.threads()
    for _, entry in ipairs(entries) do
      entry.list = entry.root == kbcd.rank() and {} or nil
      for l in ipairs(entry.list and f.lambdas or {}) do wanted[#wanted + 1] = { entry = entry, l = l } end
    end
    for first = 1, #wanted, threads do
      local systems, names, last = {}, {}, math.min(first + threads - 1, #wanted)
      for i = first, last do
        local block, lambda = wanted[i].entry.block, f.lambdas[wanted[i].l]
        systems[#systems + 1] = f.system(wanted[i].entry.parts, lambda)
        names[#systems] = ("block %d of epoch %d, lambda = %g"):format(block.done, block.epoch, lambda)
      end
      if threads > 1 and #systems == 1 then systems[2], names[2] = Matrix.eye(1), "nothing" end
      local made = kbcd.chol_all(systems, { jitter = f.jitter, overwrite = true, names = names })
      for i = first, last do
        local w, H = wanted[i], made[i - first + 1]
        w.entry.list[w.l] = H
        if H.jitter > 0 then
          io.stderr:write(("%s: its %dx%d system is not positive definite; added %.3g to the diagonal\n"):format(
            names[i - first + 1], H.n, H.n, H.jitter))
        end
      end
    end
  end

  local factors = {}

  -- The factors of this block and of those of the next ones that are not there; nothing if they are there.
  function factors.prepare(block)
    if held[block.number] then return end
    local new = {}
    while block and #new < f.ahead do
      if not held[block.number] then
        local root = (block.place - 1) % kbcd.size()  -- always the same one: sums over ranks may depend on it
        new[#new + 1] = { block = block, root = root, finish = f.begin(block, root, #new == 0) }
      end
      block = block.next()
    end
    for _, entry in ipairs(new) do entry.parts = entry.finish() end
    kbcd.together(function() factor(new) end)
    for _, entry in ipairs(new) do
      local room = f.keep
      if room and entry.list then room = runtime.memory.reserve(8 * L * (#entry.block.I) ^ 2) end
      local kept = kbcd.allreduce_min(room and 1 or 0) == 1  -- the ranks must agree
      held[entry.block.number] = { root = entry.root, kept = kept, room = kept and room, list = entry.list }
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
    if not entry.kept then
      for _, H in ipairs(entry.list or {}) do H.lower:release() end
      held[block.number] = nil
    end
    kbcd.bcast(X, entry.root)
    return X, and_times and kbcd.bcast(squares, entry.root)
  end

  return factors
end
