-- ranks: 1
-- long
-- A user's Lua file has the standing of a shipped method: a copy of the shipped Nyström and a variant with greedy blocks and
-- momentum, in a folder elsewhere, through train, tune, compare, predict, evaluate, report, --resume after kill -9, on 1 to 4
-- ranks; and the messages for a wrong file.

local spec, shell, resuming = require "spec", require "shell", require "resuming"
local test, run, succeeds, refuses, has = shell.test, shell.run, shell.succeeds, shell.refuses, shell.has
local coefficients = resuming.coefficients

local source = os.getenv("KBCD_SOURCE") .. "/scripts/"
succeeds(("mkdir mine && cp '%skbcd/algorithms/nystrom.lua' mine/copy.lua && " ..
  "cp '%sexamples/methods/greedy_nystrom.lua' mine/"):format(source, source))
local common = "--threads 1 train --data d.csv --label 5 --p 60 --b 15 --epochs 6 --sigma 1.3 --lambda 1e-3,1e-4 "

local function equal_models(a, b, what) spec.equal((coefficients(a) - coefficients(b)):abs():max(), 0, what) end

test("a copy of a shipped method gives the same model, to the bit, on 1 to 4 ranks", function()
  for ranks = 1, 4 do
    succeeds(("mpi %d %s --method nystrom --model shipped.h5 --quiet"):format(ranks, common))
    local out = succeeds(("mpi %d %s --method mine/copy.lua --model copy.h5"):format(ranks, common)).out
    has(out, "nystrom", "p = 60", "b = 15")
    equal_models("shipped.h5", "copy.h5", ranks .. " ranks")
    succeeds(("mpi %d predict --model shipped.h5 --x d.csv --label 5 --out a.csv"):format(ranks))
    succeeds(("mpi %d predict --model copy.h5 --x d.csv --label 5 --out b.csv && cmp a.csv b.csv"):format(ranks))
    succeeds("rm -f shipped.h5 copy.h5 a.csv b.csv")
  end
end)

test("it resumes after kill -9, to the bit, on 1 to 4 ranks", function()
  local long = common:gsub("--epochs 6", "--epochs 20") .. "--quiet --checkpoint-every 0 "
  for _, method in ipairs{ "mine/copy.lua", "mine/greedy_nystrom.lua" } do
    for ranks = 1, 4 do
      local what = ("%s on %d ranks"):format(method, ranks)
      succeeds(("mpi %d %s --method %s --model whole.h5"):format(ranks, long, method))
      run(([[
$clean $KBCD_MPIRUN -n %d "$KBCD" %s --method %s --model killed.h5 >>killed.log 2>&1 & pid=$!
for i in $(seq 3000); do [ -e killed.h5.checkpoint ] || ! kill -0 $pid 2>/dev/null || sleep 0.02; done
sleep 0.1
kill -9 $(pgrep -P $pid | head -n 1)
wait $pid]]):format(ranks, long, method))
      succeeds(("mpi %d %s --method %s --resume --model killed.h5"):format(ranks, long, method))
      equal_models("whole.h5", "killed.h5", what)
      succeeds("rm -f whole.h5 killed.h5*")
    end
  end
end)

test("a run does not resume with a file, or a module beside it, that has changed", function()
  local text = shell.read(shell.tmp .. "/mine/copy.lua")
  shell.write("mine/factor.lua", "return 1\n")
  local function write(constant, module)
    shell.write("mine/edited.lua", ("local factor = %s\nlocal part = require 'factor'\n"):format(constant) ..
      text:gsub("solve%(gradient%(B, P%)%)", "solve(gradient(B, P)):scale(factor * part)"))
    shell.write("mine/factor.lua", ("return %s\n"):format(module))
  end
  write(1, 1)
  shell.write("mine/stopped.lua", [[
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(40, 2, { seed = 1 }))
local c = kbcd.checkpoint("edited.checkpoint", { every = 0, resume = true })
for step in dofile "mine/edited.lua"(X, X.rows, { kernel = kbcd.kernel.rbf{ sigma = 1 }, lambda = 1, p = 20, b = 5,
  checkpoint = c }) do if step.block == 3 then break end end
print(c.resumed and "resumed")]])
  succeeds("kbcd mine/stopped.lua", "nil\n")
  succeeds("kbcd mine/stopped.lua", "resumed\n")
  local again = "kbcd mine/stopped.lua"
  write(2, 1)
  refuses(again, "mine/edited.lua has changed since the checkpoint was written", "without --resume")
  write(1, 3)
  refuses(again, "mine/factor.lua has changed since the checkpoint was written", "restore the file")
  succeeds("rm -f edited.checkpoint*")
end)

test("its options are flags, with help, checks and defaults, and logs, tables and models carry its name", function()
  has(succeeds("kbcd train --method mine/greedy_nystrom.lua --help").out, "--beta", "Momentum", "0.2 unless given", "--p")
  has(succeeds("kbcd methods mine/greedy_nystrom.lua").out, "greedy_nystrom", "beta", "momentum", "0.2")
  succeeds("kbcd " .. common .. "--method mine/greedy_nystrom.lua --beta 0.1 --model g.h5 --log g.jsonl --quiet")
  has(shell.read(shell.tmp .. "/g.jsonl"), '"method":"greedy_nystrom"', '"beta":0.1', '"title":"greedy Nyström"')
  has(succeeds("kbcd evaluate --model g.h5 --data d.csv --label 5").out, "greedy_nystrom", "top-1 error")
  refuses("kbcd " .. common .. "--method mine/greedy_nystrom.lua --beta=-1 --model x.h5", "--beta", ">= 0", "'-1'")
  refuses("kbcd " .. common .. "--method nystrom --beta 1 --model x.h5", "--beta")
  has(succeeds("kbcd tune --data d.csv --label 5 --method mine/greedy_nystrom.lua --beta 0.1 --p 30 --sigma 1,2 " ..
    "--lambda 1e-3 --epochs 2").out, "best: sigma", "--method mine/greedy_nystrom.lua", "--beta 0.1")
end)

test("compare and report show it beside the shipped ones", function()
  local out = succeeds("mpi 2 compare --data d.csv --label 5 --methods full_kernel,nystrom,mine/greedy_nystrom.lua " ..
    "--p 20,40 --b 10 --epochs 2 --lambda 1e-3 --sigma 2 -o compared").out
  has(out, "full kernel", "Nyström, p = 20", "greedy Nyström, p = 40")
  local page = shell.read(shell.tmp .. "/compared/report.html")
  has(page, "greedy Nyström, p = 40", "full kernel")
  succeeds("kbcd report compared/*.jsonl -o again.html")
  has(shell.read(shell.tmp .. "/again.html"), "greedy Nyström")
  refuses("kbcd compare --data d.csv --label 5 --methods nystrom,mine/copy.lua", "--methods", "two", "nystrom")
end)

test("a start from another model file, also when the data has grown", function()
  local full = "kbcd --threads 1 train --label 5 --method full_kernel --b 50 --sigma 2 --lambda 1e-2 --hold-out 0 " ..
    "--precision f64 "
  succeeds("head -n 200 d.csv > few.csv")
  succeeds(full .. "--data few.csv --epochs 30 --model few.h5 --quiet")
  local cold = succeeds(full .. "--data d.csv --epochs 1 --model cold.h5").out
  local warm = succeeds(full .. "--data d.csv --epochs 1 --start few.h5 --model warm.h5").out
  local function residual(out) return tonumber(out:match("residual (%S+)")) end
  assert(residual(warm) < 0.9 * residual(cold), warm)
  refuses(full .. "--data other.csv --start few.h5 --model x.h5", "start", "none of its 200 centres")
  refuses(full .. "--data d.csv --start d.csv --model x.h5", "d.csv")
end)

-- Steps of a given length on blocks, without a system: what the commands choose must fit it.
shell.write("mine/steps.lua", [[
local kbcd = require "kbcd"
return kbcd.algorithm("steps", {
  "steps: coordinate descent with a step length", map = "map", rate = { "positive", "step length", default = 0.5 },
  epochs = 5, b = function(X) return 11 end, partition = "fresh", fast = true,
}, function(X, Y, o, run)
  local w, nl = run.feature_model(o.map).coefficients, X.n * o.lambda
  local E = run.distributed("E", o.lambda:each(Y))
  return {
    residual = E,
    step = function(B, Z_b, _, P)
      local Delta = (P - nl * w:take(B)):scale(o.fast and o.rate / X.n or 0)
      w:add_rows(B, Delta)
      E:sub(Z_b * Delta)
      return Delta
    end,
    fitted = function(R) return o.lambda:each(Y) - R end,
  }
end)
]])

test("commands choose only what a method does not declare, and what it can use", function()
  local train = "kbcd --threads 1 train --data d.csv --label 5 --method mine/steps.lua --p 40 --model steps.h5 "
  local out = succeeds(train .. "--log steps.jsonl").out
  has(out, "at most 5 epochs, patience = 2", "/5  residual", "b = 11", "lambda = ")
  has(shell.read(shell.tmp .. "/steps.jsonl"), '"partition":"fresh"', '"b":11', '"fast":true')
  local help = succeeds("kbcd train --method mine/steps.lua --help").out
  has(help, "5 unless given", "--no-fast")
  for _, text in ipairs{ help, succeeds("kbcd methods mine/steps.lua").out } do
    assert(not text:find("jitter", 1, true), text)  -- it has no system
  end
  has(succeeds("kbcd train --method nystrom --help").out, "--jitter")
  succeeds(train .. "--no-fast --lambda 1e-3 --epochs 2 --rows 100 --log slow.jsonl")
  has(shell.read(shell.tmp .. "/slow.jsonl"), '"n":100')
  has(succeeds("kbcd tune --data d.csv --label 5 --method mine/steps.lua --p 40 --sigma 1,2 --epochs 2").out, "best: sigma")
  refuses(train .. "--jitter", "jitter", "no system", "steps.lua")
  local wrong = shell.read(shell.tmp .. "/mine/steps.lua"):gsub("E:sub%(Z_b %* Delta%)", "E:sub(Delta)")
  shell.write("mine/wrong_shape.lua", wrong)
  refuses(train:gsub("steps.lua", "wrong_shape.lua"), "wrong_shape.lua:13: ", "shapes")
end)

test("what is wrong with a file is named", function()
  shell.write("bad1.lua", "return 3\n")
  refuses("kbcd " .. common .. "--method ./bad1.lua --model x.h5", "./bad1.lua", "kbcd.algorithm", "number")
  shell.write("bad2.lua", "return nil +\n")
  refuses("kbcd " .. common .. "--method ./bad2.lua --model x.h5", "bad2.lua:", "unexpected symbol")
  refuses("kbcd " .. common .. "--method ./none.lua --model x.h5", "./none.lua", "No such file")
  refuses("kbcd " .. common .. "--method svm --model x.h5", "svm", "falkon", "full_kernel", "nystrom", "random_features",
    "./mine.lua")
  shell.write("bad3.lua", [[
local kbcd = require "kbcd"
return kbcd.algorithm("bad", { "bad: no step", kernel = "kernel", p = 10 }, function(X, Y, o, run)
  run.kernel_model(o.kernel)
  return { stepp = function() end }
end)
]])
  shell.write("bad4.lua", "local x\nreturn x.y\n")
  local result = refuses("kbcd " .. common .. "--method ./bad4.lua --model x.h5", "bad4.lua:2", "attempt to index")
  assert(not result.err:find("Usage", 1, true), result.err)
  refuses("kbcd --threads 1 train --data d.csv --label 5 --method ./bad3.lua --model x.h5", "bad", "'stepp'", "bad3.lua:2")
  -- `require` finds what lies beside the file.
  shell.write("mine/part.lua", "return 7\n")
  shell.write("mine/main.lua", "print(require('part'))\n")
  succeeds("kbcd mine/main.lua", "7\n")
end)

shell.finish()
