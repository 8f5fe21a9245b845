-- ranks: 1
-- train and tune --hold-out 0: λ by leave-one-out errors, which are those of refits of Lua's own.

local kbcd = require "kbcd"
local shell = require "shell"
local spec = require "spec"
local equal, close = spec.equal, spec.close
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test
local points = require "three_classes"
local n = 200
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet

local lambdas = { 10, 1e-3, 1e-9 }
local data = { X = Matrix(points.X):rows(1, n), t = Matrix(points.t):rows(1, n) }

-- Targets of mean 0 and variance 1, as a run is trained on them; and their deviations.
local centred = data.t:clone():sub(data.t:sum(1):scale(1 / n))
local deviation = centred:clone():square():sum(1):scale(1 / n):sqrt()
centred:cdiv(deviation)

-- The RMSE of the scores of each row without it, of features F with penalty M.
local function rmse(F, M, lambda)
  local sum = 0
  for i = 1, n do
    local others = Index.range(1, n):without(Index{ i })
    local rest = F:take(others)
    local w = kbcd.local_solve(rest:t() * rest + M * (n * lambda), rest:t() * centred:take(others), { jitter = true })
    sum = sum + (F:rows(i, i) * w - centred:rows(i, i)):cmul(deviation):norm() ^ 2
  end
  return math.sqrt(sum / (n * data.t.ncols))
end

local function saved(name) return kbcd.model_file.load(shell.tmp .. "/" .. name) end

test("train chooses lambda by the errors of rows left out", function()
  local rbf = kbcd.kernel.rbf{ sigma = 0.3 }
  for _, method in ipairs{ "nystrom", "falkon", "random_features", "features_cg" } do
    local out = succeeds(("mpi 2 train --x X.npy --y t.npy --hold-out 0 --method %s --p 30 --sigma 0.3 " ..
      "--lambda 10,1e-3,1e-9 --precision f64 --seed 5 --model l.h5"):format(method)).out
    has(out, "no rows to test", "leave-one-out error of the solution", "l.h5: best lambda", "leave-one-out error")
    local m = saved("l.h5")
    local X = DataSet(data.X)
    local B = m.map and kbcd.RandomFeaturesBlock(X, Index.range(1, 30), m.map)
      or kbcd.KernelBlock(X, Index.sample(n, 30, { seed = 5, stream = 1 }), rbf)
    local errors = {}
    for l = 1, 2 do  -- the last one is not for direct solves of normal equations
      errors[l] = rmse(B:dense(), m.map and Matrix.eye(30) or B:square(), lambdas[l])
      close(m.metrics.leave_one_out_error[l], errors[l], 1e-6 * errors[l], method .. ", lambda = " .. lambdas[l])
    end
    equal(m.best, kbcd.scoring.best(m.metrics.leave_one_out_error), method)
  end
end)

test("the full kernel, classes, and what has no such errors", function()
  local train = "kbcd train --x X.npy --y y.npy --hold-out 0 --sigma 2 --precision f64 --model l.h5 "
  has(succeeds(train .. "--lambda 1e-1,1e-3").out, "leave-one-out error of the solution", "%")
  local one = succeeds(train .. "--lambda 1e-1").out
  assert(not one:find("leave%-one%-out error"), "one lambda leaves nothing to choose")
  has(one, "training error")
  has(succeeds(train .. "--method nystrom --p 20 --nystrom-gamma 0.1 --lambda 1e-1,1e-3").out,
    "chosen by the training error", "nystrom", "--hold-out")
end)

test("tune --hold-out 0", function()
  local out = succeeds("mpi 2 tune --x X.npy --y t.npy --hold-out 0 --sigma 0.05,3 --lambda 10,1e-3 --precision f64 " ..
    "--method nystrom --p 30 --seed 5").out
  has(out, "leave-one-out error", "best: sigma = 3, lambda = 0.001", "--hold-out 0")
  local K = kbcd.KernelBlock(DataSet(data.X), Index.sample(n, 30, { seed = 5, stream = 1 }), kbcd.kernel.rbf{ sigma = 3 })
  local error = tonumber(out:match("lambda = 0.001, error (%S+)"))
  local expected = rmse(K:dense(), K:square(), 1e-3)
  close(error, expected, 1e-4 * expected, "the error of the refits")
  succeeds((out:match("(kbcd train [^\n]+)\n"):gsub("model%.h5", "tuned.h5")))
  refuses("kbcd tune --x X.npy --y t.npy --hold-out 0 --sigma 2 --method nystrom --p 20 --nystrom-gamma 0.1",
    "no rows to test on", "nystrom", "--hold-out")
end)

shell.finish()
