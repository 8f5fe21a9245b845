-- steps(owner, o, count, update, model): the block steps of all epochs, as an iterator.
--
-- 1..count is partitioned at random into blocks of o.b, once (o.partition = "fixed") or anew each epoch ("fresh"), and the
-- blocks are visited in a random order, of each epoch (or one for all: o.order = "fixed").
-- update(block) does one step and returns Δ, the block α_b that it was added to, and for each λ the relative residual that
-- the algorithm keeps anyway. A block is a table: I (the Index), number (names it for as long as its partition lives), epoch,
-- done (its place in the epoch), later (all that is visited after it), earlier, and next() (the block after it, or nil).
--
-- A step is a table: epoch, epochs, block (how many of this epoch are done), blocks, epoch_end, seconds (in the algorithm,
-- without what the caller did in between or what following the test set took), model, residual, test_scores where the
-- algorithm was given a test set (this rank's rows, a Matrix a λ), and change: for each λ, |Δ| over |α| of the blocks so far
-- of this epoch. The run ends after o.epochs, or after the epoch in which the change of every λ is at most o.tol.

local kbcd = require "kbcd"
local Index = kbcd.Index

local function changes(sums)
  local change = {}
  for l, sum in ipairs(sums) do change[l] = math.sqrt(sum[1] / math.max(sum[2], 1e-300)) end
  return change
end

-- The blocks of one epoch in their order.
local function begin_epoch(o, count, epoch)
  local fresh = o.partition == "fresh"
  local blocks = Index.permutation(count, { seed = o.seed, stream = fresh and 2 * epoch or 0 }):partition(o.b)
  local order = Index.permutation(#blocks, { seed = o.seed, stream = o.order == "fixed" and 1 or 2 * epoch + 1 })
  local parts, visits, before = {}, {}, 0
  for done = 1, #blocks do parts[done] = blocks[order[done]] end
  local all = Index.concat(parts)
  for done, I in ipairs(parts) do
    local from = before
    visits[done] = {
      I = I, number = fresh and epoch .. "/" .. done or order[done], epoch = epoch, done = done,
      next = function() return visits[done + 1] end,
      earlier = function() return all:slice(1, from) end,
      later = function() return all:slice(from + #I + 1, count) end,
    }
    before = before + #I
  end
  return visits
end

return function(owner, o, count, update, model)
  local seconds, epoch, done, visits, sums, converged = 0, 0, 0, {}, nil, false

  return function()
    if done == #visits then
      if converged or epoch == o.epochs then return nil end
      epoch, done, sums = epoch + 1, 0, {}
      visits = begin_epoch(o, count, epoch)
      for l = 1, #o.lambdas do sums[l] = { 0, 0 } end
    end
    done = done + 1
    local largest, start, block = 0, kbcd.now(), visits[done]
    local Delta, alpha_b, residual = update(block)
    seconds = seconds + kbcd.now() - start
    model.follow(block, Delta)
    local moved, now = model.split(Delta), model.split(alpha_b + Delta)
    for l, sum in ipairs(sums) do
      sum[1], sum[2] = sum[1] + moved[l]:norm() ^ 2, sum[2] + now[l]:norm() ^ 2
      if not (sum[1] < math.huge and sum[2] < math.huge) then
        error(("%s: block %d of epoch %d gave a model that is not finite (lambda = %g)"):format(
          owner, done, epoch, o.lambdas[l]), 2)
      end
    end
    local change = changes(sums)
    for _, c in ipairs(change) do largest = math.max(largest, c) end
    converged = done == #visits and kbcd.allreduce_max(largest) <= o.tol  -- the ranks must agree
    return {
      epoch = epoch, epochs = o.epochs, block = done, blocks = #visits, epoch_end = done == #visits,
      seconds = seconds, change = change, residual = residual, model = model, test_scores = model.test_scores(),
    }
  end
end
