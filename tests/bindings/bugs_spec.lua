-- ranks: 1
-- long
-- What goes wrong on three ranks, and the messages that a newcomer sees: the scripts in bugs/, each a kind of mistake;
-- ranks that are killed or stopped; signals. Nothing may hang, and each message must name the rank, the place and the
-- reason.

local runtime = require "kbcd.runtime"
local shell = require "shell"
local equal = require("spec").equal
local run, has, test, write, tmp = shell.run, shell.has, shell.test, shell.write, shell.tmp

local function wall_time()
  local pipe = assert(io.popen("date +%s.%N"))
  local time = tonumber(pipe:read("*l"))
  pipe:close()
  return time
end

-- Seconds that a command takes, and its result.
local function timed(command)
  local start = wall_time()
  local result = run(command)
  return wall_time() - start, result
end

local launch = "OMP_NUM_THREADS=1 $clean timeout 100 $KBCD_MPIRUN -n 3 \"$KBCD\" "

-- Five seconds, and on a busy machine some of what it needs to start and end three ranks that do nothing.
local idle = timed(launch .. "-e 'require \"kbcd\".barrier()'")
local allowed = (5 + 5 * idle) * tonumber(os.getenv("KBCD_SLOWER") or 1)
print(("three ranks that do nothing: %.1f s"):format(idle))

local function fails_soon(what, command, ...)
  local seconds, result = timed(command)
  print(("  %-26s %.1f s"):format(what, seconds))
  if result.status == 0 or result.status == 124 then error(("%s: status %d"):format(what, result.status), 2) end
  has(result.err, ...)
  if seconds > allowed then error(("%s took %.1f s"):format(what, seconds), 2) end
  return result
end

local bugs = {
  { "skipped_collective", "ranks 0, 2 are at", "skipped_collective.lua:5: allreduce of 3x2 f64",
    "rank 1 has reached the end of the script", "the same calls" },
  { "wrong_shape", "ranks 0, 1 are at", "wrong_shape.lua:4: allreduce of 3x2 f64", "rank 2 is at",
    "wrong_shape.lua:4: allreduce of 4x2 f64", "shapes and types must be the same" },
  { "wrong_type", "rank 1 is at", "wrong_type.lua:4: allreduce of 3x2 f32", "wrong_type.lua:4: allreduce of 3x2 f64" },
  { "different_order", "different_order.lua:4 (called at", "different_order.lua:10): allreduce of 2x2",
    "different_order.lua:5 (called at", "different_order.lua:7): allreduce of 2x2", "in the same order" },
  { "crossed_on_one_line", "ranks 0, 2 are at", "crossed_on_one_line.lua:5, instruction ", "rank 1 is at",
    ": allreduce of 2x2 f64", "different calls on one line" },
  { "error_on_one_rank", "[rank 1/3]", "error_on_one_rank.lua:5: attempt to concatenate", "traceback" },
  { "use_after_release", "use_after_release.lua:5:", "Matrix (3x2) was released" },
  { "wrong_table", "wrong_table.lua:5: full_kernel: unknown option 'lamda'", "known: ", "lambda, " },
  { "recursion", "recursion.lua:3: stack overflow", "in function 'depth'" },
  { "out_of_memory", "[rank 1/3] out of memory", "tables and strings", "--memory" },
  { "missing_file", "missing_file.lua:3: no_such_data.npy: cannot be read", "No such file" },
  { "pairs_around_collective", "pairs_around_collective.lua:5", "`pairs` loop", "another order on every rank",
    "sorted_keys" },
  { "different_rows", "different_rows.lua:5: gather_rows of 9 rows of 3 f64 (", "checksum", "so must rows, seeds" },
  { "different_options", "different_options.lua:5", "rank 0 is at", "full_kernel with kernel = rbf{", "sigma = 1}",
    "sigma = 3}", "so must rows, seeds, options" },
  { "different_data", "different_data.lua:3: DataSet of 60x3 f64, checksum", "bcast(A)" },
}

local function script(name) return ("'%s/tests/bindings/bugs/%s.lua'"):format(os.getenv("KBCD_SOURCE"), name) end

test("each kind of bug gives a message that says what to fix", function()
  for _, bug in ipairs(bugs) do
    fails_soon(bug[1], launch .. "--memory 20M " .. script(bug[1]), unpack(bug, 2))
  end
end)

test("infinite recursion is reported, wherever on the stack it began", function()
  for count = 0, 8 do
    local told = shell.refuses(("kbcd %s %s"):format(script("recursion"), (" x"):rep(count)))
    has(told.err, "recursion.lua:3: stack overflow", "in function 'depth'", "main chunk")
  end
end)

test("options, seeds and files that differ from rank to rank are named", function()
  write("a.csv", "1,2\n3,4\n5,6\n")
  write("b.csv", "1,2\n3,4\n5,7\n")
  write("differs.lua", [=[
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(60, 3, { seed = 1 }))
local Y, rbf, one = X.rows:clone():sum(2), kbcd.kernel.rbf{ sigma = 1 }, kbcd.rank() == 1 and 1 or 0
local function map(seed) return kbcd.features.fourier{ kernel = rbf, p = 30, seed = seed } end
local cases = {
  lambda = function() return kbcd.nystrom(X, Y, { kernel = rbf, p = 9, lambda = 1e-3 * (1 + one) }) end,
  seed = function() return kbcd.nystrom(X, Y, { kernel = rbf, p = 9, lambda = 1e-3, seed = one }) end,
  map = function() return kbcd.random_features(X, Y, { map = map(one), lambda = 1e-3 }) end,
  epochs = function() return kbcd.random_features(X, Y, { map = map(1), lambda = 1e-3, epochs = 1 + one }) end,
  path = function() kbcd.load(one == 1 and "b.csv" or "a.csv") end,
  label = function() kbcd.load("a.csv", { label = 1 + one }) end,
  rows = function() kbcd.load("a.csv", { rows = 2 + one }) end,
  gather = function() X:gather(kbcd.Index.range(1 + one, 9 + one)) end,
  sparse = function() X:to_sparse():gather_sparse(kbcd.Index.range(1 + one, 9 + one)) end,
}
for _ in cases[arg[1]]() or function() end do end
]=])
  for name, texts in pairs{
    lambda = { "ranks 0, 2 are at", "differs.lua:16): the start of nystrom with lambda = 0.001", "lambda = 0.002" },
    seed = { "nystrom with seed = 0", "nystrom with seed = 1" },
    map = { "random_features with map = fourier{", "seed=0", "seed=1" },
    epochs = { "epochs = 1", "epochs = 2" },
    path = { "load of a.csv", "load of b.csv", "and paths" },
    label = { "load of a.csv, label=1", "load of a.csv, label=2" }, rows = { "rows=2", "rows=3" },
    gather = { "gather_rows of 9 rows of 3 f64 (1, 2, 3, …", "(2, 3, 4, …" },
    sparse = { "gather_rows of 9 rows of 1 f64 (1, 2, 3, …", "(2, 3, 4, …" },
  } do
    fails_soon(name .. " that differ", launch .. "differs.lua " .. name, unpack(texts))
  end
end)

-- The check compares where in the bytecode calls are: interpreted on one rank and compiled on another, called from loops,
-- coroutines, pcall, metamethods and iterators, directly and through functions.
test("the same calls on one line are the same, however they are run", function()
  write("one_line.lua", [[
local kbcd = require "kbcd"
if kbcd.rank() == 1 then jit.off() else jit.opt.start("hotloop=2", "hotexit=1") end
local A, sum = kbcd.Matrix.ones(2, 2), 0
local function twice(x) return kbcd.allreduce(x) + kbcd.allreduce(x) end
local object = setmetatable({}, { __index = function(_, key) return kbcd.allreduce(key) end,
  __add = function(a, b) return kbcd.allreduce(1) end, __call = function(_, x) return kbcd.allreduce(x) end })
local function rows(count) local i = 0 return function() i = i + 1 if i <= count then return kbcd.allreduce(i) end end end
local work = coroutine.wrap(function() while true do coroutine.yield(twice(1)) end end)
for i = 1, 300 do sum = sum + kbcd.allreduce(1) + twice(i) + object[i] + (object + 1) + object(2) end
for i = 1, 300 do if kbcd.rank() ~= i % 3 then sum = sum + i end sum = sum + kbcd.allreduce(1) kbcd.allreduce(A:clone()) end
for i = 1, 100 do for r in rows(i % 5) do sum = sum + r end end
for i = 1, 100 do sum = sum + work() + select(2, pcall(kbcd.allreduce, 1)) + select(2, pcall(twice, i)) end
for i = 1, 100 do while i > 0 do i = i - 7 kbcd.allreduce(i) end repeat i = i + 1 kbcd.barrier() until i > 2 end
local list = {}
for i = 1, 60 do list[i] = i end
table.sort(list, function(a, b) return kbcd.allreduce(a) > kbcd.allreduce(b) end)
kbcd.say("all right")
]])
  equal(shell.succeeds("mpi 3 one_line.lua").out, "all right\n")
end)

-- In Lua's own order, which differs from process to process, the sums of different names are mixed.
test("pairs has one order on all ranks, also where no check sees it", function()
  write("pairs.lua", [[
local kbcd = require "kbcd"
local sums, names, one = {}, {}, {}
for i = 1, 200 do sums["name " .. i] = i end
for name in pairs(sums) do names[#names + 1] = name end
for _, name in ipairs(names) do assert(kbcd.allreduce(sums[name]) == 3 * sums[name], name) end
local work = coroutine.create(function()
  while true do
    local name = coroutine.yield()
    assert(kbcd.allreduce(sums[name]) == 3 * sums[name], name)
  end
end)
coroutine.resume(work)
for name in pairs(sums) do assert(coroutine.resume(work, name)) end

local mixed, keys = { 10, 20, 30, x = 1, a = 2, [2.5] = 3, [-1] = 4, [true] = 5 }, {}
for key, value in pairs(mixed) do
  assert(mixed[key] == value)
  keys[#keys + 1] = tostring(key)
  mixed[key] = nil
  if key == 1 then mixed.x = nil end
end
assert(table.concat(keys, " ") == "-1 1 2 2.5 3 a true", table.concat(keys, " "))
assert(next(mixed) == nil)
for key in pairs{ only = 1 } do one[1] = key end
assert(one[1] == "only" and not pcall(pairs) and not pcall(pairs, 5))
kbcd.say("all right")
]])
  equal(shell.succeeds("mpi 3 pairs.lua").out, "all right\n")
  equal(shell.succeeds("mpi 3 --no-check pairs.lua").out, "all right\n")
end)

-- Starts a script on three ranks; when rank 0 has said "ready", runs `then_do` with the process ids $mpirun and $rank1.
local function meanwhile(options, path, then_do)
  return ([[
rm -f said
OMP_NUM_THREADS=1 $clean $KBCD_MPIRUN --timeout 60 -n 3 "$KBCD" %s %s >said &
mpirun=$!
for i in $(seq 400); do grep -q ready said 2>/dev/null && break; sleep 0.05; done
rank1=$(cat pid1 2>/dev/null)
%s
wait $mpirun]]):format(options, path, then_do)
end

write("goes_on.lua", ([[
local kbcd = require "kbcd"
local ffi = require "ffi"
ffi.cdef "int getpid(void);"
if kbcd.rank() == 1 then
  local file = io.open("%s/pid1", "w")
  file:write(ffi.C.getpid(), "\n")
  file:close()
end
kbcd.barrier()
kbcd.say("ready")
for _ = 1, 1e9 do kbcd.allreduce(1) end
]]):format(tmp))

test("an interrupt reports where every rank is", function()
  for _, signal in ipairs{ "INT", "TERM" } do
    local command = meanwhile("", script("infinite_loop"), "kill -" .. signal .. " $mpirun")
    local result = fails_soon("infinite_loop, SIG" .. signal, command, "interrupted by signal 15",
      "rank 0 waits for the others at", "infinite_loop.lua:8: allreduce of a number", "rank 1 computes",
      "infinite_loop.lua:3: barrier")
    assert(not result.err:find("Segmentation", 1, true), result.err)
  end
end)

test("a loop of one process is interrupted, with its line where Lua interprets it", function()
  write("loop.lua", "print('ready')\nio.stdout:flush()\nif arg[1] then jit.off() end\nwhile true do end\n")
  for _, interpreted in ipairs{ "", "yes" } do
    local _, result = timed(([[
rm -f said
$clean "$KBCD" loop.lua %s >said & pid=$!
for i in $(seq 400); do grep -q ready said 2>/dev/null && break; sleep 0.05; done
sleep 0.2
kill -INT $pid
wait $pid]]):format(interpreted))
    equal(result.status, 130, result.err)
    has(result.err, "interrupted", interpreted == "" and "rank 0 computes" or "kbcd: loop.lua:4: interrupted")
  end
end)

test("a noted signal is left to the script, a second one ends it at once", function()
  write("noting.lua", "require('kbcd.runtime').signals.note_stop_signals(true)\nrequire('kbcd').say('ready')\n" ..
    "while true do end\n")
  local result = run([[
rm -f said
$clean "$KBCD" noting.lua >said & pid=$!
for i in $(seq 400); do grep -q ready said 2>/dev/null && break; sleep 0.05; done
kill -TERM $pid; sleep 1; kill -0 $pid && echo "goes on"
kill -TERM $pid
wait $pid]])
  equal(result.status, 143)
  equal(result.out, "goes on\n")
  for first, status in pairs{ TERM = 130, USR1 = 130, INT = 143 } do  -- the second may be another
    local second = first == "INT" and "TERM" or "INT"
    equal(run(([[
rm -f said
$clean "$KBCD" noting.lua >said & pid=$!
for i in $(seq 400); do grep -q ready said 2>/dev/null && break; sleep 0.05; done
kill -%s $pid; sleep 0.3; kill -%s $pid
for i in $(seq 100); do kill -0 $pid 2>/dev/null && sleep 0.05; done
kill -KILL $pid 2>/dev/null
wait $pid]]):format(first, second)).status, status, first .. ", then " .. second)
  end
end)

test("mpirun hands SIGUSR1 on: all ranks end their block and save", function()
  write("saving.lua", [[
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(60, 3, { seed = 1 }))
local c = kbcd.checkpoint("run.checkpoint", { every = 1000, resume = true })
if c.saved_state then kbcd.say("saved") os.exit(0) end
local o = { kernel = kbcd.kernel.rbf{ sigma = 1 }, lambda = 1e-3, b = 20, epochs = 1e6, checkpoint = c }
for step in kbcd.full_kernel(X, X.rows:clone():sum(2), o) do
  if step.epoch == 2 and step.block == 1 then kbcd.say("ready") end
end
]])
  local result = run(meanwhile("", "saving.lua", "kill -USR1 $mpirun"))
  equal(result.status, 138, result.err)
  has(shell.read(tmp .. "/said"), "stopped by signal 10; run.checkpoint has the run")
  has(shell.succeeds("mpi 2 saving.lua").out, "saved")
end)

test("a rank that is killed, or stopped for good, ends the job", function()
  fails_soon("a killed rank", meanwhile("", "goes_on.lua", "kill -KILL $rank1"), "rank 1", "Killed")
  fails_soon("a stopped rank", meanwhile("--patience 2", "goes_on.lua", "kill -STOP $rank1"),
    "rank 1 (process", "no sign of life for 2 seconds", "rank 1 is stopped")
end)

test("ranks that are stopped for a while, one or all of them, continue; a long wait is reported", function()
  write("slow.lua", ([[
local kbcd = require "kbcd"
local ffi = require "ffi"
ffi.cdef "int getpid(void);"
local file = io.open("%s/pid" .. kbcd.rank(), "w")
file:write(ffi.C.getpid(), "\n")
file:close()
kbcd.barrier()
kbcd.say("ready")
local start = kbcd.now()
while kbcd.rank() == 1 and kbcd.now() < start + 8 do end
kbcd.say("sum %%d", kbcd.allreduce(1))
]]):format(tmp))
  local result = run(meanwhile("--patience 2", "slow.lua", [[
kill -STOP $rank1; sleep 0.5; kill -CONT $rank1
kill -STOP $(cat pid0 pid1 pid2); sleep 3; kill -CONT $(cat pid0 pid1 pid2)]]))
  equal(result.status, 0, result.err)
  has(shell.read(tmp .. "/said"), "sum 3")
  has(result.err, "waited for others for 2 seconds", "rank 0 waits for the others at slow.lua:11: allreduce",
    "rank 1 computes")
  local fast = run(meanwhile("--patience 0", "slow.lua", ""))
  equal(fast.status, 0)
  equal(fast.err, "", "--patience 0 reports nothing")
end)

test("--no-check leaves it out; KBCD_CHECK sets it, the option wins", function()
  local ask = [[-e 'print(require("kbcd.runtime").job.checking())']]
  for _, case in ipairs{ { "", "", true }, { "", "--no-check", false }, { "KBCD_CHECK=0", "", false },
    { "KBCD_CHECK=0", "--check", true }, { "KBCD_CHECK=1", "--no-check", false } } do
    has(shell.succeeds(("%s mpi 2 %s %s"):format(case[1], case[2], ask)).out, tostring(case[3]) .. "\n" .. tostring(case[3]))
  end
  shell.refuses("KBCD_CHECK=maybe kbcd -e ''", "KBCD_CHECK", "maybe")
  shell.refuses("kbcd --patience x -e ''", "--patience")
  equal(runtime.job.checking(), false, "one rank has nobody to compare with")
end)

test("the REPL reports ranks that make other calls, and continues", function()
  write("lines", 'if rank() == 1 then error("cannot come") end allreduce(1)\nif rank() == 0 then barrier() end\n6 * 7\n')
  local result = run("mpi 2 <lines")
  equal(result.out, "42\n", result.err)
  equal(result.status, 1)
  has(result.err, "rank 1 is at the end of the line (it failed: repl:1: cannot come", "rank 0 is at repl:1: allreduce",
    "rank 0 is at repl:1: barrier", "rank 1 is at the end of the line")
end)

shell.finish()
