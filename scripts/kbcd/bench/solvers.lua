-- solvers: methods for the exact kernel machine against each other, on the same rows with the kernel kept.
--
--   regrouped blocks   the residual of block descent after some epochs, against that of fixed blocks, and the time of a later
--                      epoch against one with kept factors
--   to a residual      the time of a whole run to a residual of 1e-2, with what setup computes, in first epochs of block
--                      descent: the best of regrouped blocks and pcg
--   pcg, an iteration  the speed at which it reads the kept triangle
--
-- A residual is that of the equations, |Y − (K + nλI) α| / |Y|.

local kbcd = require "kbcd"
local data = require "kbcd.bench.data"

local kernel = kbcd.kernel.rbf{ sigma = data.sigma }
local goal, most = 1e-2, 6  -- a run that does not reach the goal ends after so many first epochs

local function residual(set, model, lambda)
  local alpha, K = model[1].coefficients, kbcd.KernelMatrix(set.X, nil, kernel, { keep = "none" })
  local R = set.Y - K * alpha - (set.X.n * lambda) * alpha
  return math.sqrt(kbcd.allreduce(R:norm() ^ 2) / kbcd.allreduce(set.Y:norm() ^ 2))
end

-- Block descent: the seconds of each epoch, the residual after the last, and when the goal was reached, of the whole run.
local function descent(set, o)
  local start, before, run, last = kbcd.now(), 0, { epochs = {} }, nil
  for step in kbcd.full_kernel(set.X, set.Y, { kernel = kernel, lambda = o.lambda or data.lambda, b = o.b, epochs = o.epochs,
    partition = o.partition, jitter = true }) do
    if step.epoch_end then
      run.epochs[step.epoch] = kbcd.allreduce_max(step.seconds - before)
      before = step.seconds
      if step.residual[1] <= goal and not run.reached then
        run.reached, run.steps = kbcd.allreduce_max(kbcd.now() - start), step.epoch
        if o.to_goal then break end
      end
      if o.seconds and kbcd.allreduce_max(kbcd.now() - start) > o.seconds then break end
    end
    last = step
  end
  run.residual = not o.to_goal and residual(set, last.model, o.lambda or data.lambda) or nil
  return run
end

-- The middle of the epochs after the first.
local function later(run)
  local list = { unpack(run.epochs, 2) }
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

-- A run of pcg to the goal, and the seconds of its fastest iteration.
local function conjugate(set, lambda, seconds)
  local start, before, run = kbcd.now(), 0, { iteration = math.huge }
  for step in kbcd.pcg(set.X, set.Y, { kernel = kernel, lambda = lambda, epochs = 1000 }) do
    run.iteration, before = math.min(run.iteration, kbcd.allreduce_max(step.seconds - before)), step.seconds
    local now = kbcd.allreduce_max(kbcd.now() - start)
    if step.residual[1] <= goal then
      run.reached, run.steps = now, step.epoch
      break
    end
    if now > seconds then break end
  end
  return run
end

return function(bench)
  local s, set = bench.sizes, data.images(bench.images())
  local b, entries = math.min(2048, s.b), set.X.n ^ 2 / 2
  if 4 * entries / kbcd.size() > 0.8 * kbcd.memory_budget() then
    return bench.skip("solvers", ("--memory of %.0f GB for the kernel"):format(5 * entries / kbcd.size() / 1e9))
  end
  local fixed = descent(set, { b = b, epochs = s.solver_epochs, partition = "fixed" })
  local regrouped = descent(set, { b = b, epochs = s.solver_epochs, partition = "regrouped" })
  local unit = regrouped.epochs[1]
  bench.add{ group = "solvers", name = ("regrouped, residual after %d epochs"):format(s.solver_epochs),
    value = regrouped.residual / fixed.residual, unit = "of fixed blocks'", bar = 0.1, at_most = true,
    note = ("%.2g and %.2g"):format(regrouped.residual, fixed.residual) }
  bench.add{ group = "solvers", name = "regrouped, a later epoch", value = later(regrouped) / later(fixed),
    unit = "x fixed blocks'", bar = 1.6, at_most = true, seconds = later(regrouped),
    note = ("fixed %.3g s; the first: %.3g and %.3g s"):format(later(fixed), unit, fixed.epochs[1]) }
  local iteration = math.huge
  for _, lambda in ipairs{ data.lambda, data.lambda / 100 } do
    local blocks = lambda == data.lambda and regrouped or
      descent(set, { b = b, epochs = 1000, partition = "regrouped", lambda = lambda, to_goal = true, seconds = most * unit })
    local cg = conjugate(set, lambda, most * unit)
    iteration = math.min(iteration, cg.iteration)
    local function said(run, what)
      return run.reached and ("%.3g s, %d %s"):format(run.reached, run.steps, what) or "not reached"
    end
    local best = math.min(blocks.reached or most * unit, cg.reached or most * unit)
    bench.add{ group = "solvers", name = ("to a residual of %g, lambda=%g"):format(goal, lambda), value = best / unit,
      unit = "first epochs", bar = lambda == data.lambda and 2.2 or 5, at_most = true, seconds = best,
      note = ("blocks: %s; pcg: %s"):format(said(blocks, "epochs"), said(cg, "iterations")) }
  end
  bench.add{ group = "solvers", name = "pcg, an iteration", value = 4 * entries / kbcd.size() / iteration / 1e9,
    unit = "GB/s of kernel", seconds = iteration }
end
