-- steps(owner, o, count, update, model, state): the block steps of all epochs, as an iterator.
--
-- 1..count is partitioned at random into blocks of o.b, once (o.partition = "fixed") or anew each epoch ("fresh"), and the
-- blocks are visited in a random order, of each epoch (or one for all: o.order = "fixed").
-- update(block) does one step and returns Δ, the block α_b that it was added to, and for each λ the relative residual that
-- the algorithm keeps anyway. A block is a table: I (the Index), number (names it for as long as its partition lives), epoch,
-- done (its place in the epoch), place (that in the first epoch of its partition), so_far() (all that is visited up to
-- and with it, an Index) and next() (the block after it, or nil).
--
-- state is what update changes, { spread = { name = Matrix of this rank's rows }, same = { name = Matrix } }. With
-- o.checkpoint (see checkpoint.lua) it is saved between steps, and a run goes on from where it was saved: partition and order
-- are functions of the seed and the epoch, and blocks and factors are computed again.
--
-- A step is a table: epoch, epochs, block (how many of this epoch are done), blocks, epoch_end, seconds (in the algorithm,
-- without what the caller did in between or what following the test set took), model, residual, test_scores where the
-- algorithm was given a test set (this rank's rows, a Matrix a λ), and change: for each λ, |Δ| over |α| of the blocks so far
-- of this epoch. The run ends after o.epochs, or after the epoch in which the change of every λ is at most o.tol; its last
-- step has precision_loss where it ran in f32 (precision_check.lua). A model that is not finite ends it with an error.

local kbcd = require "kbcd"
local run_settings = require "kbcd.descent.run_settings"
local runtime = require "kbcd.runtime"
local Matrix, Index = kbcd.Matrix, kbcd.Index

-- Options that differ from rank to rank would give wrong numbers: an error says which do.
local function require_same_settings(owner, settings)
  if not runtime.job.checking() then return end
  for _, name in ipairs(kbcd.sorted_keys(settings)) do
    runtime.job.require_same("the start", ("%s with %s = %s"):format(owner, name, settings[name]))
  end
end

-- The blocks of one epoch in their order.
local function begin_epoch(o, count, epoch)
  local fresh = o.partition == "fresh"
  local blocks = Index.permutation(count, { seed = o.seed, stream = fresh and 2 * epoch or 0 }):partition(o.b)
  local order = Index.permutation(#blocks, { seed = o.seed, stream = o.order == "fixed" and 1 or 2 * epoch + 1 })
  local first = fresh and order or Index.permutation(#blocks, { seed = o.seed, stream = o.order == "fixed" and 1 or 3 })
  local parts, visits, places, before = {}, {}, {}, 0
  for place = 1, #blocks do places[first[place]] = place end
  for done = 1, #blocks do parts[done] = blocks[order[done]] end
  local all = Index.concat(parts)
  for done, I in ipairs(parts) do
    before = before + #I
    local upto = before
    visits[done] = {
      I = I, number = fresh and epoch .. "/" .. done or order[done], epoch = epoch, done = done,
      place = places[order[done]],
      next = function() return visits[done + 1] end,
      so_far = function() return all:slice(1, upto) end,
    }
  end
  return visits
end

return function(owner, o, count, update, model, state)
  local seconds, epoch, done, visits, converged = 0, 0, 0, {}, false
  local sums = Matrix.zeros(#o.lambdas, 2)  -- |Δ|² and |α|² of the blocks so far of this epoch, for each λ
  local at, settings = Matrix.zeros(1, 3), run_settings(owner, o, count, model.data)
  require_same_settings(owner, settings)

  if o.checkpoint then
    local data = model.data
    settings.values = run_settings.values(o, data.X.d)
    for name, text in pairs(o.checkpoint:fingerprints{ X = data.X, Y = kbcd.DataSet.local_part(data.X.n, data.Y),
      test = o.test or nil }) do settings[name] = text end
    state.same.at, state.same.sums, state.spread.test_scores = at, sums, model.followed
    if o.checkpoint:take_up(settings, state) then
      epoch, done, seconds = at(1, 1), at(1, 2), at(1, 3)
      visits = begin_epoch(o, count, epoch)
      o.checkpoint.resumed = { epoch = epoch, block = done }
    end
  end

  local function save()
    for i, value in ipairs{ epoch, done, seconds } do at:set(1, i, value) end
    o.checkpoint:keep(settings, state)
  end

  return function()
    if converged or epoch == o.epochs and done == #visits then return nil end
    if o.checkpoint and done > 0 then save() end
    if done == #visits then
      epoch, done = epoch + 1, 0
      visits = begin_epoch(o, count, epoch)
      sums:fill(0)
    end
    done = done + 1
    local start, block = kbcd.now(), visits[done]
    local Delta, alpha_b, residual = update(block)
    seconds = seconds + kbcd.now() - start
    model.follow(block, Delta)
    local moved, now, change, largest = model.split(Delta), model.split(alpha_b + Delta), {}, 0
    for l, lambda in ipairs(o.lambdas) do
      local step, size = sums(l, 1) + moved[l]:norm() ^ 2, sums(l, 2) + now[l]:norm() ^ 2
      if not (step < math.huge and size < math.huge and residual[l] < math.huge) then  -- nor NaN
        error(("%s: block %d of epoch %d gave a model that is not finite (lambda = %g); raise lambda, scale the data or " ..
          "the targets, or use f64"):format(owner, done, epoch, lambda), 2)
      end
      sums:set(l, 1, step)
      sums:set(l, 2, size)
      change[l] = math.sqrt(step / math.max(size, 1e-300))
      largest = math.max(largest, change[l])
    end
    converged = done == #visits and kbcd.allreduce_max(largest) <= o.tol  -- the ranks must agree
    local ends = converged or epoch == o.epochs and done == #visits
    return {
      epoch = epoch, epochs = o.epochs, block = done, blocks = #visits, epoch_end = done == #visits,
      seconds = seconds, change = change, residual = residual, model = model, test_scores = model.test_scores(),
      precision_loss = ends and model.check_precision(owner, block) or nil,
    }
  end
end
