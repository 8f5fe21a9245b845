-- steps(run, method): the steps of all epochs of an algorithm, as an iterator.
--
-- A method with `step` visits blocks (visits.lua), a block a step; one with `iterate` does an iteration a step, which is an
-- epoch. The state that the algorithm has declared is saved between steps (o.checkpoint, see checkpoint.lua), and a run
-- resumes from there: partition and order are functions of the seed and the epoch, and blocks and factors are computed
-- again.
--
-- A step is a table: epoch, epochs, block (how many of this epoch are done), blocks, epoch_end, seconds (in the algorithm,
-- with its setup, without what the caller did in between or what test scores and estimates took), model; for each λ residual
-- (|E| / |Y|; at the end of an epoch that of centres, |Y − f(X)| / |Y|, of the equations of a kernel machine without E,
-- sampled_residual.lua, or with another loss than squared, the method's own or that of admm.lua), residual_before (of the
-- blocks so far of this epoch, each before its step) and change (|Δ| over |α| of the blocks so far of this epoch), where
-- they are known; test_scores where there is a test set (this rank's rows, a Matrix a λ), and test_error, what o.score
-- makes of them; p where run.p counts centres. At the end of an epoch, with o.held_out, held_out_scores, held_out_error,
-- and unimproved, how many epochs ago each λ last improved (patience.lua). o.log: a line of JSON a step (logger.lua).
-- The run ends after o.epochs, or after the epoch in which the change of every λ (with ADMM, the residual) is at most
-- o.tol, or in which no λ has improved for o.patience epochs (ended = "tol" or "patience"); its last step has
-- precision_loss where it ran in f32 (precision_check.lua). A model that is not finite ends it with an error.

local kbcd = require "kbcd"
local new_visits = require "kbcd.descent.visits"
local new_systems = require "kbcd.descent.systems"
local chosen_visits = require "kbcd.descent.chosen_visits"
local test_follower = require "kbcd.descent.test_follower"
local precision_check = require "kbcd.descent.precision_check"
local replicated_check = require "kbcd.descent.replicated_check"
local resume = require "kbcd.descent.resume"
local logger = require "kbcd.descent.logger"
local new_patience = require "kbcd.descent.patience"
local sampled_residual = require "kbcd.descent.sampled_residual"
local Matrix = kbcd.Matrix

local one_visit = { { done = 1, place = 1, number = 1 } }  -- of a method that iterates

return function(run, method)
  local X, Y, o, lambda, model = run.X, run.Y, run.o, run.lambda, run.model
  local owner, L, k = run.owner, lambda.count, lambda.k
  local visits, ended = {}, nil
  -- For each λ of the blocks so far of this epoch: |Δ|², |α|², |residual|²; and |Y|² of these blocks.
  local sums = run.own("replicated", "sums", Matrix.zeros(L, 4))
  local systems = method.step and new_systems(run, method)
  local choose = o.choose and chosen_visits(run, method, systems)
  local follow = o.test and test_follower(run, "test", o.test)
  local held_out = o.held_out
  local shared = held_out and o.test and rawequal(held_out.rows, o.test)
  local judge = shared and follow or held_out and test_follower(run, "held_out", held_out.rows)
  local patience = (held_out or o.patience > 0) and new_patience(run)
  -- What residual means: that of the equations of a kernel machine, or what is left of the targets.
  local machine = run.least_squares and model.distributed
  local estimate = machine and not method.residual and sampled_residual(run)
  run.residual_of = machine and "equations" or method.residual and "targets" or nil
  -- The coefficients at the start of the epoch, where steps change all of them.
  local before = method.dense and run.own(model.distributed and "distributed" or "replicated", "before",
    model.coefficients:clone())
  local epoch, done, seconds, save = resume(run)
  if epoch == 0 then seconds = run.setup_seconds end
  local function square_of_Y() return kbcd.allreduce(Y:norm() ^ 2) end
  local size_of_Y, sizes = square_of_Y(), {}  -- |Y|², and |Y_b|² of each block of the epoch

  local function begin_epoch()
    visits = not method.step and one_visit or choose and choose.begin(epoch) or
      new_visits(o, model, epoch, method.later and o.partition == "fixed" and "fixed" or nil)
    if method.step and not method.residual and model.distributed and not run.admm then
      local squares = Matrix.zeros(1, #visits)
      for i, block in ipairs(visits) do squares:set(1, i, Y:take(X:local_rows(block.I)):norm() ^ 2) end
      kbcd.allreduce(squares)
      for i = 1, #visits do sizes[i] = squares(1, i) end
    end
  end

  if done > 0 then begin_epoch() end
  local log = o.log and logger(run)

  local function start_epoch()
    epoch, done = epoch + 1, 0
    if (o.targets or run.admm) and epoch > 1 then
      run.change_targets(epoch)
      size_of_Y = square_of_Y()
    end
    begin_epoch()
    sums:fill(0)
    if method.start_epoch then method.start_epoch(epoch) end
  end

  -- |E_l| / |Y| for each λ; at the end of an epoch that of ADMM, the method's own, or that of the equations. Of centres,
  -- whose E may have a part of its own (nystrom), what the fitted values leave of the targets, at the end of an epoch.
  local centres = method.residual and model.kernel and not model.distributed
  local function residuals()
    local at_end = done == #visits
    if run.admm or method.progress then return at_end and (run.admm and run.admm.residuals() or method.progress()) or nil end
    if not method.residual then return estimate and at_end and estimate(size_of_Y) or nil end
    if centres and not at_end then return nil end
    local E = centres and lambda:each(Y) - method.fitted(method.residual) or method.residual
    local list, norms = {}, Matrix.zeros(1, L)
    for l = 1, L do norms:set(1, l, E:cols((l - 1) * k + 1, l * k):norm() ^ 2) end
    kbcd.allreduce(norms)
    for l = 1, L do list[l] = math.sqrt(norms(1, l) / math.max(size_of_Y, 1e-300)) end
    return list
  end

  -- The same of the blocks so far, each before its step; squares: of this one.
  local function residuals_before(block, squares)
    if method.residual or run.admm or not squares then return nil end
    local list = {}
    for l = 1, L do
      sums:set(l, 3, sums(l, 3) + squares(1, l))
      sums:set(l, 4, sums(l, 4) + (sizes[choose and block.place or done] or size_of_Y))
      list[l] = math.sqrt(sums(l, 3) / math.max(sums(l, 4), 1e-300))
    end
    return list
  end

  local function require_finite(l, ...)
    for _, x in ipairs{ ... } do
      if x ~= x or x == math.huge then
        error(("%s: block %d of epoch %d gave a model that is not finite (lambda = %g); raise lambda, scale the data or " ..
          "the targets, use f64, or make the step of a method with step lengths smaller"):format(owner, done, epoch,
          lambda[l]), 0)
      end
    end
  end

  -- |Δ| / |α| for each λ: of the blocks so far, or where all coefficients change, of the epoch at its end.
  local function changes(Delta, now)
    local list = {}
    if not Delta then
      if done < #visits then return nil end
      Delta, now = model.coefficients - before, model.coefficients
      sums:fill(0)
    end
    local squares = Matrix.zeros(L, 2)
    for l = 1, L do
      squares:set(l, 1, Delta:cols((l - 1) * k + 1, l * k):norm() ^ 2)
      squares:set(l, 2, now:cols((l - 1) * k + 1, l * k):norm() ^ 2)
    end
    if rawequal(now, model.coefficients) and model.distributed then kbcd.allreduce(squares) end
    for l = 1, L do
      local step, size = sums(l, 1) + squares(l, 1), sums(l, 2) + squares(l, 2)
      require_finite(l, step, size)
      sums:set(l, 1, step)
      sums:set(l, 2, size)
      list[l] = math.sqrt(step / math.max(size, 1e-300))
    end
    return list
  end

  if choose then function systems.solved(norm) choose.record(done, norm) end end

  -- What the method has measured itself, in the unit of the targets as the caller knows them.
  local function own_errors()
    local list = {}
    for l, e in ipairs(method.errors()) do list[l] = e * o.error_unit end
    return list
  end

  -- One step of the method: Δ of the rows block.I of the coefficients, and these rows after it; nil if all may have changed.
  local function advance(block)
    if not method.step then method.iterate(epoch) return nil end
    local K_b, more = systems.begin(block)
    local Delta = method.step(block.I, K_b, systems.solve, more)
    if method.dense then return nil end
    if kbcd.type(Delta) ~= "Matrix" then
      error(("%s: step must return the change of its rows of the coefficients, a Matrix, got %s; or declare dense = true, " ..
        "where it changes others, too (%s)"):format(owner, kbcd.type(Delta), run.place), 0)
    end
    if systems.old then return Delta, systems.old + Delta end
    return Delta, model.distributed and model:rows(block.I) or model.coefficients:take(block.I)
  end

  return function()
    if ended or epoch == o.epochs and done == #visits then return nil end
    if save and done > 0 then save(epoch, done, seconds) end
    if done == #visits then start_epoch() end
    done = done + 1
    run.epoch, run.t = epoch, (epoch - 1) * #visits + done
    local start, block = kbcd.now(), choose and choose.next(done) or visits[done]
    if done == 1 and before then before:copy(model.coefficients) end
    local Delta, now = advance(block)
    seconds = seconds + kbcd.now() - start
    if follow then follow.after(block, Delta, done == #visits) end
    if judge and not shared then judge.after(block, Delta, done == #visits) end
    local before_step, change = residuals_before(block, systems and systems.squares), changes(Delta, now)
    if done == #visits then run.end_epoch(change) end
    local residual = residuals()
    for l, r in ipairs(residual or before_step or {}) do require_finite(l, r) end
    if done == #visits then replicated_check(run, ("at the end of epoch %d"):format(epoch)) end
    if done == #visits and epoch == 1 then precision_check.bookkeeping(run, method) end
    local unimproved, held_out_error, judged
    if done == #visits then
      local largest = math.max(unpack(run.admm and residual or change or { 0 }))
      judged = judge and judge.scores()
      unimproved = patience and patience(judged and held_out.loss(judged), residual or change)
      held_out_error = judged and held_out.score(judged)
      local waited = o.patience > 0 and kbcd.allreduce_min(math.min(unpack(unimproved))) or -1  -- the ranks must agree
      ended = o.tol > 0 and kbcd.allreduce_max(largest) <= o.tol and "tol" or waited >= o.patience and "patience" or nil
    end
    local ends = ended or epoch == o.epochs and done == #visits
    if ends and systems then systems.finish() end
    local scores = follow and follow.scores()
    local step = {
      epoch = epoch, epochs = o.epochs, block = done, blocks = #visits, epoch_end = done == #visits, ended = ended,
      seconds = seconds, change = change, residual = residual, residual_before = before_step, model = model,
      test_scores = scores, test_error = scores and o.score and o.score(scores) or nil, p = run.p,
      held_out_scores = judged, held_out_error = held_out_error, unimproved = unimproved,
      own_error = method.errors and done == #visits and own_errors() or nil,
      precision_loss = ends and precision_check(run, method, block) or nil,
    }
    if log then log(step, ends) end
    return step
  end
end
