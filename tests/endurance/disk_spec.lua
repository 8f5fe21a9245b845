-- ranks: 1
-- alone
-- A full disk, a folder that cannot be written, an input that vanished, a job that does not fit into memory: an error that
-- says so, nothing half-written, and what was there before as it was.

local kbcd = require "kbcd"
local shell = require "shell"
local Matrix = kbcd.Matrix
local test, run, succeeds, refuses = shell.test, shell.run, shell.succeeds, shell.refuses

local function write_csv(name, rows, columns)
  local A, lines = Matrix.randn(rows, columns, { seed = 1 }), {}
  for i = 1, rows do
    local cells = {}
    for j = 1, columns do cells[j] = ("%.9g"):format(A(i, j)) end
    lines[i] = table.concat(cells, ",") .. "," .. (A(i, 1) > 0 and 1 or 0)
  end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end
write_csv("d.csv", 600, 20)
write_csv("x.csv", 20000, 20)

local train = "kbcd --threads 1 train --data d.csv --label 21 --method full_kernel --b 100 --epochs 3 --lambda 1e-3 --quiet "
succeeds(train .. "--model model.h5 --log log.jsonl")
succeeds("kbcd report log.jsonl -o report.html 2>/dev/null || echo page > report.html")
succeeds("mkdir old && cp model.h5 log.jsonl report.html old && echo 1 > old/p.csv && echo figure > old/f-time.png && " ..
  "echo bytes > old/p.npy")

-- Runs `command` in a shell where folder `disk` has the files of `old` and little space; afterwards it must have them still,
-- and nothing half-written. With a file system of its own where we may mount one, and by a limit on the size of files.
local mounts = run("unshare -m sh -c 'mount -t tmpfs -o size=64k none old'").status == 0
if not mounts then print("no file system of our own can be mounted here: disks are filled by ulimit alone") end

local function on_full_disk(command, ...)
  shell.write("body", ([[
kbcd() { timeout 60 "$KBCD" "$@"; }
%s
status=$?
for f in old/*; do cmp $f disk/${f#old/} || exit 99; done
[ -z "$(ls disk | grep -e part -e new | grep -v 'checkpoint.lock$')" ] || { ls disk; exit 98; }
exit $status
]]):format(command))
  local ways = {}
  if not command:find("--log", 1, true) then ways[1] = "rm -rf disk; cp -r old disk; (ulimit -f 8; $clean sh body)" end
  if mounts then
    ways[#ways + 1] = "rm -rf disk; mkdir disk; $clean unshare -m sh -c 'mount -t tmpfs -o size=400k none disk; " ..
      "cp old/* disk; head -c 1000000 /dev/zero > disk/filler 2>/dev/null; sh body'"
  end
  for _, way in ipairs(ways) do
    local result = refuses(way, ...)
    local spoilt = result.status == 99 or result.status == 98
    if spoilt then error(("%s; %s: %s%s"):format(command, way, result.out, result.err)) end
    if os.getenv("KBCD_SHOW") then print(command, result.err) end
  end
end

test("a full disk", function()
  on_full_disk(train .. "--model disk/model.h5", "disk/model.h5", "cannot be")
  on_full_disk(train .. "--model disk/new.h5", "disk/new.h5", "cannot be")
  on_full_disk(train .. "--model disk/new.h5 --checkpoint-blocks 1", "disk/new.h5.checkpoint", "cannot be")
  refuses("(ulimit -f 8; " .. train .. "--b 3 --model m.h5 --log l.jsonl)", "l.jsonl", "cannot be written to its end")
  if mounts then  -- no space for the first line: the old log stays
    on_full_disk(train .. "--model m.h5 --log disk/log.jsonl", "disk/log.jsonl", "cannot be written to its end")
  end
  on_full_disk("kbcd predict --model model.h5 --x x.csv --label 21 --out disk/p.csv", "disk/p.csv", "cannot be written")
  on_full_disk("kbcd predict --model model.h5 --x x.csv --label 21 --out disk/p.npy", "disk/p.npy", "cannot be written")
  refuses("kbcd predict --model model.h5 --x x.csv --label 21 --out - > /dev/full", "cannot be written to its end",
    "No space")
end)

test("a full disk, for pages and figures", function()
  if os.execute("gnuplot --version > /dev/null 2>&1") ~= 0 then return print("skipped: gnuplot-nox is not installed") end
  on_full_disk("kbcd report log.jsonl -o disk/report.html", "kbcd report: ")
  on_full_disk("kbcd report log.jsonl -o r.html --png disk/f", "kbcd report: ")
end)

test("a folder that cannot be written, an input that is not there", function()
  local nowhere = mounts and "$clean unshare -m sh -c 'mount -t tmpfs -o ro none disk; . ./body'" or ". ./body"
  local folder = mounts and "disk" or "/proc"
  local function refused(command, ...)
    shell.write("body", 'kbcd() { timeout 60 "$KBCD" "$@"; }\n' .. command:gsub("DISK", folder) .. "\n")
    refuses("mkdir -p disk; " .. nowhere, ...)
  end
  refused(train .. "--model DISK/m.h5", folder .. "/m.h5: cannot be written")
  refused(train .. "--model m.h5 --log DISK/l.jsonl", folder .. "/l.jsonl: cannot be written")
  refused("kbcd predict --model model.h5 --x x.csv --label 21 --out DISK/p.npy", folder .. "/p.npy: cannot be written")
  refused("kbcd report log.jsonl -o DISK/r.html", folder)
  refuses("kbcd predict --model gone.h5 --x x.csv --out p.npy", "gone.h5", "cannot be read", "No such file")
  refuses("kbcd predict --model model.h5 --x gone.csv --out p.npy", "gone.csv", "cannot be read", "No such file")
  refuses("mpi 2 train --data gone.csv --model m.h5", "gone.csv", "No such file")
  refuses("kbcd report gone.jsonl", "gone.jsonl", "cannot be read")
end)

test("a job that does not fit into memory is refused before it starts, with the numbers", function()
  refuses("ulimit -v 4000000; kbcd train --data x.csv --label 21 --method full_kernel --b 18000 --model m.h5",
    "full_kernel needs", "18000x18000", "GB", "is free")
  local header = "{'descr': '<f8', 'fortran_order': False, 'shape': (300000, 1000), }"
  shell.write("large.npy", "\147NUMPY\1\0" .. string.char(#header, 0) .. header)
  succeeds("truncate -s 2500M large.npy")
  refuses([[ulimit -v 2000000; kbcd -e 'kbcd = require "kbcd"; kbcd.load("large.npy")' ]], "large.npy", "GB", "are free")
end)

test("what a log, or its method, is called is not run by gnuplot", function()
  if os.execute("gnuplot --version > /dev/null 2>&1") ~= 0 then return print("skipped: gnuplot-nox is not installed") end
  -- Without a title that is a text, a run has the name of its log.
  succeeds([=[mkdir logs; sed 's/"title":"[^"]*"/"title":1/' log.jsonl > "logs/x'; system('touch pwned'); y='.jsonl"
    cp logs/* "logs/\`touch pwned\`.jsonl"; kbcd report logs/*.jsonl -o r.html && [ ! -e pwned ]]=])
  succeeds([=[grep -q "touch pwned" r.html
    for title in "x'; system('touch pwned'); y='" "\`touch pwned\`" '@\\"; system(\\"touch pwned\\"); \\"'; do
      sed "s/\"title\":\"[^\"]*\"/\"title\":\"$title\"/" log.jsonl >titled.jsonl
      grep -q "touch pwned" titled.jsonl && kbcd report titled.jsonl -o t.html && [ ! -e pwned ] || exit 1
    done]=])
end)

shell.finish()
