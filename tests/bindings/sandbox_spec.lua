-- ranks: 1
-- kbcd --sandbox: scripts that try to break out (sandbox_attacks.lua) and fail, and honest ones that work.

local spec, shell = require "spec", require "shell"
local test, run, succeeds, refuses, has = shell.test, shell.run, shell.succeeds, shell.refuses, shell.has

if not shell.has_sandbox "sandbox_spec" then return shell.finish() end

local attacks = os.getenv("KBCD_SOURCE") .. "/tests/bindings/sandbox_attacks.lua"
local sandbox = "kbcd --sandbox --allow in --allow to:rw "

succeeds("mkdir in to && echo 's3cret' > secret")
succeeds("ln -s ../secret in/link && ln -s /etc in/linked && ln -s ../new to/dangling && ln -s ../to/x in/to_written")
shell.write("in/data.csv", "1,2\n3,4\n5,7\n")
shell.write("in/neighbour.lua", "return { answer = 42 }")
succeeds([[kbcd -e 'io.open("in/chunk", "wb"):write(string.dump(function() return 1 end))']])
succeeds("cp in/data.csv data.copy")

-- Nothing that should not be there is; what was there is as it was.
local function untouched()
  succeeds("[ -L in/to_written ]")
  spec.equal(shell.read(shell.tmp .. "/secret"), "s3cret\n", "the secret")
  succeeds("cmp in/data.csv data.copy")
  spec.equal(run("ls -d new in/new /tmp/kbcd_escaped to/pwned to/secret to/link 2>/dev/null").out, "", "files that escaped")
end

test("every known way out is closed", function()
  local result = succeeds(sandbox .. attacks .. " " .. shell.tmp)
  local escaped = result.out:match("ESCAPED[^\n]*")
  if escaped then error(escaped) end
  assert(tonumber(result.out:match("tried (%d+)")) > 250, result.out)
  untouched()
end)

test("what lies in the current folder is not taken for a library before the guards are there", function()
  for _, name in ipairs{ "argparse.lua", "cjson.lua", "kbcd.lua" } do
    shell.write(name, [[os.execute("touch escaped") error("mine")]])
  end
  spec.equal(succeeds(sandbox .. [[-e 'require "kbcd" print "done"']]).out, "done\n")
  spec.equal(run("ls escaped").status ~= 0, true, "a file of the current folder ran")
  succeeds("rm argparse.lua cjson.lua kbcd.lua")
  refuses(sandbox .. [[-e 'dofile("/etc/passwd")']], "the sandbox does not let it be read")
  refuses(sandbox .. [[-e 'dofile()']], "a path expected")
  local there = run(sandbox .. [[-e 'print(package.searchpath("x", "/etc/passwd"))']]).out
  spec.equal(there, (run(sandbox .. [[-e 'print(package.searchpath("x", "/etc/passwx"))']]).out:gsub("passwx", "passwd")))
end)

test("a script may read and write where it is allowed to", function()
  shell.write("honest.lua", [[
package.path = arg[1] .. "/in/?.lua;" .. package.path
local kbcd = require "kbcd"
assert(require("neighbour").answer == 42)
local X = kbcd.load("in/data.csv")
local Y = X.rows:clone():sum(2)
local kernel = kbcd.kernel.rbf{ sigma = 2 }
local c = kbcd.checkpoint("to/c", { every = 0 })
local last
for step in kbcd.full_kernel(X, Y, { kernel = kernel, lambda = 0.1, b = 2, epochs = 2, checkpoint = c }) do last = step end
kbcd.model_file.save("to/m.h5", last.model, { method = "full_kernel", task = "regress" })
kbcd.say("%d", kbcd.allreduce(kbcd.model_file.load("to/m.h5")[1]:predict(X).nrows))
c:remove()
local first, second = "to/t" .. kbcd.rank(), "to/u" .. kbcd.rank()
local file = assert(io.open(first, "w"))
file:write("text")
file:close()
assert(os.rename(first, second))
for line in io.lines(second) do kbcd.say(line) end
kbcd.allreduce(kbcd.Matrix.zeros(300, 300))  -- larger than what MPI sends at once
local builder = kbcd.csr_builder(5)
builder.add(2, 3)
builder.end_row()
assert(builder.finish(kbcd.size()).d == 5)
assert(loadstring("return 7")() == 7 and load("return 8")() == 8)
assert(getmetatable(setmetatable({}, { x = 1 })).x == 1)
assert(os.remove(second) and debug.traceback("x") and jit.version and os.time())]])
  spec.equal(succeeds(sandbox .. "honest.lua " .. shell.tmp).out, "3\ntext\n")
  local two = succeeds("mpi 2 --sandbox --allow in --allow to:rw honest.lua " .. shell.tmp)
  spec.equal(two.out .. two.err, "3\ntext\n")
  has(succeeds(sandbox .. "train --data in/data.csv --label 2 --task regress --hold-out 0 --model to/n.h5").out, "to/n.h5")
  untouched()
end)

test("what is refused is reported", function()
  has(refuses(sandbox .. [[-e 'os.execute("ls")']]).err, "os.execute: not available in the sandbox")
  has(refuses(sandbox .. [[-e 'require "ffi"']]).err, "module 'ffi' is not available in the sandbox")
  has(refuses(sandbox .. [[-e 'assert(io.open("/etc/passwd"))']]).err, "/etc/passwd: the sandbox does not let it be read",
    shell.tmp .. "/in", "--allow FOLDER")
  has(refuses(sandbox .. [[-e 'assert(io.open("in/x", "w"))']]).err, "in/x: the sandbox does not let it be written",
    "write in " .. shell.tmp .. "/to")
  has(refuses(sandbox .. "train --data secret --label 1 --model to/x.h5").err, "secret: the sandbox")
  refuses("kbcd --sandbox in/chunk", "chunk")
  refuses("kbcd --sandbox", "REPL")
  refuses("kbcd --sandbox -i in/neighbour.lua", "REPL")
  refuses("kbcd --allow in in/neighbour.lua", "--sandbox")
  refuses("kbcd --sandbox --allow nowhere in/neighbour.lua", "--allow nowhere", "folder")
  refuses("kbcd --sandbox --allow secret in/neighbour.lua", "--allow secret", "folder")
end)

shell.finish()
