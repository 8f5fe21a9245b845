-- ranks: 1
-- What the commands refuse: options, models and files that do not fit, outputs that are inputs, pipes, scores that are not
-- finite; each by its name, with the files left as they were.

local shell = require "shell"
require "three_classes"
local equal = require("spec").equal
local run, has, succeeds, refuses, test = shell.run, shell.has, shell.succeeds, shell.refuses, shell.test

succeeds("kbcd train --x X.npy --y y.npy --hold-out 0 --sigma 2 --lambda 1e-3 --precision f64 --model m.h5")
succeeds("kbcd train --x X.npy --y t.npy --standardize --sigma 2 --lambda 1e-5 --precision f64 --method full_kernel " ..
  "--model r.h5")

test("options that do not go together, or are no options, are refused by name", function()
  local data = "kbcd train --x X.npy --y y.npy --model no.h5 "
  for _, case in ipairs{
    { "--sigma 1 --gamma 2", "--gamma", "--sigma" }, { "--method full_kernel --p 10", "--p is for falkon", "nystrom" },
    { "--standardize --unit-norm", "--unit-norm", "--standardize" },
    { "--method full_kernel --map fourier", "--map is for", "random_features" },
    { "--method random_features --nystrom-gamma 1", "unknown option '--nystrom-gamma'" },
    { "--test-x Xt.npy", "--test-x", "--test-y" }, { "--follow 5", "--follow", "--test-x" },
    { "--data d.libsvm", "--data", "--x" }, { "--method svm", "--method", "full_kernel", "nystrom", "random_features" },
    { "--lambda 0", "--lambda", "> 0" },
    { "--lambda 1e300", "--lambda", "at most 1e+10" },
    { "--lambda 1e-3,x", "--lambda", "'x'" }, { "--b 1.5", "--b", "whole" },
    { "--b 1000", "--b 1000", "180" },
    { "--method nystrom --p 999", "--p 999", "180" }, { "--kernel linear --sigma 2", "linear", "sigma" },
    { "--precision f16", "--precision", "f32" }, { "--epoch 3", "--epoch" }, { "--hold-out 2", "--hold-out", "0.9" },
    { "--kernel linear --method random_features", "linear", "random" },
  } do
    has(("\n" .. refuses(data .. case[1]).err):match("\nkbcd train: (.*)") or "", unpack(case, 2))  -- behind the usage
  end
  refuses("kbcd train", "--x and --y expected, or --data")
  refuses("kbcd train --x X.npy --y yt.npy --model no.h5", "X.npy has 200 rows", "yt.npy has 40")
  refuses("kbcd train --x X.npy --y t.npy --task classify --model no.h5", "--task classify", "whole numbers")
  local missing = refuses("kbcd train --x none.npy --y y.npy --model no.h5", "kbcd train: none.npy")
  equal(missing.err:find("traceback", 1, true), nil, "a wrong file name needs no traceback")
  refuses("kbcd train --x X.npy --y y.npy --model /nowhere/m.h5", "/nowhere/m.h5", "cannot be written")
  refuses("mpi 2 train --x X.npy --y y.npy --sigma 1 --gamma 2", "--gamma")
  equal(run("ls no.h5").status ~= 0, true, "no model was written")
  for _, command in ipairs{ "train", "predict", "evaluate", "tune" } do
    has(succeeds("kbcd " .. command .. " --help").out, "Usage: kbcd " .. command, "--x")
    equal(shell.count(succeeds("mpi 2 " .. command .. " --help").out, "Usage"), 1)
  end
end)

test("models and files that do not fit are refused", function()
  refuses("kbcd predict --model X.npy --x Xt.npy --out p.npy", "X.npy", "HDF5")
  refuses("kbcd predict --model d.h5 --x Xt.npy --out p.npy", "d.h5", "no kbcd model")
  refuses("kbcd predict --model m.h5 --x y.npy --out p.npy", "m.h5", "2 columns expected", "200x1")
  refuses("kbcd predict --model m.h5 --x Xt.npy --out p.txt", "--out", ".npy or .csv")
  refuses("kbcd predict --model m.h5 --x Xt.npy --out /nowhere/p.npy", "/nowhere/p.npy")
  refuses("kbcd predict --model m.h5 --x Xt.npy --out p.npy --lambda 7", "--lambda 7", "0.001")
  refuses("kbcd predict --model m.h5 --x Xt.npy", "--out")
  refuses("head -c 3000 m.h5 >cut.h5; mpi 2 predict --model cut.h5 --x Xt.npy --out p.npy", "cut.h5", "damaged")
  refuses("kbcd evaluate --model m.h5 --x Xt.npy --y tt.npy", "y")
  refuses("kbcd evaluate --model r.h5 --x Xt.npy --y yt.npy", "2 columns expected, got 1")
  equal(run("ls *.part").status ~= 0, true, "no temporary file is left")
end)

-- Each command must leave the files as they were, and say of which two options they are.
test("an output that is an input, or another output, is refused", function()
  succeeds("ln -s X.npy link.npy; ln X.npy hard.npy; cp m.h5 m.npy; md5sum *.npy *.h5 >sums")
  local train = "kbcd train --x X.npy --y y.npy --sigma 2 --lambda 1e-3 "
  local function refused(command, ...)
    refuses(command, ...)
    succeeds("md5sum --quiet -c sums")
  end
  refused(train .. "--model X.npy", "--model X.npy", "the file of --x", "lost")
  refused(train .. "--model ./y.npy", "the file of --y")
  refused(train .. "--model link.npy", "the file of --x")
  refused(train .. "--model hard.npy", "the file of --x")
  refused("mpi 2 train --x d.h5:/X --y d.h5:/y --model d.h5", "--model d.h5", "the file of --x")
  refused(train .. "--test-x Xt.npy --test-y yt.npy --log yt.npy --model no.h5", "--log yt.npy", "the file of --test-y")
  refused(train .. "--model no.h5 --log ./no.h5", "--model", "--log", "is written, too")
  refused(train .. "--model no.h5 --log no.h5.checkpoint --resume", "MODEL.checkpoint", "--log")
  refused("kbcd predict --model m.npy --x Xt.npy --out m.npy", "--out m.npy", "the file of --model")
  refused("kbcd predict --model m.h5 --x Xt.npy --out Xt.npy", "the file of --x")
  succeeds(train .. "--model ok.h5 --log ok.jsonl; cp ok.jsonl same.html; md5sum same.html >>sums")
  refused("kbcd report same.html -o same.html", "--output same.html", "the file of log 1")
  refused("mkdir runs; cp X.npy runs/full_kernel.jsonl; " ..
    "kbcd compare --x runs/full_kernel.jsonl --y y.npy --methods full_kernel -o runs",
    "the log runs/full_kernel.jsonl", "the file of --x")
  equal(run("ls no.h5*").status ~= 0, true, "nothing was written")
end)

test("what is replaced keeps its mode and its links; files of names like ours stay", function()
  local train = "kbcd train --x X.npy --y y.npy --sigma 2 --lambda 1e-3 --quiet "
  succeeds("mkdir store; echo old >store/real.h5; chmod 640 store/real.h5; ln -s store/real.h5 kept.h5")
  succeeds("mkfifo kept.h5.part; echo mine >store/real.h5.part")
  succeeds(train .. "--model kept.h5")
  equal(succeeds("stat -c %a store/real.h5; readlink kept.h5; cat store/real.h5.part; ls store").out,
    "640\nstore/real.h5\nmine\nreal.h5\nreal.h5.part\n")
  succeeds("kbcd evaluate --model kept.h5 --x Xt.npy --y yt.npy; rm kept.h5.part")
  refuses("mkfifo pipe.h5; " .. train .. "--model pipe.h5", "pipe.h5", "no regular file")
end)

test("pipes are no files to read", function()
  succeeds("mkfifo pipe.npy")
  for _, command in ipairs{ "train --x pipe.npy --y y.npy --model no.h5", "train --x X.npy --y pipe.npy --model no.h5",
    "predict --model pipe.npy --x X.npy --out p.npy", "predict --model m.h5 --x pipe.npy --out p.npy",
    "evaluate --model m.h5 --data /dev/null" } do
    refuses("kbcd " .. command, "a regular file expected", "write it to a file first")
  end
  refuses("cat X.npy | kbcd predict --model m.h5 --x /dev/stdin --out p.npy", "/dev/stdin: a regular file expected", "a pipe")
end)

test("scores that are not finite are named by their row", function()
  local train = "kbcd train --x X.npy --y y.npy --kernel polynomial --degree 3 --lambda 1e-3 --precision f32 " ..
    "--model cubic.h5 "
  shell.write("far.csv", "1,2\n3,4\n1e20,1e20\n")
  shell.write("far_y.csv", "0\n10\n20\n")
  succeeds(train)
  refuses("kbcd predict --model cubic.h5 --x far.csv --out p.npy", "row 3 of --x", "no finite number")
  refuses("mpi 2 predict --model cubic.h5 --x far.csv --out p.npy", "row 3 of --x", "no finite number")
  refuses("kbcd predict --model cubic.h5 --x - --out - <far.csv", "row 3 of --x")
  refuses("kbcd evaluate --model cubic.h5 --x far.csv --y far_y.csv", "row 3 of far.csv", "no finite number")
  refuses(train .. "--test-x far.csv --test-y far_y.csv", "row 3 of the test rows", "no finite number")
end)

test("standard output that is lost is an error", function()
  refuses("kbcd evaluate --model m.h5 --x Xt.npy --y yt.npy >/dev/full", "standard output", "not complete")
  refuses("kbcd --version >/dev/full", "standard output")
  refuses("kbcd -e 'print(1) os.exit(0)' >/dev/full", "standard output")
end)

shell.finish()
