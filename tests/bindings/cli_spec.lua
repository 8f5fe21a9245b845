-- ranks: 1
-- The program as a user meets it: command line, errors and exit status, the REPL through a pipe, Ctrl-C, installation.

local shell = require "shell"
local equal = require("spec").equal
local tmp, write, run, has, count = shell.tmp, shell.write, shell.run, shell.has, shell.count
local succeeds, refuses, test = shell.succeeds, shell.refuses, shell.test

test("scripts, names, code and standard input", function()
  write("args.lua", 'print(#arg, arg[0]:match("[^/]+$"), arg[1], arg[2], select("#", ...), (select(2, ...)))')
  succeeds("kbcd args.lua a 'b c' --seed", "3\targs.lua\ta\tb c\t3\tb c\n")
  succeeds("kbcd ./args.lua -e x", "2\targs.lua\t-e\tx\t2\tx\n")
  succeeds("KBCD_PATH=" .. tmp .. " kbcd args one two", "2\targs.lua\tone\ttwo\t2\ttwo\n")
  succeeds("kbcd -e 'print(6 * 7)'", "42\n")
  succeeds("kbcd -e 'print(arg[1], ...)' x y", "x\tx\ty\n")
  succeeds("echo 'print(6 * 7, arg[1])' | kbcd - x", "42\tx\n")
  succeeds("echo 'local k = require \"kbcd\"; k.say(\"%d of %d\", k.rank(), k.size())' | mpi 2 -", "0 of 2\n")
  succeeds("echo 'x = 42' >set.lua; printf 'x + 1\\n' | kbcd -i set.lua", "43\n")
  succeeds("printf 'x + 1\\n' | kbcd -i -e 'x = 1'", "2\n")
  succeeds([[printf 'collectgarbage();\nMatrix.eye(2):twice()(1, 1)\n' | kbcd -i -e '
    local k = require "kbcd"
    k.Matrix.twice = function(A) return A * 2 end']], "2\n")
  refuses("kbcd -e 'local function f() coroutine.yield() end f()'", "coroutine.yield was called outside", "in function 'f'")
  succeeds(": >empty.lua; kbcd empty.lua", "")
  succeeds("kbcd -e 'local k = require \"kbcd\"; k.say(k.rank() .. \" \" .. k.allreduce(1))'", "0 1\n")
  local known = refuses("kbcd nosuchcommand", "nosuchcommand")
  has(known.err, "demo")
  refuses("KBCD_PATH=/nowhere kbcd nosuchcommand", "nosuchcommand", "demo")
  refuses("kbcd nosuch.lua", "nosuch.lua", "no such")
  refuses("kbcd no/such/script", "no/such/script")
  refuses("kbcd .", "'.'")
end)

test("options", function()
  local version = succeeds("kbcd --version").out
  has(version, "kbcd ", "LuaJIT", "OpenBLAS", "kernels", "Open MPI")
  equal(count(succeeds("mpi 2 --version").out, "LuaJIT"), 1, "said once by 2 ranks")
  local help = succeeds("kbcd --help").out
  has(help, "usage", "-e", "-i", "--threads", "--memory", "--seed", "--check", "--no-check", "--patience", "--version",
    "NAME", "mpirun")
  local function setting(options, what)
    return succeeds(("kbcd %s -e 'print(require(\"kbcd\").%s)'"):format(options, what)).out
  end
  equal(setting("--threads 2", "threads()"), "2\n")
  equal(setting("--memory 200M", "memory_budget()"), 200 * 2 ^ 20 .. "\n")
  equal(setting("--memory 1.5K", "memory_budget()"), "1536\n")
  equal(setting("--seed 7", "seed()"), "7\n")
  equal(setting("--seed 7", "Index.permutation(30)"), setting("", "Index.permutation(30, { seed = 7 })"))
  assert(setting("--seed 7", "Index.permutation(30)") ~= setting("", "Index.permutation(30)"), "the seed matters")
  for _, bad in ipairs{ "0", "x", "1.5", "''", "-1", "99999999999" } do
    refuses("kbcd --threads " .. bad .. " -e ''", "--threads")
  end
  for _, bad in ipairs{ "0", "x", "8Q", "-1G", "nan", "''" } do
    refuses("kbcd --memory " .. bad .. " -e ''", "--memory")
  end
  for _, bad in ipairs{ "-1", "x", "1.5" } do refuses("kbcd --seed " .. bad .. " -e ''", "--seed", bad) end
  refuses("kbcd --threads", "--threads", "value")
  refuses("kbcd -e", "-e", "value")
  refuses("kbcd --thread 2", "'--thread'", "--threads", "--memory", "--seed", "-e", "-i", "--version", "--help")
  equal(count(refuses("mpi 3 --thread 2").err, "unknown option"), 1, "said once by 3 ranks")
end)

test("exit status", function()
  succeeds("kbcd -e 'os.exit()'")
  succeeds("kbcd -e 'os.exit(true)'")
  equal(run("kbcd -e 'print(1) os.exit(3)'").status, 3)
  equal(run("kbcd -e 'io.write(\"kept\") os.exit(3)'").out, "kept", "what was written before os.exit")
  equal(run("kbcd -e 'os.exit(false)'").status, 1)
  equal(run("mpi 2 -e 'os.exit(3)'").status, 3, "2 ranks")
  succeeds("mpi 2 -e 'os.exit(0)'", "")
  write("leave.lua", 'local k = require "kbcd"\nif k.rank() == 1 then os.exit(4) end\nk.barrier()\n')
  equal(run("mpi 2 leave.lua").status, 4, "one of 2 ranks leaves")
end)

test("errors of a script on one rank", function()
  write("syntax.lua", "local x = 1\nlocal y = = 2\n")
  refuses("kbcd syntax.lua", "syntax.lua:2:", "'='")
  write("fails.lua", 'local function inner()\n  error("the reason")\nend\nprint("before")\ninner()\n')
  local result = refuses("kbcd fails.lua", "fails.lua:2: the reason", "stack traceback", "fails.lua:5: in main chunk")
  equal(result.out, "before\n", "what was printed before")
  equal(count(result.err, "the reason"), 1, "said once")
  refuses("kbcd -e 'x = = 1'", "-e:1:")
  refuses("kbcd -e 'error(\"oops\")'", "-e:1: oops", "traceback")
  refuses("printf 'local x\\nx.y = 1\\n' | kbcd -", "stdin:2:", "'x'")
  write("thrown.lua", 'local kbcd = require "kbcd"\nlocal A = kbcd.Matrix.zeros(2, 2)\nA:rows(3)\n')
  refuses("kbcd thrown.lua", "thrown.lua:3:", "3..3", "2x2", "traceback")
  refuses("kbcd -e 'local A = require(\"kbcd\").Matrix.eye(2) local B = A * A:rows(1)'", "-e:1:", "2x2 times 1x2")
  refuses("kbcd -e 'error({})'", "table")
  refuses("kbcd -e 'error()'", "nil")
  refuses("kbcd -e 'error(setmetatable({}, { __tostring = function() return \"an object\" end }))'", "an object")
  refuses("kbcd -e 'local function f() return 1 + f() end f()'", "stack overflow")
  refuses("kbcd -e 'require \"nosuchmodule\"'", "nosuchmodule")
end)

test("errors on several ranks are said once and end every rank", function()
  write("all.lua", 'require "kbcd"\nerror("all fail")\n')
  write("one.lua", [[
    local kbcd = require "kbcd"
    if kbcd.rank() == 1 then error("one fails") end
    kbcd.allreduce(1)
  ]])
  write("thrown.lua", 'local kbcd = require "kbcd"\nkbcd.Matrix.zeros(2, 2):rows(3)\n')
  for _ = 1, 3 do
    local all = refuses("mpi 3 all.lua", "/3] ", "all.lua:2: all fail", "stack traceback", "main chunk")
    equal(count(all.err, "all fail"), 1, "all fail: " .. all.err)
    local one = refuses("mpi 3 one.lua", "[rank 1/3] ", "one.lua:2: one fails", "stack traceback", "main chunk")
    equal(count(one.err, "one fails"), 1, "one fails")
  end
  equal(count(refuses("mpi 3 thrown.lua", "thrown.lua:2:").err, "3..3"), 1, "a C++ exception")
  equal(count(refuses("mpi 2 -e 'x = = 1'", "-e:1:").err, "-e:1:"), 1, "a syntax error")
  equal(count(refuses("mpi 2 nosuch.lua").err, "no such"), 1, "a missing file")
end)

-- The REPL on piped lines.
local function repl(lines, prefix)
  write("lines", lines)
  return run((prefix or "kbcd") .. " <lines")
end

test("the REPL shows values, and continues after errors", function()
  equal(repl("1 + 1\n2;\n_ * 10\nx = 5\nx, x + 1\n\n'a' .. 'b'\nlocal y = 3\n").out, '2\n20\n5\n6\n"ab"\n')
  local several = repl("function f(a)\n  return 2 * a\nend\nf(21)\nfor i = 1, 2 do\nprint(i)\nend\nf(\n4)\n").out
  equal(several, "42\n1\n2\n8\n", "statements of several lines")
  equal(repl("Matrix.eye(2):sum()\nkbcd.Matrix == Matrix\n").out, "2\ntrue\n", "names without kbcd.")
  local bad = repl('error("the reason")\nx = = 1\nnil + 1\nMatrix.eye(2):rows(3)\nerror({})\nno.such\n1 + 2\nif\n')
  equal(bad.out, "3\n", "the session continues")
  equal(bad.status, 1, "status after errors from a pipe")
  has(bad.err, "the reason", "'='", "arithmetic", "3..3", "table", "'no'")
  equal(count(bad.err, "the reason"), 1)
  local shown = repl("{ a = 1, 2 }\nMatrix{ { 1.5, 2 } }\nIndex{ 3, 1 }\nkernel.rbf{ sigma = 1 }\n" ..
    "DataSet(Matrix.eye(3))\n").out
  has(shown, "a = 1", "1 = 2", "Matrix 1x2 f64", "1.5", "Index of 2: 3 1", "rbf{", "DataSet 3x3")
  has(repl("help()\n").out, "Matrix", "allreduce", "nystrom", "KernelBlock", "Index")
  local rows = repl('help "Matrix:rows"\n').out
  has(rows, "Matrix:rows(first [, last])", "view")
  equal(rows:find("Matrix:cols", 1, true), nil, "nothing but rows")
  has(repl("help(full_kernel)\n").out, "full_kernel(X, Y, options)", "lambda")
  has(repl("help(Matrix.eye(2))\n").out, "Matrix:rows")
  has(repl('help "nosuch"\n').out, "nosuch", "help()")
  equal(repl("for i = 1, 2 do\n").out, "", "an unfinished statement at the end")
end)

test("the REPL drives every rank", function()
  local result = repl('rank()\nallreduce(1)\nerror("all fail")\nsize()\nif rank() == 1 then error("one fails") end\n' ..
    "function f()\nreturn allreduce(rank())\nend\nf()\nx = = 1\n_ + 1\n", "mpi 2")
  equal(result.out, "0\n2\n2\n1\n2\n")
  equal(count(result.err, "all fail"), 1, "said once")
  equal(count(result.err, "[rank 1/2] repl:1: one fails"), 1, "said once, by rank 1")
  equal(count(result.err, "near '='"), 1, "a syntax error is said once")
  write("lines", 'if rank() == 1 then error("cannot come") end allreduce(1)\n1 + 1\n')
  refuses("mpi 2 --no-check <lines", "[rank 1/2]", "cannot come")  -- rank 0 waits for a rank that will not come
end)

test("Ctrl-C interrupts a Lua loop and the REPL continues", function()
  local result = run([[
printf 'print("ready")\nwhile true do end\n6 * 7\n' >lines
$clean "$KBCD" <lines >shown 2>said &
pid=$!
waited=0
until grep -q ready shown; do sleep 0.1; waited=$((waited + 1)); [ $waited -gt 200 ] && break; done
until grep -q interrupted said; do
  sleep 0.5
  kill -INT $pid || break
  waited=$((waited + 5)); [ $waited -gt 300 ] && kill -KILL $pid
done
wait $pid
echo "left with $?"
cat shown
cat said >&2]])
  has(result.err, "interrupted")
  equal(result.out, "left with 1\nready\n42\n")  -- an interrupted line is a failed one
end)

test("an installed kbcd works from any directory", function()
  succeeds([[cmake --install "$(dirname "$KBCD")" --prefix "$PWD/prefix" >/dev/null]])
  local function installed(rest) return ("cd /; unset KBCD_PATH; $clean '%s/prefix/bin/kbcd' %s"):format(tmp, rest) end
  has(succeeds(installed([[-e 'print(require("kbcd").full_kernel)']])).out, "algorithm full_kernel: ")
  has(succeeds(installed([[-e 'print(package.searchpath("kbcd", package.path))']])).out, "prefix/share/kbcd")
  has(refuses(installed("nosuchcommand")).err, "demo")
  local moved = refuses("mv prefix/bin/kbcd . && $clean ./kbcd -e 'print(1)'", "kbcd/init.lua was not found", tmp,
    "KBCD_PATH")
  assert(not moved.err:find("sol:", 1, true), moved.err)
  succeeds("KBCD_PATH=prefix/share/kbcd/scripts $clean ./kbcd -e 'print(1)'", "1\n")
end)

shell.finish()
