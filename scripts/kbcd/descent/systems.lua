-- systems(run, method): the blocks of a run, the systems H_λ that its steps solve, and their Cholesky factors.
--
-- Blocks of a fixed partition are kept from epoch to epoch as far as the memory budget goes; those of a fresh one are freed
-- after their step. H does not depend on the model, so the systems of the next blocks are built and factored at the same
-- time, on all ranks and threads: a rank holds the factors of its blocks, solves with them in their step, and sends the
-- result to the others. Factors of partitions that come again are kept as well. The Gram and K_bᵀE of a step come from
-- one pass over the block.
--
-- A block is one of steps.lua: { I, number, place, epoch, done, later(), next }.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local formula = require "kbcd.descent.formula"
local lua_source = require "kbcd.support.lua_source"
local groupings = require("kbcd.descent.visits").groupings
local Matrix = kbcd.Matrix

-- How many blocks of b columns of X all ranks can hold at once, at most one a rank.
local function whole_blocks_ahead(X, b)
  local bytes = X.local_n * b * (X.dtype == "f32" and 4 or 8)
  local fit = bytes > 0 and math.floor(kbcd.memory_budget() / bytes) - 1 or kbcd.size()
  return math.max(1, kbcd.allreduce_min(math.min(fit, kbcd.size())))
end

-- Where a system depends on the block's own centres alone: one block for each thread of all ranks, as long as their
-- centres, which a block stores twice, take at most a quarter of the memory budget.
local function centers_ahead(X, b)
  local count = kbcd.size() * kbcd.threads()
  if X.sparse then return count end
  local bytes = 2 * b * X.d * (X.bytes and 1 or X.dtype == "f32" and 4 or 8)
  return math.max(1, kbcd.allreduce_min(math.min(count, math.floor(kbcd.memory_budget() / 4 / bytes))))
end

local function coefficient(c, l) return type(c) == "table" and c.values[l] or c end

return function(run, method)
  local X, o, lambda, model = run.X, run.o, run.lambda, run.model
  local L, k, E = lambda.count, lambda.k, method.residual
  local terms = method.system and formula.of(method.system)
  local wants_P = E and lua_source.takes(method.step, 4)  -- a step(B, K_b, solve) does without K_bᵀE
  local fixed = o.partition == "fixed"
  local keep_factors = o.partition ~= "fresh" and o.epochs > (fixed and 1 or groupings) and not (method.later and o.choose)
  local keep_blocks = fixed and keep_factors and o.keep ~= "none"
  local side_by_side = terms and not terms.gram
  -- K_bb + a multiple of I: K_bb is the same for all λ, and its factors are in f32 where that is enough (chol_all). They
  -- take half the time to make, and twice the time to solve with: factors that serve in every epoch are in f64.
  local ridged = terms and terms.square == 1 and terms.diagonal and not terms.gram and not terms.functions and
    not (fixed and keep_factors)
  local ahead = terms and (o.choose and 1 or terms.gram and whole_blocks_ahead(X, o.b) or centers_ahead(X, o.b))
  -- For a checkpoint: the right-hand sides of the last visits, filled before a save. Where other steps change the rows of a
  -- block, they are of no use.
  local rights = o.checkpoint and terms and keep_factors and fixed and model.distributed and not method.dense and
    run.own("distributed", "rights", Matrix.zeros(X.local_n, run.columns))
  -- For a system that is not positive definite: what this method has.
  local advice = ("; raise lambda%s, or use jitter (jitter = true, --jitter)"):format(o.gamma and " or gamma" or "")
  -- By number of block: { K_b, here }, and { root, kept, list (on the root, a Factor a λ), right (of the last visit) }.
  local held, factors = {}, {}
  local now, fused  -- the block of the current step; its K_bᵀE, if it was computed with the Gram

  -- The operator of a block, and this rank's rows among those that are visited later.
  local function get(block)
    local entry = held[block.number]
    if not entry then
      local later = method.later and block.later() or nil
      local K_b = false
      if method.block then K_b = method.block(block.I, later)
      elseif block.tiles then K_b = model.triangle:columns(block.tiles)
      elseif method.block == nil then K_b = model:block(block.I, later) end
      entry = { K_b, later and X:local_rows(later) }
      held[block.number] = entry
    end
    return entry[1], entry[2]
  end

  -- Starts to compute the terms of H; returns a function that returns them, on rank root.
  local function begin(block, root, at_hand)
    local K_b, parts, sum = get(block), {}, nil
    if terms.gram then
      if at_hand and wants_P then parts.G, fused = K_b:normal(E, terms.precision) else parts.G = K_b:gram(terms.precision) end
      sum = kbcd.ireduce_symmetric(parts.G, root)
    end
    if terms.square and root == kbcd.rank() then parts.K_bb = K_b:square() end
    for i, f in ipairs(terms.functions or {}) do parts[i] = f(block.I) end
    return function()
      if sum then sum:wait() end
      return parts
    end
  end

  -- H_λ of b rows from its terms, for the l-th λ.
  local function system_of(parts, l, b)
    local H, c = nil, coefficient(terms.gram, l)
    if c then H = parts.G:to("f64") end
    if c and c ~= 1 then H:scale(c) end
    c = coefficient(terms.square, l)
    if c and H then H:add(parts.K_bb, c)
    elseif c then
      H = parts.K_bb:to("f64")
      if c ~= 1 then H:scale(c) end
    end
    H = H or Matrix.zeros(b, b)
    for _, A in ipairs(parts) do
      if A.ncols == A.nrows then H:add(A) else H:add_diagonal(A) end
    end
    return terms.diagonal and H:add_diagonal(coefficient(terms.diagonal, l)) or H
  end

  -- The factors of this rank's systems, as many at a time as there are threads. With several, each is computed on one
  -- thread; so is a last single one, by factoring another matrix with it: a factor is the same to the bit, whichever blocks
  -- are factored with it. Only where there is never more than one, it is computed by all threads.
  local function factor(entries)
    local wanted, threads = {}, L == 1 and not side_by_side and 1 or kbcd.threads()
    for _, entry in ipairs(entries) do
      entry.list = entry.root == kbcd.rank() and {} or nil
      for l = 1, entry.list and L or 0 do wanted[#wanted + 1] = { entry = entry, l = l } end
    end
    for first = 1, #wanted, threads do
      local list, names, ridges, last = {}, {}, ridged and {}, math.min(first + threads - 1, #wanted)
      for i = first, last do
        local block, parts, l = wanted[i].entry.block, wanted[i].entry.parts, wanted[i].l
        list[#list + 1] = ridged and parts.K_bb or system_of(parts, l, #block.I)
        if ridged then ridges[#list] = coefficient(terms.diagonal, l) end
        names[#list] = ("block %d of epoch %d, lambda = %g"):format(block.done, block.epoch, lambda[wanted[i].l])
      end
      if threads > 1 and #list == 1 then
        list[2], names[2] = Matrix.eye(1), "nothing"
        if ridged then ridges[2] = 0 end
      end
      local good, made = pcall(kbcd.chol_all, list,
        { jitter = o.jitter, overwrite = not ridged, names = names, ridges = ridges or nil })
      if not good then error((tostring(made):gsub("; raise lambda.*$", advice)), 0) end
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

  -- Makes the factors of this block and of the next ones, unless this block has its factors already.
  local function prepare(block)
    if factors[block.number] then return end
    local new = {}
    while block and #new < ahead do
      if not factors[block.number] then
        local root = (block.place - 1) % kbcd.size()  -- always the same one: sums over ranks may depend on it
        new[#new + 1] = { block = block, root = root, finish = begin(block, root, block == now) }
      end
      block = block.next
    end
    for _, entry in ipairs(new) do entry.parts = entry.finish() end
    kbcd.together(function() factor(new) end)
    for _, entry in ipairs(new) do
      local reserved = keep_factors
      if reserved and entry.list then reserved = runtime.memory.reserve(8 * L * (#entry.block.I) ^ 2) end
      local kept = kbcd.allreduce_min(reserved and 1 or 0) == 1  -- the ranks must agree
      local made = { root = entry.root, kept = kept, reserved = kept and reserved, list = entry.list, I = entry.block.I }
      if rights and run.resumed then made.right = kbcd.allreduce(kbcd.Selector(X.n, made.I):t() * rights) end
      factors[entry.block.number] = made
    end
  end

  -- Of the current step: the argument `old` of solve, and |residual|² for each λ before the step; nil without `old`.
  local systems = { old = nil, squares = nil }

  -- The block of a step: its operator, and K_bᵀE over all ranks where the method has a residual E, or this rank's rows among
  -- those that are visited later. The block of the last step is freed.
  function systems.begin(block)
    if now and not (keep_blocks and type(now.number) == "number") then
      if held[now.number] and held[now.number][1] then held[now.number][1]:release() end
      held[now.number] = nil
    end
    now, fused, systems.old, systems.squares = block, nil, nil, nil
    if terms then prepare(block) end
    local K_b, here = get(block)
    if not wants_P then return K_b, here end
    local P = fused or K_b:t() * E
    fused = nil
    return K_b, kbcd.allreduce(P)
  end

  -- For each λ, its columns of `right` solved with H_λ: on every rank the result of the one that has the factor. With `old`,
  -- the solution minus `old`. |H Δ|² for each λ are the squares of the residual before the step; without `old`, and where
  -- the model is of all rows, H Δ is `right`.
  function systems.solve(right, old)
    if not terms then error(("%s: solve: setup returned no system (%s)"):format(run.owner, run.place), 0) end
    local entry, Delta = factors[now.number], Matrix.zeros(right.nrows, right.ncols)
    local squares = old and Matrix.zeros(1, L)
    local first = old and old:norm() == 0  -- then H α_b = 0
    for l, H in ipairs(entry.list or {}) do
      local from, to = (l - 1) * k + 1, l * k
      local D = H:solve(right:cols(from, to))
      if old then
        D:sub(old:cols(from, to))
        local r = right:cols(from, to)  -- minus H α_b, which is the right-hand side of the last visit
        if entry.right then r = r - entry.right:cols(from, to) elseif not first then r = H:times(D) end
        squares:set(1, l, r:norm() ^ 2)
      end
      Delta:cols(from, to):copy(D)
    end
    if entry.kept then
      entry.right = old and entry.list and not method.dense and right or nil  -- on the root
    else
      for _, H in ipairs(entry.list or {}) do H:release() end
      factors[now.number] = nil
    end
    kbcd.bcast(old and { Delta, squares } or Delta, entry.root)
    if old then systems.old, systems.squares = old, squares
    elseif model.distributed then
      systems.squares = Matrix.zeros(1, L)
      for l = 1, L do systems.squares:set(1, l, right:cols((l - 1) * k + 1, l * k):norm() ^ 2) end
    end
    if systems.solved then systems.solved(old and math.sqrt(squares:sum()) or right:norm()) end
    return Delta
  end

  -- Called by all ranks before a checkpoint is written.
  function run.before_save()
    if not rights then return end
    rights:fill(0)
    for _, number in ipairs(kbcd.sorted_keys(factors)) do
      local entry = factors[number]
      local right = entry.right or Matrix.zeros(#entry.I, run.columns)
      rights:add(kbcd.Selector(X.n, entry.I) * kbcd.bcast(right, entry.root))
    end
  end

  -- K_bᵀE of any block, over all ranks.
  function systems.product(block) return kbcd.allreduce(get(block):t() * E) end

  -- After the last step.
  function systems.finish() held, factors, now = {}, {}, nil end

  return systems
end
