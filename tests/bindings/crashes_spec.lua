-- ranks: 1
-- long
-- Plain scripts that once crashed the program, or made it hang: callbacks of coroutines that are gone, recursion through
-- callbacks, memory that is released while it is used, sizes and numbers out of every range, limits of the addresses.

local kbcd = require "kbcd"
local shell = require "shell"
local spec = require "spec"
local run, has, test, refuses, succeeds = shell.run, shell.has, shell.test, shell.refuses, shell.succeeds
local fails, equal = spec.fails, spec.equal
local M, I = kbcd.Matrix, kbcd.Index

test("a kernel and a map that a coroutine made outlive it", function()
  for _, mode in ipairs{ "", shell.has_sandbox "kernels of coroutines in the sandbox" and "--sandbox " or nil } do
    succeeds("kbcd " .. mode .. [[-e '
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.ones(4, 2))
for i = 1, 200 do
  local kernel, map = coroutine.wrap(function()
    return kbcd.kernel.custom{ metric = "dot", kappa = function(D) return D * i end },
      kbcd.features.custom{ p = 1, map = function(R) return R:cols(1, 1) * i end }
  end)()
  for _ = 1, 2 do collectgarbage() end
  assert(kbcd.KernelBlock(X, kbcd.Index{ 1 }, kernel):dense()(1, 1) == 2 * i)
  assert(kbcd.RandomFeaturesBlock(X, kbcd.Index{ 1 }, map):dense()(1, 1) == i)
end
print "right"']], "right\n")
  end
end)

-- Each recurses without end; the error must be caught like any other, and the script goes on.
local recursions = {
  kernel = [[
    local X, all = kbcd.DataSet(kbcd.Matrix.randn(5, 2, { seed = 1 })), kbcd.Index.range(1, 5)
    local k
    k = kbcd.kernel.custom{ metric = "dot", kappa = function() return kbcd.KernelBlock(X, all, k):dense() end }
    f = function() return kbcd.KernelBlock(X, all, k):dense() end]],
  map = [[
    local X, one = kbcd.DataSet(kbcd.Matrix.randn(5, 2, { seed = 1 })), kbcd.Index{ 1 }
    local map
    map = kbcd.features.custom{ p = 1, map = function() return kbcd.RandomFeaturesBlock(X, one, map):dense() end }
    f = function() return kbcd.RandomFeaturesBlock(X, one, map):dense() end]],
  generate = "f = function() return kbcd.DataSet.generate(1, 1, f) end",
  apply = "f = function() return kbcd.Matrix.zeros(1, 1):apply(f) end",
  together = "f = function() return kbcd.together(f) end",
  coroutine = "f = function() return coroutine.wrap(function() return f() end)() end",
  resume = "f = function() return assert(coroutine.resume(coroutine.create(f))) end",
  ["coroutine and apply"] = [[f = function()
    return coroutine.wrap(function() return kbcd.Matrix.zeros(1, 1):apply(f) end)()
  end]],
  ["coroutine and gsub"] = [[f = function()
    return coroutine.wrap(function() return assert(pcall(string.gsub, "a", "a", f)) end)()
  end]],
  gsub = [[f = function() return (("a"):gsub("a", f)) end]],
  sort = "f = function() table.sort({ 1, 2 }, f) end",
  load = "f = function() load(f) end",
}
for name, code in pairs(recursions) do
  test("recursion through " .. name, function()
    shell.write("recursion.lua", ([[
local kbcd = require "kbcd"
local f
%s
local good, message = pcall(f)
print(good, "in order", message)
local A = kbcd.Matrix.zeros(1, 1)
print(pcall(A.apply, A, function(x) return x + 1 end))]]):format(code))
    local result = succeeds("kbcd recursion.lua")
    has(result.out, "in order", "true")
    if name ~= "sort" and name ~= "load" then has(result.out, "false\tin order", "overflow") end
  end)
end

test("the error of recursion has its depth", function()
  has(succeeds([[kbcd -e 'local kbcd = require "kbcd"
local function f() return kbcd.Matrix.zeros(1, 1):apply(f) end print(pcall(f))']]).out, "C stack overflow: ",
    "calls of kbcd's functions are within each other", "ulimit -s")
end)

test("coroutines behave as Lua's own", function()
  local numbers = coroutine.wrap(function(a) for i = 1, 3 do a = coroutine.yield(a + i) end return "end" end)
  equal(numbers(1), 2)
  equal(numbers(10), 12)
  equal(numbers(20), 23)
  equal(numbers(), "end")
  fails(numbers, "dead coroutine")
  fails(coroutine.wrap(function() error("inner") end), "inner")
  local object = {}
  local good, message = pcall(coroutine.wrap(function() error(object) end))
  equal(good, false)
  equal(message, object)
  fails(function() coroutine.resume(5) end, "coroutine expected")
  equal(select("#", coroutine.resume(coroutine.create(function() return nil, nil end))), 3)
  fails(function() ("a"):gsub() end, "crashes_spec.lua", "gsub")  -- the line and the name of the caller
end)

test("a callback that yields or fails is an error", function()
  local one = M.zeros(1, 1)
  fails(coroutine.wrap(function() one:apply(coroutine.yield) end), "yield")
  fails(function() one:apply(function() error({}) end) end, "an error object that is a table")
end)

test("what a callback releases is kept until the call returns", function()
  local X = kbcd.DataSet(M.randn(600, 5, { seed = 2 }))
  local D = M.randn(500, 500, { seed = 3 })
  local kernel = kbcd.kernel.custom{ metric = "dot", kappa = function(K)
    D:release()
    M.full(500, 500, 0 / 0)  -- in the place of D, if that was given back
    return K * 0 + 1
  end }
  local got = kbcd.KernelBlock(X, I.range(1, 500), kernel) * D
  spec.close(got, M.ones(600, 500) * M.randn(500, 500, { seed = 3 }), 1e-5)
  fails(function() return D:norm() end, "was released")
end)

test("a kernel matrix cannot be released by the kernel that fills it", function()
  local rows = M.randn(60, 5, { seed = 2 })
  local triangle, message
  local kernel = kbcd.kernel.custom{ metric = "dot", kappa = function(K)
    message = select(2, pcall(triangle.release, triangle))
    return K
  end }
  triangle = require("kbcd.runtime").KernelTriangle(kbcd.DataSet(rows), kernel, I.range(1, 60), { tile = 20, group = 1 })
  local some = M.zeros(40, 5)  -- the rows of tiles 2 and 1
  some:rows(1, 20):copy(rows:rows(21, 40))
  some:rows(21, 40):copy(rows:rows(1, 20))
  local columns = triangle:columns(I{ 2, 1 })
  spec.close(columns:square(), some * some:t(), 1e-12)
  assert(message:find("is being computed", 1, true), message)
  triangle:release()
  message = nil
  spec.close(columns:t() * M.eye(60), some * rows:t(), 1e-12)
  assert(message:find("is being computed", 1, true), message)
end)

test("sizes and numbers out of range", function()
  for _, size in ipairs{ 2 ^ 53, 2 ^ 40, 2 ^ 31 } do
    fails(function() return M.zeros(size, 0):clone():exp() end, "more than any machine holds")
    fails(function() return M.zeros(0, size) end, "more than any machine holds")
  end
  local empty = M.zeros(2 ^ 31 - 1, 0)
  equal(empty:clone():exp():sum() + empty:norm(), 0)
  equal(empty:t():clone():add(empty:t()).ncols, 2 ^ 31 - 1)
  equal(empty:finite(), true)
  for _, number in ipairs{ 1 / 0, -1 / 0, 0 / 0, 2 ^ 63, 2 ^ 54, 0, -1, 1.5 } do
    fails(function() return I{ number } end, "element 1 is not a whole number from 1 to 2^53")
  end
  equal(I{ 2 ^ 53, 5, 3 }:without(I{ 5, 2 ^ 52 }), I{ 2 ^ 53, 3 })
  fails(function() return I{ "1" } end, "element 1 is not a whole number")
  for _, root in ipairs{ 2 ^ 32, -1, 1 } do
    fails(function() kbcd.bcast(1, root) end, "bcast: a root in 0..0 expected")
    fails(function() kbcd.ireduce_symmetric(M.eye(2), root) end, "ireduce_symmetric: a root in 0..0 expected")
  end
  for _, size in ipairs{ 1 / 0, 0 / 0, -1, 1e300 } do
    fails(function() kbcd.memory_budget(size) end, "bytes or a text")
    fails(function() require("kbcd.runtime").memory.reserve(size) end, "bytes expected")
  end
  for _, size in ipairs{ 2 ^ 40, 2 ^ 53 } do
    fails(function() return kbcd.sparse_sign(5, size) end, "sparse_sign", "more than this machine holds")
  end
  fails(function() return kbcd.sparse_sign(2 ^ 30, 1, { nonzeros = 2 ^ 29 }) end, "nonzeros in 1..1000 expected")
  for _, shares in ipairs{ M.ones(1, 3), { "x" }, setmetatable({ {} }, { __index = error }) } do
    fails(function() return require("kbcd.runtime").gram_rows(1, shares) end, "gram_rows", "expected")
  end
  fails(function() require("kbcd.runtime").files.bytes(M.full(1, 1, 0 / 0), "i8") end, "64 bits expected")
end)

test("options are plain tables: errors of metamethods would be lost, and what they inherit", function()
  local cursed = setmetatable({}, { __index = function() error("from __index") end })
  for name, call in pairs{
    ["features.columns"] = function() return kbcd.features.columns(cursed) end,
    ["features.orthogonal"] = function() return kbcd.features.orthogonal(cursed) end,
    eig = function() return M.eye(2):eig(cursed) end,
    randn = function() return M.randn(2, 2, setmetatable({ seed = 3 }, { __index = { dtype = "f32" } })) end,
  } do
    fails(call, name, "a plain table of options expected")
  end
  fails(function() return M{ M.eye(2), M.eye(2) } end, "row 1 of the table is not a table of numbers")
end)

test("methods name themselves in messages", function()
  fails(function() M.zeros(2, 2):sub(M.zeros(3, 3)) end, "sub: the shapes must agree")
  fails(function() M.zeros(2, 2):add(M.zeros(3, 3)) end, "add: the shapes must agree")
end)

test("one row or column is added to an empty Matrix", function()
  equal(M.zeros(0, 3):add(M.ones(1, 3)).ncols, 3)
  equal(M.zeros(3, 0):add(M.ones(3, 1)).nrows, 3)
end)

test("a spliced Matrix may be its own target", function()
  local whole = M.zeros(1, 9)
  whole:cols(2, 4):copy(M{ 1, 2, 3 })
  equal(kbcd.speech.splice(whole:cols(2, 4), 1, whole), M{ 1, 2, 3, 1, 2, 3, 1, 2, 3 })
end)

test("a fault ends the program at once", function()
  if os.getenv("KBCD_SLOWER") then return end  -- sanitizers report it in their own way
  for signal, number in pairs{ SEGV = 139, BUS = 135, ABRT = 134 } do
    shell.write("fault.lua", ("os.execute('kill -%s $PPID; sleep 5')"):format(signal))
    local result = run("kbcd fault.lua")
    equal(result.status, number, signal)
    has(result.err, "ended by", signal)
  end
end)

test("a limit of the addresses that is too low is refused at once", function()
  if os.getenv("KBCD_SLOWER") then return end  -- sanitizers need terabytes of them
  for _, limit in ipairs{ 200000, 300000, 350000, 400000, 500000 } do
    refuses(("(ulimit -v %d; timeout 10 $clean \"$KBCD\" -e 'print(1)')"):format(limit), "ulimit -v")
  end
  refuses("(ulimit -v 1000000; kbcd --threads 8 -e 'print(1)')", "8 threads need", "--threads")
  succeeds([[(ulimit -v 1500000; kbcd --threads 2 -e 'local M = require("kbcd").Matrix
local kept = {}
print((pcall(function() for i = 1, 1000 do kept[i] = M.ones(1000, 1000) end end)))
local A = M.ones(300, 300)  -- small ones need no check
print((A * A)(1, 1))')]], "false\n300\n")
end)

shell.finish()
