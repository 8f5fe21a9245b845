-- ranks: 1
-- long
-- train, predict, evaluate and tune as a user meets them: what they print and write. What they refuse is in refusals_spec.

local kbcd = require "kbcd"
local shell = require "shell"
local equal = require("spec").equal
local has, succeeds, refuses, test = shell.has, shell.succeeds, shell.refuses, shell.test

local points = require "three_classes"
local X, y = points.X, points.y

local function loaded_set(name) return (kbcd.load(shell.tmp .. "/" .. name)) end
local function loaded(name) return loaded_set(name).rows end

test("train says what it chose, and the model is good", function()
  local out = succeeds("kbcd train --x X.npy --y y.npy").out
  has(out, "200 rows of 2 numbers, 3 classes; no rows to test", "y holds 3 different whole numbers, taken for classes",
    "tried, with leave-one-out errors of 200 of 200 rows (--effort normal)", "standardize          laplacian",
    "chosen: ", "method full_kernel", "b =", "lambda =", "epoch 1/", "residual", "model.h5: best lambda",
    "leave-one-out error")
  refuses("kbcd train --x X.npy --y y.npy", "model.h5 is there already", "--model")
  local report = succeeds("mpi 2 evaluate --model model.h5 --x Xt.npy --y yt.npy").out
  local wrong = tonumber(report:match("top%-1 error ([%d.]+)%%"))
  assert(wrong <= 10, "test error " .. wrong)
  has(report, "precision", "recall", "confusion", "20")
end)

test("each method, a path of lambdas, a log; the best is marked and all are kept", function()
  for _, method in ipairs{ "full_kernel --b 30 --jitter", "nystrom --p 60 --b 30 --jitter",
    "random_features --p 80 --map orthogonal --b 30 --jitter", "falkon --p 60", "features_cg --p 80 --map sorf" } do
    local out = succeeds(("mpi 2 train --x X.npy --y y.npy --test-x Xt.npy --test-y yt.npy --method %s --sigma 2 " ..
      "--lambda 1e-1,1e-3 --epochs 2 --model m.h5 --log run.jsonl --no-refit"):format(method)).out
    has(out, "20 rows held out to choose by", "40 rows to test, which choose nothing", "lambda = 0.1 0.001", "epoch 2/2",
      "m.h5: best lambda")
    local m = kbcd.model_file.load(shell.tmp .. "/m.h5")
    equal(#m.lambdas, 2)
    equal(table.concat(m.names, " "), "0 10 20")
    local errors, held_out = m.metrics.test_error, m.metrics.held_out_error
    equal(m.best, held_out[2] < held_out[1] and 2 or 1)
    local said = tonumber(out:match("best lambda = %S+ held%-out error %S+ test error ([%d.]+)%%"))
    equal(said, tonumber(("%.2f"):format(100 * errors[m.best])), "the test error of the lambda that was chosen without it")
    local cjson, kinds = require "cjson", {}
    for line in io.lines(shell.tmp .. "/run.jsonl") do
      local entry = cjson.decode(line)
      kinds[entry.type] = (kinds[entry.type] or 0) + 1
      if entry.type == "run" then
        equal(entry.method, method:match("^[%w_]+"))
        equal(table.concat(entry.lambda, " "), "0.1 0.001")
        equal(type(entry.title), "string")
        equal(entry.epochs, 2)
        equal(entry.b, method:find("--b 30") and 30 or nil)
        equal(entry.p, tonumber(method:match("--p (%d+)")))
      elseif entry.type == "block" then
        equal(#entry.test_error, 2)
        local of_centres = method:find("^nystrom") or method:find("^falkon")  -- at the end of an epoch
        equal(#(entry.residual or entry.residual_before or of_centres and { 0, 0 }), 2)
        if entry.epoch_end then equal(#entry.residual, 2) end
        if entry.epoch_end then equal(#entry.held_out_error, 2) end
        assert(next(entry.primitives) and entry.seconds > 0)
      elseif entry.type == "end" then
        equal(entry.test_error[1], errors[1])
      end
    end
    equal(kinds.run, 1)
    equal(kinds["end"], 1)
    local iterates = not method:find("--b", 1, true)
    if iterates then equal(kinds.block, 2, "iterations in the log") end
    assert(kinds.block >= (iterates and 2 or 4), "blocks in the log")
  end
end)

test("methods are listed, with their options, and found by name or file", function()
  local list = succeeds("kbcd methods").out
  for _, algorithm in ipairs(kbcd.methods.all()) do has(list, algorithm.name .. " ", algorithm.about) end
  has(list, "full_kernel", "nystrom", "random_features", "falkon")
  equal(succeeds("mpi 2 methods").out, list)
  has(succeeds("kbcd methods nystrom").out, "nystrom: ", "lambda", "epochs", "gamma", "the stabiliser", "centers", "jitter")
  has(succeeds("kbcd methods nys").out, "nystrom: ")
  refuses("kbcd methods svm", "svm", "falkon", "full_kernel", "nystrom", "random_features")
  -- Gradient descent on all rows, in a file of one's own; what lies beside it can be required.
  shell.write("rates.lua", "return { default = 0.5 }")
  shell.write("descent.lua", [[
local kbcd = require "kbcd"
return kbcd.algorithm("descent", {
  "gradient descent: on all rows", kernel = "kernel", b = false, epochs = 3,
  rate = { "positive", "how far to go", default = require("rates").default },
}, function(X, Y, o, run)
  local model = run.kernel_model(o.kernel)
  local E = run.distributed("E", o.lambda:each(Y))
  local K = model:matrix()
  return {
    residual = E, fitted = function(A) return o.lambda:each(Y) - A end,
    iterate = function()
      local step = E * (o.rate / X.n)
      model.coefficients:add(step)
      E:sub(K * step)
    end,
  }
end)]])
  has(succeeds("kbcd methods ./descent.lua").out, "descent: gradient descent", "rate", "how far to go (0.5)",
    "iterations (3)")
  local data = "train --x X.npy --y t.npy --hold-out 0 --sigma 2 --lambda 1e-3 --precision f64 --method "
  has(succeeds("kbcd " .. data .. "descent.lua --rate 0.25 --epochs 40 --model d1.h5").out, "descent, rbf", "epoch 40/40")
  succeeds("mpi 3 " .. data .. "./descent.lua --rate 0.25 --epochs 40 --model d3.h5 --quiet")
  succeeds("kbcd predict --model d1.h5 --x Xt.npy --out d1.npy && mpi 2 predict --model d3.h5 --x Xt.npy --out d3.npy")
  assert((loaded("d1.npy") - loaded("d3.npy")):abs():max() < 1e-10, "on 1 and 3 ranks")
  equal(kbcd.model_file.load(shell.tmp .. "/d1.h5").method, "descent")
  equal(kbcd.model_file.load(shell.tmp .. "/d1.h5").options.rate, 0.25)
  has(succeeds("kbcd train --method ./descent.lua --help").out, "--rate", "How far to go")
  refuses("kbcd " .. data .. "./descent.lua --rate 0 --model no.h5", "--rate", "> 0")
  refuses("kbcd " .. data .. "./descent.lua --b 3 --model no.h5", "--b is for methods with blocks")
  refuses("kbcd " .. data .. "./none.lua --model no.h5", "--method ./none.lua", "No such file")
  shell.write("wrong.lua", "return 3")
  refuses("kbcd " .. data .. "./wrong.lua --model no.h5", "--method ./wrong.lua", "kbcd.algorithm", "got number")
  shell.write("broken.lua", "return {")
  refuses("kbcd " .. data .. "./broken.lua --model no.h5", "--method ./broken.lua", "broken.lua:1")
end)

test("the old spellings of flags still work", function()
  local train = "kbcd train --x X.npy --y t.npy --hold-out 0 --sigma 2 --lambda 1e-3 --method nystrom --epochs 2 --quiet "
  succeeds(train .. "--p 40 --b 10 --keep f16 --model new.h5 && " .. train ..
    "--features 40 --block 10 --cache f16 --model old.h5")
  local new, old = kbcd.model_file.load(shell.tmp .. "/new.h5"), kbcd.model_file.load(shell.tmp .. "/old.h5")
  equal((new.coefficients - old.coefficients):abs():max(), 0)
  equal(old.options.keep, "f16")
  equal(old.options.b, 10)
  local help = succeeds("kbcd train --method nystrom --help").out
  has(help, "--keep", "--b ", "--p ", "--nystrom-gamma")
  for _, flag in ipairs{ "--features", "--block", "--cache" } do equal(help:find(flag, 1, true), nil, flag) end
end)

test("a model whose kernel is written in Lua is used with --with", function()
  local code = [[
local kbcd = require "kbcd"
return kbcd.kernel.custom{ name = "cauchy", metric = "sqeuclidean", params = { width = %s }, kappa = function(D)
  return (1 + D:scale(1 / 2)):pow(%s)
end }]]
  shell.write("cauchy.lua", code:format("2", "-1"))
  shell.write("wider.lua", code:format("3", "-1"))
  shell.write("other.lua", code:format("2", "-2"))
  shell.write("number.lua", "return 3")
  shell.write("make.lua", [[
local kbcd = require "kbcd"
local X, Y = kbcd.load("X.npy"), kbcd.load("t.npy")
local model
for step in kbcd.full_kernel(X, Y, { kernel = dofile("cauchy.lua"), lambda = 1e-4 }) do model = step.model end
model:save("lua.h5", { method = "full_kernel" })
print(("%.17g"):format(model[1]:predict(kbcd.load("Xt.npy"))(1, 1)))]])
  local first = tonumber(succeeds("kbcd make.lua").out)
  succeeds("mpi 2 predict --model lua.h5 --with cauchy.lua --x Xt.npy --out lua.npy")
  assert(math.abs(loaded("lua.npy")(1, 1) - first) < 1e-12 * math.abs(first), "the same prediction")
  has(succeeds("kbcd evaluate --model lua.h5 --with ./cauchy.lua --x Xt.npy --y tt.npy").out, "RMSE")
  local predict = "kbcd predict --model lua.h5 --x Xt.npy --out no.npy "
  refuses(predict, "lua.h5", "cauchy", "--with FILE.lua")
  refuses(predict .. "--with wider.lua", "lua.h5", "width = 2 there, and 3")
  refuses(predict .. "--with other.lua", "lua.h5", "the source", "differs")
  refuses(predict .. "--with number.lua", "--with number.lua", "a kernel or a feature map", "number")
  refuses(predict .. "--with none.lua", "--with none.lua", "No such file")
  refuses("kbcd evaluate --model lua.h5 --x Xt.npy --y tt.npy", "cauchy", "--with FILE.lua")
  refuses("kbcd predict --model lua.h5 --with cauchy.lua --x Xt.npy --out cauchy.lua.npy/x.npy", "cauchy.lua.npy/x.npy")
end)

test("--start begins from a model", function()
  local function scores_of(name) return kbcd.model_file.load(shell.tmp .. "/" .. name):predict(loaded_set("Xt.npy"))[1] end
  local train = "kbcd train --x X.npy --y t.npy --hold-out 0 --sigma 2 --lambda 1e-3 --b 20 --precision f64 "
  for _, method in ipairs{ "full_kernel", "nystrom --p 60", "random_features --p 60", "falkon --p 60" } do
    local flags = method:find("falkon") and train:gsub("%-%-b 20 ", "") or train
    flags = flags .. "--method " .. method
    local function residual(out) return tonumber(out:match("epoch 1/%d+  residual (%S+)")) end
    local cold = succeeds(flags .. " --epochs 10 --model cold.h5").out
    local warm = succeeds(flags .. " --epochs 1 --start cold.h5 --model warm.h5").out
    assert(residual(warm) <= residual(cold), method .. ": " .. cold .. warm)
    succeeds("mpi 2" .. flags:gsub("^kbcd", "") .. " --epochs 1 --start cold.h5 --model warm2.h5 --quiet")
    local one, two = scores_of("warm.h5"), scores_of("warm2.h5")  -- 60 smooth functions of 2 numbers: many coefficients fit
    assert((one - two):abs():max() < 1e-8 * one:abs():max(), method)
  end
  refuses(train .. "--method nystrom --p 60 --start none.h5 --model no.h5", "none.h5")
  refuses(train .. "--method nystrom --p 60 --start cold.h5 --model cold.h5", "--model cold.h5", "the file of --start")
  refuses("kbcd train --x y.npy --y y.npy --sigma 2 --lambda 1e-3 --start cold.h5 --model no.h5", "start")
end)

test("predict gives the same on any number of ranks, to .npy, CSV and stdout", function()
  succeeds("kbcd train --x X.npy --y y.npy --hold-out 0 --sigma 2 --lambda 1e-3 --precision f64 --model m.h5")
  succeeds("kbcd predict --model m.h5 --x Xt.npy --out p1.npy && mpi 3 predict --model m.h5 --x Xt.npy --out p3.csv")
  local p1, lines = loaded("p1.npy"), {}
  for line in io.lines(shell.tmp .. "/p3.csv") do lines[#lines + 1] = line end
  equal(p1.nrows, 40)
  local right = 0
  for i = 1, 40 do
    equal(lines[i], ("%d"):format(p1(i, 1)))
    if p1(i, 1) == y[200 + i][1] then right = right + 1 end
  end
  assert(right >= 36, right .. " of 40 right")
  succeeds("kbcd predict --model m.h5 --x Xt.npy --scores --out s1.npy && " ..
    "mpi 3 predict --model m.h5 --x Xt.npy --scores --out s3.npy")
  local s1, s3 = loaded("s1.npy"), loaded("s3.npy")
  equal(s1.ncols, 3)
  assert((s1 - s3):abs():max() < 1e-12, "scores on 1 and 3 ranks")
  local best = s1:argmax(2)
  for i = 1, 40 do equal(10 * (best(i, 1) - 1), p1(i, 1), "the class of the largest score") end
  local cells = {}
  for i = 1, 40 do cells[i] = ("%.17g,%.17g\n"):format(X[200 + i][1], X[200 + i][2]) end
  shell.write("rows.csv", table.concat(cells))
  equal(succeeds("kbcd predict --model m.h5 --x - --out - <rows.csv").out, table.concat(lines, "\n") .. "\n")
  equal(succeeds("mpi 2 predict --model m.h5 --x - --out - <rows.csv").out, table.concat(lines, "\n") .. "\n")
  refuses("printf '1,2\\n1,x\\n' | kbcd predict --model m.h5 --x - --out -", "standard input", "line 2", "column 2", "'x'")
  refuses("printf '1,2\\n1\\n' | kbcd predict --model m.h5 --x - --out -", "line 2", "2 numbers expected, got 1")
end)

test("regression, preprocessing and HDF5", function()
  local out = succeeds("mpi 2 train --x X.npy --y t.npy --test-x Xt.npy --test-y tt.npy --standardize --sigma 2 " ..
    "--lambda 1e-5 --precision f64 --method full_kernel --model r.h5").out
  has(out, "2 targets")
  local rmse = tonumber(succeeds("kbcd evaluate --model r.h5 --x Xt.npy --y tt.npy").out:match("RMSE ([%d.e-]+)"))
  succeeds("kbcd predict --model r.h5 --x Xt.npy --out r.npy")
  local difference = loaded("r.npy") - loaded("tt.npy")
  assert(math.abs(difference:norm() / math.sqrt(80) - rmse) < 1e-5 * rmse + 1e-6, "RMSE of what was predicted")
  assert(rmse < 0.5, "RMSE " .. rmse)
  succeeds("kbcd train --x d.h5:/X --y d.h5:/y --sigma 2 --lambda 1e-3 --model h.h5")
  refuses("kbcd train --x d.h5 --y d.h5:/y --model h.h5", "d.h5", "/X, /y")
  refuses("kbcd train --x d.h5:/Z --y d.h5:/y --model h.h5", "/Z", "/X, /y")
end)

-- A column near 1e6, of which f32 keeps one digit behind the point: with --standardize, train, predict and evaluate must
-- give in f32 what they give in f64, since the shift is applied before the numbers are rounded.
test("--standardize keeps the digits of data far from 0 in f32", function()
  local rows, targets = {}, {}
  for i = 1, 120 do
    local a, b = math.sin(i), math.cos(3 * i)
    rows[i], targets[i] = ("%.17g,%.17g\n"):format(1e6 + a, b), ("%.17g\n"):format(a * b + a)
  end
  shell.write("far.csv", table.concat(rows))
  shell.write("far_y.csv", table.concat(targets))
  local errors, predicted = {}, {}
  for _, precision in ipairs{ "f32", "f64" } do
    succeeds(("mpi 2 train --x far.csv --y far_y.csv --standardize --sigma 1 --lambda 1e-4 --method full_kernel " ..
      "--epochs 30 --quiet --precision %s --model far_%s.h5"):format(precision, precision))
    local m = ("far_%s.h5"):format(precision)
    errors[precision] = tonumber(succeeds(("kbcd evaluate --model %s --x far.csv --y far_y.csv"):format(m)).out
      :match("RMSE ([%d.e-]+)"))
    succeeds(("mpi 3 predict --model %s --x far.csv --out far.npy && kbcd predict --model %s --x - --out far_p.csv " ..
      "<far.csv"):format(m, m))
    predicted[precision] = loaded("far.npy")
    assert((loaded("far_p.csv") - predicted[precision]):abs():max() < 1e-5, "standard input")
  end
  assert((predicted.f32 - predicted.f64):abs():max() < 1e-4, "predictions")
  assert(math.abs(errors.f32 - errors.f64) < 1e-4, "errors")
end)

test("--shuffle puts the training rows in the order that the seed decides, on any number of ranks", function()
  -- One block of all rows solves the system at once: the model is that of the rows in their own order, in another one.
  local command = " train --x X.npy --y t.npy --hold-out 0 --method full_kernel --sigma 2 --lambda 1e-3 --b 200 " ..
    "--epochs 1 --precision f64 --quiet --seed "
  succeeds("kbcd" .. command .. "5 --model o.h5 && kbcd" .. command .. "5 --shuffle --model s1.h5")
  succeeds("mpi 3" .. command .. "5 --shuffle --model s3.h5 && kbcd" .. command .. "6 --shuffle --standardize --model s6.h5")
  local function read_model(name)
    local h5 = kbcd.h5.open(shell.tmp .. "/" .. name)
    return h5:read("/centers", 1, 200), h5:read("/coefficients", 1, 200), h5
  end
  local rows, alpha = read_model("o.h5")
  local centers, shuffled_alpha, h5 = read_model("s1.h5")
  local place, moved = {}, 0
  for i = 1, 200 do place[("%.17g %.17g"):format(rows(i, 1), rows(i, 2))] = i end
  for i = 1, 200 do
    local key = ("%.17g %.17g"):format(centers(i, 1), centers(i, 2))
    local at = assert(place[key], "each row is there once")
    place[key] = nil
    if at ~= i then moved = moved + 1 end
    for j = 1, 2 do
      assert(math.abs(shuffled_alpha(i, j) - alpha(at, j)) < 1e-8 * alpha:clone():abs():max(), "targets go with their rows")
    end
  end
  assert(moved > 150, moved .. " rows moved")
  equal(h5:get("/preprocess", "shuffle"), 5)
  assert((read_model("s3.h5") - centers):abs():max() == 0, "the same order on 3 ranks")
  local standardized, _, other = read_model("s6.h5")
  equal(other:get("/preprocess", "kind"), "standardize")
  equal(other:get("/preprocess", "shuffle"), 6)
  local scale, shift = other:read("/preprocess/scale", 1, 1), other:read("/preprocess/shift", 1, 1)
  equal(math.abs(standardized(1, 1) / scale(1, 1) + shift(1, 1) - centers(1, 1)) > 1e-6, true, "another seed, another order")
  succeeds("kbcd predict --model o.h5 --x Xt.npy --out po.npy && mpi 2 predict --model s1.h5 --x Xt.npy --out ps.npy")
  assert((loaded("po.npy") - loaded("ps.npy")):abs():max() < 1e-9, "the same predictions")
  has(succeeds("kbcd tune --x X.npy --y t.npy --shuffle --sigma 2 --lambda 1e-3").out, "--shuffle")
end)

test("tune shows the table and a train command that works", function()
  local out = succeeds("kbcd tune --x X.npy --y y.npy --folds 3 --sigma 0.05,2 --lambda 1e-1,1e-3 --method full_kernel").out
  has(out, "3-fold", "sigma", "best: sigma = 2")
  local command = out:match("(kbcd train [^\n]+)\n")
  succeeds((command:gsub("model%.h5", "tuned.h5")))
  succeeds("kbcd evaluate --model tuned.h5 --x Xt.npy --y yt.npy")
  local random = succeeds("mpi 2 tune --x X.npy --y t.npy --random 3 --lambda 1e-4 --method nystrom --p 40").out
  has(random, "held-out", "best: sigma", "--p 40")
  refuses("kbcd tune --x X.npy --y y.npy --folds 1", "--folds")
  refuses("kbcd tune --x X.npy --y y.npy --folds 3 --hold-out 0.2", "--folds", "--hold-out")
  refuses("kbcd tune --x X.npy --y y.npy --kernel linear --sigma 1", "--sigma", "linear")
end)

shell.finish()
