-- ranks: 1
-- inspect: what it shows of a model, a checkpoint and a log; what is refused.

local shell = require "shell"
local has, succeeds, refuses, run, test = shell.has, shell.succeeds, shell.refuses, shell.run, shell.test
require "three_classes"

test("models", function()
  succeeds("kbcd train --x X.npy --y y.npy --method nystrom --p 20 --epochs 2 --sigma 1.5 --lambda 1e-3,1e-5 " ..
    "--standardize --seed 9 --model c.h5 --log c.jsonl")
  local out = succeeds("mpi 2 inspect c.h5").out
  has(out, "c.h5: a model of kbcd", "nystrom", "classify", "200 rows of 2 numbers, f64", "3: 0, 10, 20", "rbf", "sigma=1.5",
    "20 centres", "squared", "standardize", "calibrated", "0.001", "1e-05", "held out error", "best", "seed", "9")
  local best = tonumber(out:match("(%S+)[^\n]*  best\n"))
  assert(best == 1e-3 or best == 1e-5, "the best lambda is marked")
  succeeds("kbcd train --x X.npy --y t.npy --method rfm --model r.h5")
  has(succeeds("kbcd inspect r.h5").out, "regress", "metric", "columns that count in the metric", "own error")
  succeeds("kbcd train --x X.npy --y t.npy --method random_features --p 30 --lambda 1e-4 --epochs 1 " ..
    "--loss huber --model f.h5")
  has(succeeds("kbcd inspect f.h5").out, "feature map", "30 features", "huber{delta = 1}")
end)

test("a kernel that is written in Lua needs no code", function()
  shell.write("own.lua", [[
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(30, 2, { seed = 1 }))
local cauchy = kbcd.kernel.custom{ name = "cauchy", metric = "sqeuclidean", params = { scale = 0.5 },
  kappa = function(D) return (1 + D:scale(0.5)):pow(-1) end }
local last
for step in kbcd.full_kernel(X, X.rows:clone():sin(), { kernel = cauchy, lambda = 1e-3, b = 30 }) do last = step end
last.model:save("own.h5")
]])
  succeeds("kbcd own.lua")
  has(succeeds("kbcd inspect own.h5").out, "cauchy{scale = 0.5}, written in Lua", "30 centres")
end)

test("a checkpoint and a log", function()
  has(succeeds("kbcd inspect c.jsonl").out, "the log of a run", "ended", "epoch 2", "held out error",
    "0.001, 1e-05")
  succeeds("head -n 2 c.jsonl > cut.jsonl")
  has(succeeds("kbcd inspect cut.jsonl").out, "has not ended")
  run([[$clean "$KBCD" train --x X.npy --y t.npy --method nystrom --p 20 --b 5 --epochs 20000 --lambda 1e-4 --model s.h5 \
--checkpoint-every 0 & pid=$!
for i in $(seq 1000); do [ -e s.h5.checkpoint ] || sleep 0.02; done
kill -TERM $pid
wait $pid]])
  has(succeeds("mpi 2 inspect s.h5.checkpoint").out, "a checkpoint of kbcd", "its checksum is right", "nystrom", "saved",
    "fingerprint of x", "lambda")
end)

test("damaged and other files", function()
  refuses("kbcd inspect nothing.h5", "no such file")
  refuses("kbcd inspect X.npy", "neither HDF5 nor JSON")
  refuses("kbcd inspect d.h5", "neither a model nor a checkpoint")
  shell.write("other.json", '{"type":"something"}\n')
  refuses("kbcd inspect other.json", "other.json, line 1")
  refuses("head -c 3000 c.h5 > cut.h5; kbcd inspect cut.h5", "cut.h5")
  for _, name in ipairs{ "c.h5", "s.h5.checkpoint" } do
    local text = shell.read(shell.tmp .. "/" .. name)
    local at = math.floor(#text * 0.7)
    shell.write("bad.h5", text:sub(1, at) .. ("\255"):rep(400) .. text:sub(at + 401))
    refuses("kbcd inspect bad.h5", "bad.h5")
  end
  refuses("kbcd inspect", "missing argument")
end)

shell.finish()
