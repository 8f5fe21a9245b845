-- ranks: 1
-- --weights and --balance of train, tune and compare: against dense weighted solves, and against repeated rows.

local kbcd = require "kbcd"
local shell = require "shell"
local spec = require "spec"
local equal, close = spec.equal, spec.close
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test
local points = require "three_classes"
local Matrix, DataSet, Index = kbcd.Matrix, kbcd.DataSet, kbcd.Index

local n, lambda = 200, 1e-3
local X, t = Matrix(points.X):rows(1, n), Matrix(points.t):rows(1, n)
local data, rbf = DataSet(X:clone()), kbcd.kernel.rbf{ sigma = 1.5 }
local w = {}
for i = 1, n do w[i] = 0.25 + i % 7 end

local function lines(rows) return table.concat(rows, "\n") .. "\n" end

-- A CSV file of the points, with their class, target and weight; each row `times(i)` times.
local function table_file(name, times)
  local rows = { "a,w,b,t,kind" }
  for i = 1, n do
    local row = ("%.17g,%g,%.17g,%.17g,c%d"):format(X(i, 1), w[i], X(i, 2), t(i, 1), points.y[i][1])
    for _ = 1, times and times(i) or 1 do rows[#rows + 1] = row end
  end
  shell.write(name, lines(rows))
end

local weights = {}
for i = 1, n do weights[i] = ("%g"):format(w[i]) end
shell.write("w.csv", lines(weights))

-- Weights v as a column, their sum, and the weighted means of Y, which a run is centred by.
local function weighted(Y, v)
  local V, sum = Matrix.zeros(#v, 1), 0
  for i = 1, #v do
    V:set(i, 1, v[i])
    sum = sum + v[i]
  end
  return V, sum, (V:t() * Y):scale(1 / sum)
end

-- Fitted values of the dense solve: Z with penalty M, weights v of any size: Zᵀ V Z + Σv λ M.
local function fitted(Z, M, Y, v)
  local V, sum, mean = weighted(Y, v)
  local VZ = Z:clone():cmul(V)
  return (Z * kbcd.local_solve(Z:t() * VZ + M * (sum * lambda), VZ:t() * Y:clone():add(mean, -1))):add(mean)
end

local K = kbcd.KernelBlock(data, Index.range(1, n), rbf):dense()

-- (K + Σv λ V⁻¹) α = Y of all rows.
local function fitted_full(Y, v)
  local A, _, sum, mean = K:clone(), weighted(Y, v)
  for i = 1, n do A:set(i, i, A(i, i) + sum * lambda / v[i]) end
  return (K * kbcd.local_solve(A, Y:clone():add(mean, -1))):add(mean)
end

local function predicted(name) return kbcd.model_file.load(shell.tmp .. "/" .. name)[1]:predict(data) end

test("the dense weighted solve, on 1 and 3 ranks", function()
  local Z = kbcd.KernelBlock(data, Index.sample(n, 40, { seed = 5, stream = 1 }), rbf)
  for _, ranks in ipairs{ 1, 3 } do
    local train = ("mpi %d train --x X.npy --y t.npy --weights w.csv --precision f64 --sigma 1.5 --lambda 1e-3 " ..
      "--hold-out 0 --seed 5 --model w.h5 "):format(ranks)
    has(succeeds(train .. "--method full_kernel --b 200 --epochs 1").out, "weights of rows from 0.25 to 6.25")
    close(predicted("w.h5"), fitted_full(t, w), 1e-8, "full kernel, " .. ranks .. " ranks")
    succeeds(train .. "--method nystrom --p 40 --b 40 --epochs 2")
    close(predicted("w.h5"), fitted(Z:dense(), Z:square(), t, w), 1e-6, "nystrom, " .. ranks .. " ranks")
    succeeds(train .. "--method falkon --p 40 --epochs 60")
    close(predicted("w.h5"), fitted(Z:dense(), Z:square(), t, w), 1e-5, "falkon, " .. ranks .. " ranks")
    succeeds(train .. "--method random_features --p 40 --b 40 --epochs 1")
    local map = kbcd.model_file.load(shell.tmp .. "/w.h5").map
    local F = kbcd.RandomFeaturesBlock(data, Index.range(1, 40), map):dense()
    close(predicted("w.h5"), fitted(F, Matrix.eye(40), t, w), 1e-8, "features, " .. ranks .. " ranks")
  end
end)

test("whole numbers are repeated rows, 0 is none, with the same lambda; a column is no feature", function()
  local function times(i) return i % 4 end
  local plain = w
  w = {}
  for i = 1, n do w[i] = times(i) end
  table_file("weighted.csv")
  for i = 1, n do w[i] = 1 end
  table_file("repeated.csv", times)
  w = plain
  local train = " --method full_kernel --b 150 --epochs 40 --tol 1e-12 --precision f64 --sigma 1.5 --lambda 1e-3 " ..
    "--hold-out 0 "
  -- the text label is a column, too, so it is cut out
  succeeds("cut -d, -f1-4 weighted.csv > a.csv; cut -d, -f1,3,4 repeated.csv > b.csv; kbcd train --data a.csv --label t " ..
    "--weights w" .. train .. "--shuffle --model a.h5")
  succeeds("kbcd train --data a.csv --label 4 --weights 2" .. train .. "--model c.h5")
  succeeds("kbcd train --data b.csv --label t" .. train .. "--model b.h5")
  close(predicted("a.h5"), predicted("b.h5"), 1e-6, "weights of 0 to 3")
  close(predicted("c.h5"), predicted("b.h5"), 1e-6, "columns by number")
end)

test("leave-one-out errors are those of weighted refits", function()
  local train = "mpi 2 train --x X.npy --y t.npy --weights w.csv --precision f64 --sigma 1.5 --lambda 1e-3,1e-2 " ..
    "--hold-out 0 --seed 5 --model w.h5 "
  -- Σ w_i |y_i − f₋ᵢ(x_i)|² / Σ w: the ridge stays Σv λ of all rows.
  local function error_of(Z, M, l)
    local squares, _, sum, mean = 0, weighted(t, w)
    local ridge, centred = sum * l, t:clone():add(mean, -1)
    for i = 1, n do
      local others, V = Index.range(1, n):without(Index{ i }), Matrix.zeros(n - 1, 1)
      for j = 1, n - 1 do V:set(j, 1, w[others[j]]) end
      local rest = Z:take(others)
      local VR = rest:clone():cmul(V)
      local c = kbcd.local_solve(rest:t() * VR + M * ridge, VR:t() * centred:take(others), { jitter = true })
      squares = squares + w[i] * (Z:rows(i, i) * c - centred:rows(i, i)):norm() ^ 2
    end
    return math.sqrt(squares / (sum * t.ncols))
  end
  local Z = kbcd.KernelBlock(data, Index.sample(n, 30, { seed = 5, stream = 1 }), rbf)
  succeeds(train .. "--method nystrom --p 30")
  local errors = kbcd.model_file.load(shell.tmp .. "/w.h5").metrics.leave_one_out_error
  for l, value in ipairs{ 1e-3, 1e-2 } do
    close(errors[l], error_of(Z:dense(), Z:square(), value), 1e-6, "nystrom " .. value)
  end
  local scores = kbcd.leave_one_out(data, t, { kernel = rbf, lambda = 1e-2, weights = Matrix(w):t():clone() })
  local at, others, ridge = 17, Index.range(1, n):without(Index{ 17 }), n * 1e-2
  local A = K:take(others):t():take(others):clone()
  for j = 1, n - 1 do A:set(j, j, A(j, j) + ridge / w[others[j]]) end
  local f = K:rows(at, at):t():take(others):t() * kbcd.local_solve(A, t:take(others))
  close(scores.scores[1]:rows(at, at), f, 1e-7, "the full kernel without row 17")
end)

test("held-out and test errors are weighted means; balanced classes", function()
  table_file("d.csv")
  local out = succeeds("mpi 2 train --x X.npy --y t.npy --weights w.csv --hold-out 0.25 --method nystrom --p 40 " ..
    "--sigma 1.5 --lambda 1e-3 --epochs 2 --precision f64 --seed 5 --no-refit --model h.h5").out
  local held = kbcd.training_data{ x = shell.tmp .. "/X.npy", y = shell.tmp .. "/t.npy", weights = shell.tmp .. "/w.csv",
    hold_out = 0.25, precision = "f64", seed = 5, task = "regress" }.held
  local S, sum, squares = kbcd.model_file.load(shell.tmp .. "/h.h5")[1]:predict(held.X), 0, 0
  for i = 1, held.X.n do
    local place = data:find(held.X:subset(Index{ i }))(1, 1)
    equal(held.weights.rows(i, 1), w[place], "the weight of the row")
    squares = squares + w[place] * (S:rows(i, i) - held.y.rows:rows(i, i)):norm() ^ 2
    sum = sum + w[place]
  end
  close(tonumber(out:match("held%-out error (%S+)")), math.sqrt(squares / (2 * sum)), 1e-4, "held-out error")
  -- A class of 20 rows counts as much as one of 60: the same as weights n / (k n_c).
  local rows, list = { "a,b,kind" }, {}
  local function rare(i) return i % 3 ~= 0 or i > 120 end
  local counts = { 0, 0, 0 }
  for i = 1, n do if rare(i) then counts[i % 3 + 1] = counts[i % 3 + 1] + 1 end end
  local all = counts[1] + counts[2] + counts[3]
  for i = 1, n do
    if rare(i) then
      rows[#rows + 1] = ("%.17g,%.17g,c%d"):format(X(i, 1), X(i, 2), i % 3)
      list[#list + 1] = ("%.17g"):format(all / (3 * counts[i % 3 + 1]))
    end
  end
  shell.write("rare.csv", lines(rows))
  shell.write("rare_w.csv", lines(list))
  local train = "kbcd train --data rare.csv --label kind --precision f64 --sigma 1.5 --lambda 1e-3 --hold-out 0.2 --seed 5 "
  local one = succeeds(train .. "--balance --model one.h5").out
  local two = succeeds(train .. "--weights rare_w.csv --model two.h5").out
  equal(one:gsub("one", "two"):gsub("[%d.]+ s\n", ""), two:gsub("[%d.]+ s\n", ""), "--balance and the same weights")
  close(predicted("one.h5"), predicted("two.h5"), 1e-12, "--balance")
  refuses("kbcd train --x X.npy --y t.npy --balance --model r.h5", "--balance is for classes")
end)

test("tune, compare and the command that tune prints", function()
  table_file("d.csv")
  local out = succeeds("kbcd tune --data d.csv --label kind --weights w --balance --folds 3 --sigma 1,2 " ..
    "--lambda 1e-3,1e-5 --method nystrom --p 20 --seed 3").out
  has(out, "--weights w", "--balance")
  succeeds((out:match("(kbcd train [^\n]+)\n"):gsub("model%.h5", "tuned.h5")))
  out = succeeds("kbcd compare --data d.csv --label kind --weights w --p 10 --b 60 --sigma 1.5 --lambda 1e-3 --epochs 1 " ..
    "--rows 60 -o cmp").out
  has(out, "skipped: it takes no weights of rows", "Least error")
end)

test("a run resumes with the same weights alone", function()
  local train = "train --x X.npy --y t.npy --weights v.csv --method nystrom --p 40 --b 10 --sigma 1.5 --lambda 1e-3 " ..
    "--epochs 500 --precision f64 --model s.h5 "
  shell.write("v.csv", lines(weights))
  local stopped = shell.run(([[
$clean "$KBCD" %s --checkpoint-every 0 & pid=$!
for i in $(seq 1000); do [ -e s.h5.checkpoint ] || sleep 0.02; done
kill -TERM $pid
wait $pid]]):format(train))
  equal(stopped.status, 143, "the status of a run that was stopped")
  local there = train .. "--resume"
  shell.write("v.csv", (lines(weights):gsub("^1.25", "1.5")))
  refuses("kbcd " .. there, "s.h5.checkpoint is of another run", "fingerprint of weights")
  refuses("kbcd " .. (there:gsub("%-%-weights v.csv", "")), "fingerprint of weights", "none here")
  shell.write("v.csv", lines(weights))
  has(succeeds("mpi 3 " .. there).out, "resumes from s.h5.checkpoint")
end)

test("what is refused", function()
  table_file("d.csv")
  local train = "kbcd train --data d.csv --label kind --model r.h5 --weights "
  refuses(train .. "nothing", "--weights nothing: there is no such file", "a, w, b, t")
  refuses((train:gsub("kind", "5")) .. "9", "a column in 1..5", "got 9")
  refuses((train:gsub("kind", "5")) .. "5", "a column of --label")
  refuses((train:gsub("kind", "t")) .. "4", "a column of --label")
  shell.write("short.csv", "1\n2\n")
  refuses(train .. "short.csv", "a number for each of the 200 rows expected, got 2 x 1")
  local bad = { unpack(weights) }
  bad[7] = "-1"
  shell.write("bad.csv", lines(bad))
  refuses(train .. "bad.csv", "row 7: a weight >= 0 expected, got -1")
  for i = 1, n do bad[i] = "0" end
  shell.write("bad.csv", lines(bad))
  refuses(train .. "bad.csv", "a finite sum > 0 expected")
  refuses("kbcd train --x X.npy --y y.npy --weights w --model r.h5", "no --data")
  refuses("kbcd train --x X.npy --y y.npy --weights w.csv --method newton --p 20 --model r.h5", "does not take weights")
end)

shell.finish()
