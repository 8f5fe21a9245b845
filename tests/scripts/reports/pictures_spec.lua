-- ranks: 1
-- The page of runs: what train and compare add to their logs, the pictures of it, names that tell runs apart, old logs.

local kbcd = require "kbcd"
local shell = require "shell"
local spec = require "spec"
local has, succeeds, test, equal, close = shell.has, shell.succeeds, shell.test, spec.equal, spec.close
local points = require "three_classes"

local train = "kbcd train --method nystrom --p 20 --epochs 3 --b 5 --lambda 1e-3,1e-5 "

local function log_of(name) return kbcd.read_log(shell.tmp .. "/" .. name) end
local function page() return shell.read(shell.tmp .. "/page.html") end

test("details of classes: confusion and calibration are those of the test rows", function()
  succeeds(train .. "--x X.npy --y y.npy --test-x Xt.npy --test-y yt.npy --model c.h5 --log c.jsonl; " ..
    "kbcd evaluate --model c.h5 --x Xt.npy --y yt.npy --json c.json")
  local details, m = log_of("c.jsonl").details, require("cjson").decode(shell.read(shell.tmp .. "/c.json"))
  equal(details.rows_of, "test")
  equal(details.rows, 40)
  equal(#details.curve, 3)
  equal(#details.curve[1].train_error, 2)
  equal(table.concat(details.names, " "), "0 10 20")
  for i = 1, 3 do equal(table.concat(details.confusion[i], " "), table.concat(m.confusion[i], " ")) end
  close(details.metrics.auc, m.auc, 1e-6, "AUC")
  close(details.metrics.log_loss, m.log_loss, 1e-4, "log-loss")
  equal(#details.calibration, #m.calibration)
  succeeds("kbcd report c.jsonl -o page.html --svg fig")
  has(page(), "1 run<", "Confusion: ", "Calibration", "Error against λ", "Training and test error", "prefers-color-scheme")
  has(shell.read(shell.tmp .. "/fig-confusion.svg"), "<svg", "</svg>", ">" .. details.confusion[1][1] .. "<")
end)

test("details of targets: at most 500 residuals", function()
  succeeds(train .. "--x X.npy --y t.npy --hold-out 0.2 --model r.h5 --log r.jsonl")
  local details = log_of("r.jsonl").details
  equal(details.rows_of, "held-out")
  equal(#details.residuals, 40)
  local targets = {}
  for i = 1, 200 do targets[("%.9g"):format(points.t[i][1])] = true end
  local squares = 0
  for _, pair in ipairs(details.residuals) do
    assert(targets[("%.9g"):format(pair[2])], "a target of the data")
    squares = squares + (pair[1] - pair[2]) ^ 2
  end
  assert(squares / 40 < details.metrics.rmse ^ 2 * 2 + 1e-12, "the residuals of one of two targets")
  succeeds("kbcd report r.jsonl -o page.html")
  has(page(), "Residuals: ", "target - prediction")
  local n = 1700
  local data = { task = "regress" }
  local y = kbcd.DataSet(kbcd.Matrix.randn(n, 1, { seed = 1 }))
  shell.write("long.jsonl", "")
  local log = require "kbcd.reports.log_details"()
  for epoch = 1, 1000 do log.step{ epoch_end = true, epoch = epoch, seconds = epoch, train_error = { 1 } } end
  log.write(shell.tmp .. "/long.jsonl", data, {}, 1, y.rows:clone(), { y = y }, "test")
  local written = require("cjson").decode(shell.read(shell.tmp .. "/long.jsonl"))
  assert(#written.residuals <= 500 and #written.residuals > 400, "residuals of some rows")
  assert(#written.curve <= 200 and written.curve[#written.curve].epoch == 1000, "some epochs, and the last one")
end)

test("runs that differ in kernel and p have names that tell them apart", function()
  succeeds(train .. "--x X.npy --y t.npy --kernel laplacian --sigma 2 --model r2.h5 --log r2.jsonl")
  succeeds(train .. "--x X.npy --y t.npy --kernel rbf --sigma 2 --model r3.h5 --log r3.jsonl")
  succeeds("cp r3.jsonl r4.jsonl; kbcd report r2.jsonl r3.jsonl r4.jsonl -o page.html")
  has(page(), "laplacian (sigma=2), p = 20", "rbf (sigma=2), p = 20, r3", "rbf (sigma=2), p = 20, r4")
end)

test("logs without details, as before, and a hostile one", function()
  succeeds("grep -v details c.jsonl > old.jsonl; kbcd report old.jsonl -o page.html")
  has(page(), "Error against time", "Error against λ")
  assert(not page():find("Confusion", 1, true), "no confusion in an old log")
  local text = shell.read(shell.tmp .. "/old.jsonl")
  for _, details in ipairs{ '{"type":"details"}',
    '{"type":"details","confusion":[[1,2],[3]],"calibration":[1,{}],"curve":"x"}',
    '{"type":"details","confusion":[["<script>"]],"names":["<script>"],"metrics":{"error":"x"}}',
    '{"type":"details","residuals":[[1],["a","b"]],"metrics":1}' } do
    shell.write("odd.jsonl", text .. details .. "\n")
    succeeds("kbcd report odd.jsonl -o page.html")
    assert(not page():find("<script", 1, true), "text of a log is escaped")
  end
end)

shell.finish()
