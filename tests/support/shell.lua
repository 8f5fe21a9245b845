-- Commands as a user types them, in a folder of their own: what the specs of the command line share.

local spec = require "spec"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function output_of(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local tmp = output_of("mktemp -d"):match("[^\n]+")

local function write(name, text)
  local file = assert(io.open(tmp .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

local slower = tonumber(os.getenv("KBCD_SLOWER") or 1)  -- how much longer things take, under sanitizers

local shell = ([[
cd '%s'
clean='%s'
kbcd() { $clean timeout %d "$KBCD" "$@"; }
mpi() { ranks=$1; shift; $clean timeout %d $KBCD_MPIRUN -n "$ranks" "$KBCD" "$@"; }
]]):format(tmp, spec.outside_mpi(), 60 * slower, 60 * slower)

-- What a shell command wrote to stdout and to stderr, and its exit status. `kbcd …` and `mpi N …` run the program.
local function run(command)
  write("command", shell .. command .. "\n")
  local text = output_of(("sh '%s/command' >'%s/out' 2>'%s/err' </dev/null; echo status=$?"):format(tmp, tmp, tmp))
  return { out = read(tmp .. "/out"), err = read(tmp .. "/err"), status = tonumber(text:match("status=(%d+)")) }
end

local function has(text, ...)
  for _, part in ipairs{ ... } do
    if not text:find(part, 1, true) then error(("'%s' expected in: %s"):format(part, text), 2) end
  end
end

local function succeeds(command, out)
  local result = run(command)
  if result.status ~= 0 then error(("%s: status %d, %s"):format(command, result.status, result.err), 2) end
  if out and result.out ~= out then error(("%s: '%s' expected, got '%s'"):format(command, out, result.out), 2) end
  return result
end

-- The command must fail, and say these texts on stderr.
local function refuses(command, ...)
  local result = run(command)
  if result.status == 0 or result.status == 124 then error(("%s: status %d"):format(command, result.status), 2) end
  for _, part in ipairs{ ... } do
    if not result.err:find(part, 1, true) then
      error(("%s: '%s' expected on stderr, got: %s"):format(command, part, result.err), 2)
    end
  end
  return result
end

local function count(text, part)
  local found, at = 0, 1
  while true do
    local first, last = text:find(part, at, true)
    if not first then return found end
    found, at = found + 1, last + 1
  end
end

local function test(name, f)
  local good, message = pcall(spec.test, name, f)
  if good then return end
  os.execute("rm -rf '" .. tmp .. "'")
  error(message, 0)
end

-- Whether the kernel has what --sandbox needs; if not, a message says what is skipped.
local sandbox_works
local function has_sandbox(skipped)
  if sandbox_works == nil then
    sandbox_works = not run("kbcd --sandbox -e ''").err:find("this kernel does not have", 1, true)
  end
  if not sandbox_works then io.stderr:write(("skipped, for want of Landlock or seccomp: %s\n"):format(skipped)) end
  return sandbox_works
end

local function finish()
  os.execute("rm -rf '" .. tmp .. "'")
  spec.finish()
end

return {
  tmp = tmp, read = read, write = write, run = run, has = has, succeeds = succeeds, refuses = refuses, count = count,
  test = test, finish = finish, has_sandbox = has_sandbox,
}
