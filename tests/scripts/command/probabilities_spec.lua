-- ranks: 1
-- --loss and --probabilities as a user types them; the numbers against formulas of Lua's own; model files with a loss and a
-- calibration, and damaged ones.

local kbcd = require "kbcd"
local shell, spec = require "shell", require "spec"
local equal, close, fails = spec.equal, spec.close, spec.fails
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test
local points = require "three_classes"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet

local train = "kbcd --threads 1 train --x X.npy --sigma 2 --precision f64 "
local function saved(name) return kbcd.model_file.load(shell.tmp .. "/" .. name) end
local X = DataSet(Matrix(points.X):rows(201, points.n))
local function class(i) return points.y[200 + i][1] / 10 + 1 end

-- The mean of −log p of test rows.
local function log_loss(P)
  local sum = 0
  for i = 1, P.nrows do sum = sum - math.log(P(i, class(i))) end
  return sum / P.nrows
end

test("logistic models: probabilities are the softmax of the scores", function()
  for _, method in ipairs{ "--loss logistic", "--method newton --p 40", "--method features_newton --p 40",
    "--method pcg --loss logistic" } do
    local out = succeeds(train .. "--y y.npy --lambda 1e-2,1e-4 --model m.h5 " .. method).out
    has(out, "logistic loss", "held-out log-loss", "held-out error")
    local m = saved("m.h5")
    equal(m.loss.name, "logistic")
    local S = m[m.best]:predict(X)
    local P = m[m.best]:probabilities(X)
    for i = 1, X.n do
      local sum = 0
      for c = 1, 3 do sum = sum + math.exp(S(i, c) - S(i, class(i))) end
      close(P(i, class(i)), 1 / sum, 1e-12)
    end
    succeeds("kbcd predict --model m.h5 --x Xt.npy --probabilities --out p.npy")
    close(kbcd.load(shell.tmp .. "/p.npy").rows:to("f64"), P, 1e-12, "p.npy")
    has(succeeds("kbcd evaluate --model m.h5 --x Xt.npy --y yt.npy").out, ("log-loss %.4f"):format(log_loss(P)))
  end
  local csv = succeeds("kbcd predict --model m.h5 --x Xt.npy --probabilities --out -").out
  has(csv, "0,10,20\n")
  equal(shell.count(csv, "\n"), X.n + 1)
end)

test("calibrated probabilities: held out and left out, least squares and hinge", function()
  for _, case in ipairs{ "--lambda 1e-2,1e-4", "--lambda 1e-3 --hold-out 0", "--lambda 1e-3 --loss hinge",
    "--method nystrom --p 30 --lambda 1e-2,1e-4 --hold-out 0" } do
    has(succeeds(train .. "--y y.npy --model c.h5 " .. case).out, "log-loss", "calibrated")
    local m = saved("c.h5")
    equal(m.calibration.nrows, #m.lambdas)
    local P, S, row = m[m.best]:probabilities(X), m[m.best]:predict(X), m.calibration:rows(m.best)
    local sum = 0
    for c = 1, 3 do sum = sum + math.exp(row(1, 1) * (S(1, c) - S(1, 1)) + row(1, c + 1) - row(1, 2)) end
    close(P(1, 1), 1 / sum, 1e-12, case)
    has(succeeds("kbcd evaluate --model c.h5 --x Xt.npy --y yt.npy").out, ("log-loss %.4f"):format(log_loss(P)))
  end
  succeeds(train .. "--y y.npy --model n.h5 --loss hinge --hold-out 0 --lambda 1e-2")
  refuses("kbcd predict --model n.h5 --x Xt.npy --probabilities --out p.npy", "not calibrated", "--hold-out")
  assert(not succeeds("kbcd evaluate --model n.h5 --x Xt.npy --y yt.npy").out:find("log%-loss"))
  refuses("kbcd predict --model n.h5 --x Xt.npy --probabilities --scores --out p.npy", "--scores")
end)

-- Of scores of its own: no change of a or b lowers the log-loss of Platt's targets.
test("a calibration is the minimum", function()
  local n, k = 90, 3
  local S = Matrix.randn(n, k, { seed = 2 })
  local y = spec.make(n, 1, function(i) return i % 4 == 0 and i % 3 + 1 or S:rows(i):argmax()(1, 1) end)
  local row, epsilon = kbcd.calibration({ S }, DataSet(y)), k / (n + k)
  local function value(r)
    local sum = 0
    for i = 1, n do
      local total = 0
      for c = 1, k do total = total + math.exp(r(1, 1) * S(i, c) + r(1, c + 1)) end
      for c = 1, k do
        local q = epsilon / k + (c == y(i, 1) and 1 - epsilon or 0)
        sum = sum - q * (r(1, 1) * S(i, c) + r(1, c + 1) - math.log(total))
      end
    end
    return sum
  end
  for j = 1, k + 1 do
    for _, h in ipairs{ 1e-3, -1e-3 } do
      local other = row:clone()
      other:set(1, j, row(1, j) + h)
      assert(value(other) > value(row), "a smaller log-loss beside it")
    end
  end
  local apart = spec.make(n, k, function(i, c) return c == i % 3 + 1 and 1 or -1 end)
  local sure = kbcd.calibration({ apart }, DataSet(spec.make(n, 1, function(i) return i % 3 + 1 end)))
  assert(sure:finite() and sure(1, 1) > 1 and sure(1, 1) < 100, "classes that the scores separate")
end)

test("huber and quantile: lambda by the loss itself", function()
  for _, case in ipairs{ { "huber", "--loss-delta 0.4", { delta = 0.4 } },
    { "quantile", "--loss-tau 0.8", { tau = 0.8 } } } do
    local name, flag, params = unpack(case)
    local loss = kbcd.losses[name](params)
    has(succeeds(train .. ("--y t.npy --test-x Xt.npy --test-y tt.npy --loss %s %s --lambda 1e-1,1e-3 --model r.h5"):format(
      name, flag)).out, tostring(loss) .. " loss", "test loss")
    local m, Y = saved("r.h5"), Matrix(points.t):rows(201, points.n)
    equal(tostring(m.loss), tostring(loss))
    local values = {}
    for l = 1, 2 do
      values[l] = loss.value(m[l]:predict(X), Y) / X.n
      close(m.metrics.test_error[l], values[l], 1e-9, name)
    end
    equal(m.best, values[1] <= values[2] and 1 or 2)
    has(succeeds("kbcd evaluate --model r.h5 --x Xt.npy --y tt.npy").out, ("mean %s loss"):format(tostring(loss)), "RMSE")
  end
  refuses("kbcd predict --model r.h5 --x Xt.npy --probabilities --out p.npy", "real targets")
  has(succeeds("kbcd --threads 1 tune --x X.npy --y t.npy --loss huber --lambda 1e-1,1e-2 --sigma 2 --epochs 5").out,
    "huber loss", "--loss huber")
  has(succeeds("kbcd --threads 1 compare --x X.npy --y y.npy --loss hinge --methods full_kernel,falkon --p 20 " ..
    "--lambda 1e-2").out, "Falkon", "full kernel")
end)

test("a loss of one's own", function()
  local book = shell.read(os.getenv("KBCD_SOURCE") .. "/scripts/kbcd/algorithms/COOKBOOK.md")
  local text = book:match("## A loss\n.-```lua\n(.-)```")
  os.execute(("mkdir -p '%s/lib/kbcd/losses'"):format(shell.tmp))
  shell.write("lib/kbcd/losses/squared_hinge.lua", text)
  for _, method in ipairs{ "full_kernel", "newton --p 30" } do
    has(succeeds(("export KBCD_PATH=$PWD/lib; %s --y y.npy --lambda 1e-3 --model o.h5 --method %s --loss squared_hinge; " ..
      "kbcd evaluate --model o.h5 --x Xt.npy --y yt.npy"):format(train, method)).out, "squared_hinge loss", "top-1 error")
  end
  refuses("kbcd evaluate --model o.h5 --x Xt.npy --y yt.npy", "'squared_hinge' is not known here")
end)

test("refusals", function()
  refuses(train .. "--y t.npy --loss logistic --model x.h5", "--loss logistic is for classes")
  refuses(train .. "--y y.npy --loss huber --model x.h5", "--loss huber is for real targets")
  refuses(train .. "--y t.npy --method newton --p 20 --model x.h5", "newton minimises the logistic loss")
  refuses(train .. "--y t.npy --loss huber --loss-tau 0.5 --model x.h5", "--loss-tau is for quantile, not for huber")
  refuses(train .. "--y t.npy --loss quantile --loss-tau 1 --model x.h5", "--loss-tau", "below 1")
  refuses(train .. "--y t.npy --loss absolute --model x.h5", "--loss", "quantile")
  refuses("kbcd tune --x X.npy --y t.npy --loss huber --hold-out 0", "huber loss has no leave-one-out errors")
end)

test("damaged losses and calibrations in model files", function()
  succeeds(train .. "--y y.npy --lambda 1e-2 --model c.h5")
  local m = saved("c.h5")
  local path = shell.tmp .. "/bad.h5"
  local about = { task = "classify", names = m.names }
  local function written(change)
    local loss, calibration = m.loss, m.calibration
    change()
    m:save(path, about)
    m.loss, m.calibration = loss, calibration
    return function() return kbcd.model_file.load(path) end
  end
  local function as(loss) return function() m.loss = setmetatable(loss, getmetatable(m.loss)) end end
  equal(written(as{ name = "hinge", task = "classify", params = {}, declared = {} })().loss.name, "hinge")
  fails(written(as{ name = "absolute", task = "any", params = {}, declared = {} }), "/loss", "'absolute' is not known")
  fails(written(as{ name = "huber", task = "any", params = { delta = 1 }, declared = {} }), "/loss", "task regress")
  fails(written(as{ name = "quantile", task = "any", params = { tau = 7 }, declared = {} }), "/loss", "tau", "below 1")
  fails(written(as{ name = "hinge", task = "any", params = { tau = 0.5 }, declared = {} }), "/loss", "tau")
  fails(function() written(function() m.calibration = Matrix.zeros(1, 2) end) end, "calibration", "1x4")
  m.calibration = nil
  equal(written(function() end)():has_probabilities(), false)
  local file = kbcd.h5.create(path)
  file:close()
  fails(function() kbcd.model_file.load(path) end, "no kbcd model file")
end)

shell.finish()
