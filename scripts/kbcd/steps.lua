-- steps(owner, o, count, update, model): the block steps of all epochs, as an iterator.
--
-- 1..count is partitioned at random into blocks of o.b, once (o.partition = "fixed") or anew each epoch ("fresh"), and the
-- blocks are visited in a random order of each epoch.
-- update(I, done) does one step, number `done` of its epoch, and returns Δ, the block α_b that it was added to, and for each
-- λ the relative residual that the algorithm keeps anyway.
-- A step is a table: epoch, epochs, block (how many of this epoch are done), blocks, epoch_end, seconds (in the algorithm,
-- without what the caller did in between or what following the test set took), model, residual, test_scores where the
-- algorithm was given a test set (this rank's rows, a Matrix a λ), and change: for each λ, |Δ| over |α| of the blocks so far
-- of this epoch. The run ends after o.epochs, or after the epoch in which the change of every λ is at most o.tol.

local kbcd = require "kbcd"

local function changes(sums)
  local change = {}
  for l, sum in ipairs(sums) do change[l] = math.sqrt(sum[1] / math.max(sum[2], 1e-300)) end
  return change
end

return function(owner, o, count, update, model)
  local seconds, epoch, done, blocks, order, sums, converged = 0, 0, 0, {}, nil, nil, false

  local function begin_epoch()
    epoch, done, sums = epoch + 1, 0, {}
    local stream = o.partition == "fresh" and 2 * epoch or 0
    blocks = kbcd.Index.permutation(count, { seed = o.seed, stream = stream }):partition(o.b)
    order = kbcd.Index.permutation(#blocks, { seed = o.seed, stream = 2 * epoch + 1 })
    for l = 1, #o.lambdas do sums[l] = { 0, 0 } end
  end

  return function()
    if done == #blocks then
      if converged or epoch == o.epochs then return nil end
      begin_epoch()
    end
    done = done + 1
    local largest, start, I = 0, kbcd.now(), blocks[order[done]]
    local Delta, alpha_b, residual = update(I, done)
    seconds = seconds + kbcd.now() - start
    model.follow(I, Delta)
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
    converged = done == #blocks and kbcd.allreduce_max(largest) <= o.tol  -- the ranks must agree
    return {
      epoch = epoch, epochs = o.epochs, block = done, blocks = #blocks, epoch_end = done == #blocks,
      seconds = seconds, change = change, residual = residual, model = model, test_scores = model.test_scores(),
    }
  end
end
