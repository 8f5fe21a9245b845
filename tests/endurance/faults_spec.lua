-- ranks: 1
-- long
-- Faults: a random rank of a training run is killed (SIGKILL) at a random moment, every third time the resumed run is
-- killed, too; a run without a kill then finishes it. Each time the job must end soon, resume from its checkpoint if it
-- had one, and give the bits of a run that was never killed. A checkpoint is written after every block, so that many of
-- the kills hit the writing of one. KBCD_KILLS says how many, KBCD_SEED which.

local kbcd = require "kbcd"
local spec, shell, resuming = require "spec", require "shell", require "resuming"
local run, coefficients = shell.run, resuming.coefficients

local kills, seed = tonumber(os.getenv("KBCD_KILLS") or 4), tonumber(os.getenv("KBCD_SEED") or 1)
math.randomseed(seed)

local limit = 60  -- seconds for a job to end after a rank is gone; on a busy machine, too

local epochs = 4

local function train(method, model, more)
  local settings = resuming.settings[method]:gsub("--epochs %d+", "--epochs " .. epochs)
  return ("%s --model %s --checkpoint-every 0 %s"):format(settings, model, more or "")
end

-- The model of a run that nobody stops, made once, and the seconds that it took.
local whole = {}
local function uninterrupted(method, ranks)
  local name = ("%s%d.h5"):format(method, ranks)
  if not whole[name] then
    local start = kbcd.now()
    shell.succeeds(('$clean timeout 300 $KBCD_MPIRUN -n %d "$KBCD" %s'):format(ranks, train(method, name)))
    whole[name] = { model = coefficients(name), seconds = kbcd.now() - start }
  end
  return whole[name]
end

-- Starts a run, kills one of its ranks after some seconds. A process that has not joined the job yet (it has no thread that
-- watches the others) is no rank: one that dies during its start can leave mpirun itself waiting for a lock of its PMIx
-- library, after its message and the end of all processes. Returns what happened: "killed", "hung", "early" (the run was
-- over by then, or had no such rank yet); and whether a checkpoint was left.
local function kill_one(method, ranks, model, moment)
  local result = run(([[
$clean $KBCD_MPIRUN -n %d "$KBCD" %s >>faults.log 2>&1 & pid=$!
sleep %.3f
all=$(pgrep -P $pid)
one=$(echo $all | cut -d ' ' -f %d)
grep -q '^kbcd watch$' /proc/$one/task/*/comm 2>/dev/null || one=
if [ -z "$one" ] || ! kill -9 $one; then wait $pid; echo "early no"; exit; fi
end=hung
for i in $(seq %d); do
  [ -n "$(ps -o stat= -p "$(echo $pid $all | tr ' ' ,)" | grep -v Z)" ] || { end=killed; break; }
  sleep 0.05
done
kill -9 $pid $all 2>/dev/null
wait $pid 2>/dev/null
saved=no; [ -e %s.checkpoint ] && saved=yes
echo "$end $saved"]]):format(ranks, train(method, model, "--resume --log " .. model .. ".jsonl"), moment,
    math.random(ranks), 20 * limit, model))
  return result.out:match("(%a+) (%a+)\n")
end

local function one_fault(number)
  local methods = { "full_kernel", "nystrom", "random_features" }
  local method, ranks, model = methods[math.random(3)], math.random(2, 3), ("killed%d.h5"):format(number)
  local expected = uninterrupted(method, ranks)
  local what = ("kill %d of seed %d: %s on %d ranks"):format(number, seed, method, ranks)
  local saved
  for _ = 1, number % 3 == 0 and 2 or 1 do
    local moment = math.random() * expected.seconds
    local happened
    happened, saved = kill_one(method, ranks, model, moment)
    if happened == "hung" then error(("%s after %.3f s: the job hung"):format(what, moment), 0) end
    if happened == "early" then return false end
  end
  local command = train(method, model, "--resume --log " .. model .. ".jsonl"):gsub("--quiet", "")
  local last = shell.succeeds(('$clean timeout 300 $KBCD_MPIRUN -n %d "$KBCD" %s'):format(ranks, command))
  if saved == "yes" then shell.has(last.out, "resumes from " .. model .. ".checkpoint") end
  local off = (coefficients(model) - expected.model):abs():max()
  if off ~= 0 then error(("%s: the model is off by %g"):format(what, off), 0) end
  resuming.complete_log(model .. ".jsonl", epochs)
  spec.equal(run(("ls | grep '^%s'"):format(model)).out, model .. "\n" .. model .. ".jsonl\n", what .. ": the files left")
  return true, saved == "yes"
end

shell.test("ranks that are killed at random moments, seed " .. seed, function()
  local done, tried, with = 0, 0, 0
  while done < kills do
    tried = tried + 1
    local killed, saved = one_fault(tried)
    if killed then done = done + 1 end
    if saved then with = with + 1 end
    if tried > 3 * kills + 10 then error("the runs are over before they can be killed", 0) end
  end
  io.write(("seed %d: %d kills, %d of them with a checkpoint: %d equal models, 0 hangs, 0 lost files\n"):format(seed, done,
    with, done))
end)

shell.finish()
