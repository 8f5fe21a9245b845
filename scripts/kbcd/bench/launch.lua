-- launch(s, where): fit(s) in a separate process, or in several under mpirun ($KBCD_MPIRUN, if set). s: as for fit,
-- images (as for data.images), and warm (true: some blocks come first that do not count). where: ranks, threads and memory
-- (the budget) of each rank. Returns the result of fit, and in bytes memory (the largest resident memory of a rank) and bytes
-- (of its data).

local cjson = require "cjson"
local outside_mpi = require "kbcd.support.outside_mpi"
local launch = {}

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What a shell command writes to standard output, and its exit status.
function launch.output(command)
  local pipe = assert(io.popen(command .. "\necho \"status=$?\""))
  local text = pipe:read("*a")
  pipe:close()
  local out, status = text:match("^(.*)status=(%d+)\n$")
  return out, tonumber(status)
end

local function cores()
  return tonumber((launch.output("nproc")))
end

-- Ranks that have a core each are bound to it; more than there are cores share them.
local function mpirun(ranks)
  if ranks == 1 then return "" end
  return ("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 %s -n %d %s"):format(os.getenv("KBCD_MPIRUN") or
    "mpirun", ranks, ranks <= cores() and "--bind-to core" or "--oversubscribe --bind-to none")
end

local function run(_, s, where)
  local program = launch.output("readlink /proc/$PPID/exe"):match("[^\n]+")
  local command = ("%s %s %s --threads %d %s -e %s %s"):format(outside_mpi(), mpirun(where.ranks), quoted(program),
    where.threads, where.memory and ("--memory %.0f"):format(where.memory) or "", quoted('require "kbcd.bench.child"'),
    quoted(cjson.encode(s)))
  local text, status = launch.output(command)
  local found = text and text:match("result: ([^\n]+)\n")
  if status ~= 0 or not found then
    error(("a run of %d rank%s ended with status %s; the command was: %s"):format(where.ranks, where.ranks == 1 and "" or "s",
      tostring(status), command), 0)
  end
  return cjson.decode(found)
end

return setmetatable(launch, { __call = run })
