-- ranks: 1
-- alone
-- The prompt at a terminal, through a pseudo-terminal (Python's pty): keys, signals, completion, values that cannot be shown.
-- A few of the random sessions that `make prompt` runs.

local kbcd = require "kbcd"
local spec, shell = require "spec", require "shell"
local test, equal, has = shell.test, spec.equal, shell.has

local tests = os.getenv("KBCD_SOURCE") .. "/tests"
local has_python = shell.run("python3 -c 'import pty'").status == 0
if not has_python then print("skipped: what needs a terminal, since python3 is not installed") end

-- Types each step, waits for what must appear, and leaves; pairs of texts with Python's escapes.
local function at_terminal(ranks, steps)
  if not has_python then return end
  local lines = {}
  for i = 1, #steps, 2 do lines[#lines + 1] = steps[i] .. "\t" .. steps[i + 1] .. "\n" end
  shell.write("steps", table.concat(lines))
  shell.succeeds(("$clean timeout 300 python3 '%s/support/type_at_prompt.py' %d <steps"):format(tests, ranks))
end

local function repl(lines)
  shell.write("lines", lines)
  return shell.run("kbcd <lines")
end

for ranks = 1, 2 do
  test(("Ctrl-C clears the line and stops loops, on %d ranks"):format(ranks), function()
    at_terminal(ranks, {
      "abc", "abc", "\\x03", "^C\\r\\n", "\\x03\\x03", "^C\\r\\n", "1 + 1\\r", "2\\r\\n",
      "INT", "^C\\r\\n", "6 * 7\\r", "42\\r\\n",
      "print(5) while true do end\\r", "5\\r\\n", "\\x03", "repl:1: interrupted",
      "print(6) while true do pcall(error) end\\r", "6\\r\\n", "\\x03\\x03\\x03", "interrupted",
      "print(7) coroutine.wrap(function() while true do end end)()\\r", "7\\r\\n", "INT", "interrupted",
      "setmetatable({}, { __tostring = function() print(8) while true do end end })\\r", "8\\r\\n", "\\x03", "interrupted",
      "if true then\\r", ">> ", "\\x03", "^C\\r\\n", "3 + 4\\r", "7\\r\\n",
    })
  end)
end

test("Ctrl-C stops ranks that wait for each other", function()
  at_terminal(2, {
    "if rank() == 0 then print(5) end while true do allreduce(1) end\\r", "5\\r\\n", "\\x03", "interrupted",
    "print(6) if rank() == 1 then while true do end end\\r", "6\\r\\n", "\\x03", "interrupted",
    "allreduce(1)\\r", "2\\r\\n",
  })
end)

test("Tab completes names, members and files; a long line shows its time", function()
  shell.write("measured.csv", "1,2\n")
  at_terminal(1, {
    "Matrix.ey\\t(3):trace()\\r", "\\r\\n3\\r\\n",
    "kernel.\\t", "laplacian", "\\x03", "^C",
    "io.open('" .. shell.tmp .. "/meas\\t):read('*a')\\r", '"1,2\\\\n"',
    "t = now() while now() < t + 1.2 do end\\r", " s)\\r\\n",
  })
end)

test("random sessions", function()
  if not has_python then return end
  local result = shell.run(("$clean python3 '%s/endurance/prompt_sessions.py' 4 1"):format(tests))
  if result.status ~= 0 then error(result.out .. result.err, 0) end
end)

test("values that fail to show themselves do not end the session", function()
  local result = repl([[
setmetatable({}, { __tostring = function() error("y") end })
setmetatable({}, { __tostring = function() return 5 end })
{ setmetatable({}, { __tostring = function() error({}) end }) }
error(setmetatable({}, { __tostring = function() error("z") end }))
error({ code = 17 })
error()
setmetatable({ a = 1 }, { __index = error, __pairs = 1, __len = error, __metatable = 5, __name = 3 })
t = {} t.t = t
t
"a\0\27[2J\n"
("x"):rep(1e6)
big = {} for i = 1, 1e5 do big[i] = i end
big
setmetatable(_G, { __newindex = error, __index = error })
1
string.format, string.gsub, tostring, type, pairs, pcall, print, error = nil
6 * 7
]])
  has(result.out, "its __tostring fails: repl:1: y", "its __tostring returns a number", "(its __tostring fails)", "a = 1",
    "t = {…}", '"a\\0\\27[2J\\n"', 'x" … (1000000 bytes)', "  …", "42\n")
  has(result.err, "its __tostring fails: repl:1: z", "code = 17", "an error that is a table: {", "an error that is nil")
  assert(#result.out < 20000, "the shown text is bounded")
end)

test("A[i] is a row, or an element of a vector", function()
  local A = kbcd.Matrix{ { 1, 2, 3 }, { 4, 5, 6 } }
  equal(A[2][3], 6)
  equal(A:t()[3][2], 6)
  equal(A[1].nrows .. "x" .. A[1].ncols, "1x3")
  equal(kbcd.Matrix{ 7, 8 }[2], 8)
  equal(A:cols(2)[2], 5)
  A[1][2] = 20
  A[2] = { 7, 8, 9 }
  equal(A(1, 2) + A(2, 3), 29)
  A[2] = A:rows(1)
  equal(A(2, 2), 20)
  A[1] = 0
  equal(A:sum(), 24)
  for _, i in ipairs{ 0, 3, 1.5, 0 / 0, -1, 1e300 } do
    spec.fails(function() return A[i] end, "a whole number in 1..2 expected for a Matrix 2x3")
    spec.fails(function() A[i] = 1 end, "a whole number in 1..2")
  end
  spec.fails(function() A[1] = "x" end, "a number, a table of numbers or a Matrix 1x3 expected, got the string 'x'")
  spec.fails(function() A[1] = { 1, 2 } end, "1x2")
  spec.fails(function() return A.nosuch end, "nosuch")
  spec.fails(function() A.nosuch = 1 end, "nosuch")
  spec.fails(function() return A[{}] end, "Matrix")
end)

test("who() lists what was defined, with shape and size", function()
  local out = repl("A = Matrix.zeros(1000, 50)\nB = Matrix.zeros(10, 2, 'f32')\nI = Index.range(1, 20)\nt = { A, 'abc' }\n" ..
    "n = 3\nfunction f() end\nX = DataSet(Matrix.eye(4))\nc = {} c.c = c\nwho()\n").out
  local lines = {}
  for line in out:gmatch("[^\n]+") do lines[#lines + 1] = (line:gsub("%s+", " ")) end
  equal(lines[1], "A Matrix 1000x50 f64 400.0 kB")
  equal(lines[2], "B Matrix 10x2 f32 80 B")
  equal(lines[3], "I Index 20 numbers 160 B")
  equal(lines[4], "X DataSet 4x4 128 B")
  has(lines[5], "c table 1 entry")
  equal(lines[6], "f function")
  equal(lines[7], "n number 3")
  has(lines[8], "t table 2 entries", "400.1 kB")
  equal(#lines, 8)
  equal(repl("who()\n").out, "nothing is defined yet\n")
end)

test("plot draws a curve", function()
  shell.write("plot.lua", "local y = {} for i = 1, 200 do y[i] = math.sin(i / 20) end kbcd = require 'kbcd'\n" ..
    "kbcd.plot(y)\nkbcd.plot(kbcd.Matrix{ 0, 10 }, { -3, 1 })\nkbcd.plot({ 1, 0 / 0, 3 }, 'p.png')")
  local braille = shell.succeeds("LC_ALL=C.UTF-8 kbcd plot.lua").out
  has(braille, "⠉", "         1 |", "-0.9999 |", "200\n")
  equal(shell.read(shell.tmp .. "/p.png"):sub(2, 4), "PNG")
  local ascii = shell.succeeds("LC_ALL=C kbcd plot.lua").out
  local rows = {}
  for line in ascii:gmatch("[^\n]+") do rows[#rows + 1] = line end
  equal(#rows, 36)
  assert(not ascii:find("[\128-\255]"), "plain characters")
  -- The straight line from (0, -3) to (10, 1), over 66 columns: its ends, and one more column or several from row to row.
  local last = 0
  for i = 34, 19, -1 do
    local column = rows[i]:match("|( *)%*"):len()
    assert(column >= last, "the line rises")
    last = column
  end
  equal(rows[19]:sub(-1) .. #rows[19], "*78")
  equal(rows[34]:sub(13, 13), "*")
  spec.fails(function() kbcd.plot(kbcd.Matrix.eye(2)) end, "one row or column expected, got 2x2")
  spec.fails(function() kbcd.plot{ 0 / 0 } end, "no point with finite numbers")
  spec.fails(function() kbcd.plot({ 1 }, { 1, 2 }) end, "x has 1 numbers, y has 2")
  spec.fails(function() kbcd.plot{ "a" } end, "element 1 is no number")
  spec.fails(function() kbcd.plot({ 1 }, "p.jpg") end, ".png expected")
  spec.fails(function() kbcd.plot() end, "expected")
end)

shell.finish()
