-- Patience: a run ends when held-out rows, or without them the residual, have not improved for so many epochs: in the epoch
-- that the rule, written out here, says, for every λ, on any number of ranks, and also when it was stopped and resumed.

local kbcd = require "kbcd"
local spec, problem = require "spec", require "small_problem"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal = spec.test, spec.equal
local X, Y, rbf, whole, last = problem.X, problem.Y, problem.rbf, problem.whole, problem.last
local lambdas = { 1, 1e-2, 1e-5 }

local rows = DataSet(Matrix.randn(50, problem.d, { seed = 21 }))
local truth = Matrix.randn(50, problem.k, { seed = 22 })
local function losses_of(scores)                                    -- squared errors, this rank's rows x L
  local T, list = truth:rows(rows.first, rows.first + rows.local_n - 1), {}
  for l, S in ipairs(scores) do list[l] = (S - T):square():sum(2) end
  return Matrix.hcat(list)
end
local function means(scores)
  local losses, list = whole(losses_of(scores)), {}
  for l = 1, losses.ncols do list[l] = losses:cols(l):sum() / rows.n end
  return list
end
local held_out = { rows = rows, loss = losses_of, score = means }

local function options(changes)
  local o = { kernel = rbf, lambda = lambdas, b = 20, epochs = 60, seed = 3, held_out = held_out }
  for name, value in pairs(changes or {}) do o[name] = value end
  return o
end

-- The epoch in which the rule ends a run with these losses (a Matrix of rows x L an epoch), or the last; and how long each λ
-- has waited there.
local function expected_end(history, patience)
  local reference, waited = {}, {}
  for epoch, losses in ipairs(history) do
    local least = math.huge
    for l = 1, losses.ncols do
      local sum, squares = 0, 0
      for i = 1, losses.nrows do
        local gain = reference[l] and reference[l](i, 1) - losses(i, l) or 0
        sum, squares = sum + gain, squares + gain ^ 2
      end
      local mean = sum / losses.nrows
      local noise = math.sqrt(math.max(squares / losses.nrows - mean ^ 2, 0) / losses.nrows)
      if not reference[l] or mean > noise then
        reference[l], waited[l] = losses:cols(l):clone(), 0
      else
        waited[l] = waited[l] + 1
      end
      least = math.min(least, waited[l])
    end
    if least >= patience then return epoch, waited end
  end
  return #history, waited
end

local function history_of(method, o)
  local list = {}
  for step in method(X, Y, o) do
    if step.epoch_end then list[step.epoch] = whole(losses_of(step.model:predict(rows))) end
  end
  return list
end

local runs = {
  { kbcd.full_kernel, {} }, { kbcd.nystrom, { p = 30, b = 7 } },
  { kbcd.pcg, { rank = 5, epochs = 30 } }, { kbcd.askotch, { b = 20, rank = 10 } },
}
for _, run in ipairs(runs) do if run[1].schema.b == nil then run[2].b = false end end

local function settings(run, changes)
  local o = options(run[2])
  for name, value in pairs(changes or {}) do o[name] = value end
  o.b = o.b or nil
  return o
end

test("a run ends in the epoch that the rule says, with every λ settled", function()
  local early = 0
  for _, run in ipairs(runs) do
    local method = run[1]
    local history = history_of(method, settings(run))
    for _, patience in ipairs{ 1, 3 } do
      local epoch, waited = expected_end(history, patience)
      local step = last(method(X, Y, settings(run, { patience = patience })))
      equal(step.epoch, epoch, ("%s, patience = %d: epochs"):format(method.name, patience))
      for l in ipairs(lambdas) do equal(step.unimproved[l], waited[l], method.name .. ": unimproved") end
      equal(step.ended, epoch < #history and "patience" or nil, method.name .. ": why it ended")
      if epoch < #history then early = early + 1 end
      spec.close(step.held_out_error[2], history[epoch]:cols(2):sum() / rows.n, 1e-8, "held-out error")
    end
  end
  assert(early >= 4, "some runs end early: " .. early)
end)

test("held-out rows that are the test rows are followed once; patience 0 never ends a run", function()
  local step = last(kbcd.full_kernel(X, Y, options{ epochs = 6, test = rows, score = means }))
  equal(step.epoch, 6)
  equal(step.ended, nil)
  for l in ipairs(lambdas) do equal(step.test_error[l], step.held_out_error[l], "the same rows") end
end)

test("a run that was stopped ends in the same epoch, with the same bits", function()
  for _, run in ipairs{ runs[1], runs[3] } do
    local method, path = run[1], kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "") .. ".checkpoint"
    local function with(resume)
      return settings(run, { patience = 2, checkpoint = resume ~= nil and
        kbcd.checkpoint(path, { every = 0, resume = resume }) or nil })
    end
    local plain = last(method(X, Y, with()))
    local expected = plain.model.coefficients:clone()
    for step in method(X, Y, with(false)) do
      if step.epoch == plain.epoch and step.epoch_end then break end
    end
    local again = with(true)
    local steps = method(X, Y, again)
    assert(again.checkpoint.resumed, "it resumes")
    local step = last(steps)
    equal(step.epoch, plain.epoch, method.name .. ": epochs")
    local D = step.model.coefficients - expected
    equal(kbcd.allreduce_max(D.nrows > 0 and D:abs():max() or 0), 0, method.name .. ": bits")
    again.checkpoint:remove()
  end
end)

test("without held-out rows the residual is watched", function()
  local o = options{ lambda = 1, epochs = 200, patience = 2 }
  o.held_out = nil
  local sizes = {}
  for step in kbcd.full_kernel(X, Y, options{ lambda = 1, epochs = 200 }) do
    if step.epoch_end then sizes[step.epoch] = step.residual[1] end
  end
  local step = last(kbcd.full_kernel(X, Y, o))
  local reference, waited, epoch = sizes[1], 0, 1
  while waited < 2 do
    epoch = epoch + 1
    if sizes[epoch] < 0.99 * reference then reference, waited = sizes[epoch], 0 else waited = waited + 1 end
  end
  equal(step.epoch, epoch)
  equal(step.ended, "patience")
  assert(step.residual[1] < 1e-10, "it stopped at rounding errors: " .. step.residual[1])
end)

test("bad options", function()
  for _, case in ipairs{
    { { patience = -1 }, "patience", "from 0 up" }, { { patience = 1.5 }, "patience", "whole" },
    { { held_out = rows }, "held_out", "rows", "loss" }, { { held_out = { rows = rows } }, "held_out", "loss" },
  } do
    spec.fails(function() kbcd.full_kernel(X, Y, options(case[1])) end, unpack(case, 2))
  end
  local wrong = { rows = DataSet(truth), loss = losses_of, score = means }
  spec.fails(function() kbcd.full_kernel(X, Y, options{ held_out = wrong }) end, "held_out", "rows of 3 numbers")
end)

spec.finish()
