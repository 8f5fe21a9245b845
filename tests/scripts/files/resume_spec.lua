-- ranks: 1
-- long
-- kbcd train --resume as a user meets it: runs that are killed or asked to stop, and go on; what is refused. The models must
-- be those of runs that nobody stopped. (faults_spec kills them at random moments.)

local spec, shell = require "spec", require "shell"
local test, run, succeeds, refuses, has = shell.test, shell.run, shell.succeeds, shell.refuses, shell.has

local resuming = require "resuming"
local data, settings, coefficients = resuming.data, resuming.settings, resuming.coefficients

-- Starts `command`, and once its checkpoint is there and a moment is over, runs `end_it` with $pid. Gives the command's
-- status.
local function interrupted(launch, command, model, moment, end_it)
  return run(([[
%s %s --model %s --checkpoint-every 0 >>interrupted.log 2>&1 & pid=$!
for i in $(seq 3000); do [ -e %s.checkpoint ] || [ -e %s ] || ! kill -0 $pid 2>/dev/null || sleep 0.02; done
sleep %.2f
%s
wait $pid]]):format(launch, command, model, model, model, moment, end_it)).status
end

local alone, in_two = '$clean "$KBCD"', '$clean $KBCD_MPIRUN -n 2 "$KBCD"'

succeeds("kbcd " .. settings.full_kernel .. " --model full1.h5")

test("a run resumes on another number of ranks, the same up to rounding", function()
  for method, command in pairs(settings) do
    command = command .. " --precision f64 "
    succeeds(("kbcd %s --model all.h5"):format(command))
    interrupted(in_two, command, "moved.h5", 0.1, "kill -9 $(pgrep -P $pid | head -n 1)")
    has(succeeds(("mpi 3 %s --resume --model moved.h5"):format((command:gsub("--quiet", "")))).out, "resumes from moved.h5")
    spec.close(coefficients("moved.h5"), coefficients("all.h5"), 1e-9, method)
    os.execute("rm -f " .. shell.tmp .. "/moved.h5*")
  end
end)

test("SIGTERM and SIGINT, once, end the block, save and leave with their status", function()
  for name, status in pairs{ TERM = 143, INT = 130 } do
    local model = name .. ".h5"
    local got = interrupted(alone, settings.full_kernel, model, 0.1, "kill -" .. name .. " $pid")
    spec.equal(got, status, name)
    has(shell.read(shell.tmp .. "/interrupted.log"), ("stopped by signal %d; %s.checkpoint"):format(status - 128, model))
    -- As a kill between the two steps of a save leaves it: two names of one file.
    if name == "INT" then succeeds(("ln -f %s.checkpoint %s.checkpoint.previous"):format(model, model)) end
    succeeds(("kbcd %s --resume --model %s"):format(settings.full_kernel, model))
    spec.equal((coefficients(model) - coefficients("full1.h5")):abs():max(), 0, name)
  end
end)

test("a damaged checkpoint is named, and one of other data or options refused", function()
  interrupted(alone, settings.full_kernel, "m.h5", 0.2, "kill -TERM $pid")
  local there = "kbcd " .. settings.full_kernel .. "--model m.h5 --resume "
  local function with(from, to) return (there:gsub(from:gsub("%p", "%%%0"), to)) end
  refuses(with("d.csv", "other.csv"), "m.h5.checkpoint is of another run", "fingerprint of x", "fingerprint of y")
  refuses(with("--lambda 1e-3,1e-4", "--lambda 1e-3,2e-4"), "of another run", "lambda = 0.001 0.0001", "here")
  refuses(with("--b 20", "--b 30"), "b = 20 there, 30 here")
  refuses(there .. "--seed 5", "seed = 1 there, 5 here")
  refuses(there .. "--scale01", "preprocess = ", " there, scale01 here")
  refuses(there .. "--sigma 3", "kernel = ", "sigma = 3} here")
  refuses(there .. "--precision f32", "precision = f64 there, f32 here")
  refuses("kbcd " .. settings.full_kernel .. "--model m.h5 --checkpoint-every 5", "m.h5.checkpoint", "already")
  succeeds("cp m.h5.checkpoint whole && cp m.h5.checkpoint.previous whole.previous")
  refuses("truncate -s 4000 m.h5.checkpoint m.h5.checkpoint.previous; " .. there, "m.h5.checkpoint:",
    "m.h5.checkpoint.previous:", "no good one", "remove m.h5.checkpoint")
  has(succeeds("cp whole.previous m.h5.checkpoint.previous; " .. there).err, "damaged checkpoint: m.h5.checkpoint",
    "resuming from m.h5.checkpoint.previous")
  spec.equal((coefficients("m.h5") - coefficients("full1.h5")):abs():max(), 0, "the model")
end)

test("what was chosen for a run stays as it was; without --resume, checkpoints are written when asked for", function()
  local command = data .. "--method full_kernel --epochs 150 --lambda 1e-3 --precision f64 --standardize --b 100 "
  interrupted(alone, command, "c.h5", 0.1, "kill -9 $pid")
  local kernel = shell.read(shell.tmp .. "/interrupted.log"):match("\nfull_kernel, (%w+{[^}]+})")
  has(kernel, "sigma=")
  local out = succeeds("mpi 3 " .. command .. " --model c.h5 --resume").out
  has(out, "resumes from c.h5.checkpoint, after block", "full_kernel, " .. kernel)
end)

shell.finish()
