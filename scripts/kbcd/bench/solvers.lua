-- solvers: methods for the exact kernel machine against each other, on the same rows with the kernel kept.
--
--   regrouped   the residual of block descent after some epochs, against a fixed partition, and the time of a later epoch
--               against one with kept factors
--   pcg         the time of all of a run to a residual of 1e-2, in first epochs of block descent; the speed at which an
--               iteration reads the kept triangle
--
-- A residual is that of the equations, |Y − (K + nλI) α| / |Y|. Times are of whole runs, with what setup computes.

local kbcd = require "kbcd"
local data = require "kbcd.bench.data"

local kernel = kbcd.kernel.rbf{ sigma = data.sigma }
local goal = 1e-2

-- |Y − (K + nλI) α| / |Y| of a model of all rows.
local function residual(set, model, lambda)
  local alpha, K = model[1].coefficients, kbcd.KernelMatrix(set.X, nil, kernel, { keep = "none" })
  local R = set.Y - K * alpha - (set.X.n * lambda) * alpha
  return math.sqrt(kbcd.allreduce(R:norm() ^ 2) / kbcd.allreduce(set.Y:norm() ^ 2))
end

-- The seconds of each epoch of block descent, and the residual after the last.
local function descent(set, b, epochs, partition)
  local seconds, before, last = {}, 0, nil
  for step in kbcd.full_kernel(set.X, set.Y, { kernel = kernel, lambda = data.lambda, b = b, epochs = epochs,
    partition = partition, jitter = true }) do
    if step.epoch_end then
      seconds[step.epoch] = kbcd.allreduce_max(step.seconds - before)
      before = step.seconds
    end
    last = step
  end
  return seconds, residual(set, last.model, data.lambda)
end

-- The middle of the epochs after the first.
local function later(seconds)
  local list = { unpack(seconds, 2) }
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

-- Seconds of a run of pcg to the goal, its iterations, and the seconds of one.
local function to_goal(set, lambda)
  local start, last, before, iteration = kbcd.now(), nil, 0, math.huge
  for step in kbcd.pcg(set.X, set.Y, { kernel = kernel, lambda = lambda, epochs = 1000 }) do
    iteration, before, last = math.min(iteration, step.seconds - before), step.seconds, step
    if step.residual[1] <= goal then break end
  end
  return kbcd.allreduce_max(kbcd.now() - start), last, kbcd.allreduce_max(iteration)
end

return function(bench)
  local s, set = bench.sizes, data.images(bench.images())
  local b, epochs = math.min(2048, s.b), s.solver_epochs
  local entries = set.X.n ^ 2 / 2
  if 4 * entries / kbcd.size() > 0.8 * kbcd.memory_budget() then
    return bench.skip("solvers", ("--memory of %.0f GB for the kernel"):format(5 * entries / kbcd.size() / 1e9))
  end
  local fixed, fixed_residual = descent(set, b, epochs, "fixed")
  local regrouped, regrouped_residual = descent(set, b, epochs, "regrouped")
  bench.add{ group = "solvers", name = ("regrouped, residual after %d epochs"):format(epochs),
    value = regrouped_residual / fixed_residual, unit = "of fixed blocks'", bar = 0.1, at_most = true,
    note = ("%.2g and %.2g"):format(regrouped_residual, fixed_residual) }
  bench.add{ group = "solvers", name = "regrouped, a later epoch", value = later(regrouped) / later(fixed),
    unit = "x fixed blocks'", bar = 1.6, at_most = true, seconds = later(regrouped),
    note = ("fixed %.3g s; the first: %.3g and %.3g s"):format(later(fixed), regrouped[1], fixed[1]) }
  for _, lambda in ipairs{ data.lambda, data.lambda / 100 } do
    local seconds, step, iteration = to_goal(set, lambda)
    bench.add{ group = "solvers", name = ("pcg, lambda=%g, to a residual of %g"):format(lambda, goal),
      value = seconds / regrouped[1], unit = "first epochs", bar = lambda == data.lambda and 2.2 or 5, at_most = true,
      seconds = seconds, note = ("%d iterations, at %.2g; the kernel is read at %.3g GB/s"):format(step.epoch,
      step.residual[1], 4 * entries / iteration / 1e9) }
  end
end
