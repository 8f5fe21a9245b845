-- ranks: 1
-- alone
-- --limit-seconds, --limit-memory and --limit-disk against hostile code, with and without --sandbox; and a kernel without
-- what the sandbox needs.

local spec, shell = require "spec", require "shell"
local test, run, refuses, succeeds, has = shell.test, shell.run, shell.refuses, shell.succeeds, shell.has
local kbcd = require "kbcd"

if not shell.has_sandbox "limits_spec" then return shell.finish() end

succeeds("mkdir to")
local slower = tonumber(os.getenv("KBCD_SLOWER") or 1)

-- Ends by the limit, within a few seconds of it.
local function limited(command, ...)
  local start = kbcd.now()
  local result = run(command)
  spec.equal(result.status, 120, command .. "\n" .. result.err)
  has(result.err, ...)
  assert(kbcd.now() - start < 12 * slower, ("%s took %g seconds"):format(command, kbcd.now() - start))
  return result
end

-- The command, with an input that stays open and says nothing.
local function without_input(command)
  return ("mkfifo silent; sleep 30 >silent & %s <silent; status=$?; kill $!; rm silent; exit $status"):format(command)
end

test("seconds: in compiled loops, in C++, in patterns, while it waits, on several ranks", function()
  local before = "kbcd --limit-seconds 2 "
  for _, code in ipairs{
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "local M = require('kbcd').Matrix.ones(3000, 3000) while true do M = M * M end",
    "(('a'):rep(40)):find(('a-'):rep(40) .. 'b')",
    "io.read('*a')",
  } do
    limited(without_input(before .. "-e \"" .. code .. "\""), "limit of 2 seconds", "--limit-seconds")
  end
  limited(before .. "--sandbox -e 'while true do end'", "limit of 2 seconds")
  limited("mkfifo unread; sleep 8 < unread & " .. before .. "-e 'while true do io.stdout:write(\"x\") end' > unread",
    "limit of 2 seconds")
  has(run("mpi 2 --limit-seconds 3 -e 'if require(\"kbcd\").rank() == 1 then while true do end end'").err,
    "limit of 3 seconds")
  spec.equal(succeeds("kbcd --limit-seconds 30 -e 'print(1)'").out, "1\n")
end)

test("memory: strings, tables, matrices, vectors of C++", function()
  local before = "kbcd --threads 2 --limit-memory 200M %s -e \"%s\""
  for _, sandbox in ipairs{ "", "--sandbox" } do
    for _, code in ipairs{
      "local s = ('x'):rep(2 ^ 29) print(#s)",
      "local t = {} while true do t[#t + 1] = { #t } end",
      "local s = 'x' while true do s = s .. s end",
      "local t = {} while true do t[#t + 1] = require('kbcd').Matrix.ones(500, 500) end",
      "local b = require('kbcd').csr_builder(10) while true do b.add(1, 1) end",
    } do
      local result = run(before:format(sandbox, code))
      assert(result.status == 1 and result.err:find("out of memory"), code .. ": " .. result.status .. result.err)
    end
  end
  has(run(before:format("", "require('kbcd').Matrix.ones(6000, 6000)")).err, "--limit-memory", "209715200")
  local product = "local M = require('kbcd').Matrix.ones(1000, 1000) print((M * M)(1, 1))"
  spec.equal(succeeds(before:format("--sandbox", product)).out, "1000\n")
end)

test("disk: a large file, many small files, files that are removed while they are open", function()
  local sandbox = "kbcd --limit-disk 8M --sandbox --allow to:rw -e "
  local pause = "local t = os.clock() while os.clock() < t + 0.005 do end"  -- before all descriptors are used
  local large = run(sandbox .. [["local f = io.open('to/large', 'w') while true do assert(f:write(('x'):rep(2 ^ 20))) end"]])
  assert(large.status == 120 or large.err:find("File too large", 1, true), large.err)
  succeeds("rm -f to/*")
  limited(sandbox .. [["for i = 1, 1e9 do io.open('to/' .. i, 'w'):close() end"]], "files have grown by", "--limit-disk")
  succeeds("rm -rf to && mkdir to")
  limited(sandbox .. [["kept = {} for i = 1, 1e9 do local f = io.open('to/x', 'w') os.remove('to/x')
    f:write(('x'):rep(2 ^ 20)) f:flush() kept[i] = f ]] .. pause .. [[ end"]], "files have grown by")
  limited([[cd to && kbcd --limit-disk 8M -e "for i = 1, 1e9 do
    local f = io.open('n' .. i, 'w') f:write(('x'):rep(2 ^ 20)) ]] .. pause .. [[ end"]], "files have grown by")
  succeeds("rm -rf to && mkdir to")
  succeeds(sandbox .. [["local f = io.open('to/x', 'w') f:write(('x'):rep(2 ^ 20)) f:close()"]])
end)

test("options that make no sense", function()
  refuses("kbcd --limit-seconds 0 -e 1", "--limit-seconds", "1 to")
  refuses("kbcd --limit-memory much -e 1", "--limit-memory", "a size")
  refuses("kbcd --limit-disk -e 1", "--limit-disk")
  refuses("kbcd --sandbox=full -e 1", "unknown option '--sandbox=full'")
end)

test("a kernel without Landlock or seccomp", function()
  for what, named in pairs{ landlock = "Landlock", seccomp = "seccomp" } do
    local with = ("KBCD_SANDBOX_WITHOUT=%s kbcd --sandbox"):format(what)
    refuses(with .. " -e 'print(1)'", "--sandbox: this kernel does not have", named, "--sandbox=partial")
    local partial = run(with .. "=partial -e 'print(io.open(\"/etc/passwd\") == nil)'")
    spec.equal(partial.out, "true\n")
    has(partial.err, "not fully confined", named)
  end
end)

test("a fault ends the process at once", function()
  local start = kbcd.now()
  local result = run([[kbcd -e 'local ffi = require "ffi" ffi.cast("int*", 16)[0] = 1']])
  spec.equal(result.status, 139)
  has(result.err, "ended by a memory fault")
  assert(kbcd.now() - start < 10 * slower)
end)

shell.finish()
