-- ranks: 1
-- evaluate: the metrics that it prints and writes to --json are those of the predictions that predict writes.

local shell = require "shell"
local spec = require "spec"
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test
local points = require "three_classes"
local cjson = require "cjson"

local function json(name) return cjson.decode(shell.read(shell.tmp .. "/" .. name)) end

local function numbers(name)
  local rows = {}
  for line in shell.read(shell.tmp .. "/" .. name):gmatch("[^\n]+") do
    local row = {}
    for cell in line:gmatch("[^,]+") do row[#row + 1] = tonumber(cell) end
    if row[1] then rows[#rows + 1] = row end
  end
  return rows
end

test("real targets", function()
  succeeds("kbcd train --x X.npy --y t.npy --method nystrom --p 20 --epochs 2 --lambda 1e-4 --model r.h5")
  succeeds("kbcd predict --model r.h5 --x Xt.npy --out p.csv")
  local out = succeeds("mpi 2 evaluate --model r.h5 --x Xt.npy --y tt.npy --json r.json").out
  has(out, "RMSE", "R2", "MAE", "target 2")
  local m, p = json("r.json"), numbers("p.csv")
  for j = 1, 2 do
    local mean, squares, spread, absolute = 0, 0, 0, 0
    for i = 1, 40 do mean = mean + points.t[200 + i][j] / 40 end
    for i = 1, 40 do
      local t = points.t[200 + i][j]
      squares, spread, absolute = squares + (t - p[i][j]) ^ 2, spread + (t - mean) ^ 2, absolute + math.abs(t - p[i][j])
    end
    spec.close(m.targets[j].r2, 1 - squares / spread, 1e-9, "R2")
    spec.close(m.targets[j].mae, absolute / 40, 1e-9, "MAE")
    spec.close(m.targets[j].rmse, math.sqrt(squares / 40), 1e-9, "RMSE")
  end
  spec.equal(m.rows, 40)
  spec.equal(m.task, "regress")
end)

test("classes, with and without probabilities; weights", function()
  local out = succeeds("kbcd train --x X.npy --y y.npy --method nystrom --p 20 --epochs 2 --lambda 1e-4 --model c.h5").out
  has(out, "held-out AUC", "macro F1")
  succeeds("kbcd predict --model c.h5 --x Xt.npy --probabilities --out p.csv")
  out = succeeds("mpi 2 evaluate --model c.h5 --x Xt.npy --y yt.npy --json c.json").out
  has(out, "top-1 error", "AUC", "macro F1", "log-loss", "Brier score", "calibration error", "confusion")
  local m, p, brier = json("c.json"), numbers("p.csv"), 0
  for i = 1, 40 do
    for c = 1, 3 do
      local q = points.y[200 + i][1] == 10 * (c - 1) and 1 or 0
      brier = brier + (p[i + #p - 40][c] - q) ^ 2 / 40
    end
  end
  spec.close(m.brier, brier, 1e-9, "Brier score")
  spec.equal(#m.confusion, 3)
  spec.equal(m.classes[2].name, "10")
  local rows = 0
  for _, class in ipairs(m.classes) do rows = rows + class.rows end
  spec.equal(rows, 40)
  succeeds("kbcd train --x X.npy --y y.npy --method nystrom --p 20 --epochs 1 --lambda 1e-4 --hold-out 0 --test-x Xt.npy " ..
    "--test-y yt.npy --loss hinge --model h.h5")
  out = succeeds("kbcd evaluate --model h.h5 --x Xt.npy --y yt.npy --json h.json").out
  assert(not out:find("Brier") and json("h.json").log_loss == nil, "no rows to calibrate by, no probabilities")
  -- Weight 1 for the rows that are right, 0 for the others.
  local weights = {}
  for i, row in ipairs(p) do
    local best = row[1] > row[2] and (row[1] > row[3] and 1 or 3) or row[2] > row[3] and 2 or 3
    weights[i] = points.y[200 + i - (#p - 40)] and points.y[200 + i - (#p - 40)][1] == 10 * (best - 1) and "1" or "0"
  end
  while #weights > 40 do table.remove(weights, 1) end
  shell.write("v.csv", table.concat(weights, "\n") .. "\n")
  has(succeeds("kbcd evaluate --model c.h5 --x Xt.npy --y yt.npy --weights v.csv").out, "top-1 error 0.00%")
end)

test("what is refused", function()
  refuses("kbcd evaluate --model r.h5 --x Xt.npy --y tt.npy --json r.h5", "r.h5")
  refuses("kbcd evaluate --model r.h5 --x Xt.npy --y tt.npy --json nowhere/m.json", "nowhere")
  refuses("kbcd evaluate --model r.h5 --x Xt.npy --y tt.npy --weights v", "no such file")
end)

shell.finish()
