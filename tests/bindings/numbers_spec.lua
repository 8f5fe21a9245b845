-- Wrong numbers are reported: NaN and Inf in files by row and column, models that are not finite by block and epoch,
-- blocks that are not positive definite with the jitter they got, runs for which f32 is not enough, and settings that make no
-- sense.

local kbcd = require "kbcd"
local lambda_of = require "kbcd.descent.lambda"
local memory_check = require "kbcd.descent.memory_check"
local runtime = require "kbcd.runtime"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local rank = kbcd.rank()

local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
local n = 60
local data = Matrix.randn(n, 3, { seed = 1 })
local X = DataSet(data)
local X32, Y = X:to("f32"), X.rows:clone():sin():sum(2)
local rbf = kbcd.kernel.rbf{ sigma = 2 }
local algorithms = { "full_kernel", "nystrom", "random_features" }

-- The steps of an algorithm with settings that are sound, but for those given.
local function steps(name, given, rows, targets)
  local o = { lambda = 1e-3, b = 20, epochs = 2, kernel = rbf, p = name == "nystrom" and 40 or nil }
  for key, value in pairs(given) do o[key] = value end
  if name == "random_features" then
    o.map, o.kernel = o.map or kbcd.features.fourier{ kernel = o.kernel, p = 40 }, nil
  end
  return kbcd[name](rows or X, targets or Y, o)
end

local function last(...)
  local final
  for step in steps(...) do final = step end
  return final
end

-- What all ranks write to standard error while f runs.
local function told_by(f)
  local own, result = spec.told_by(f)
  local all = {}
  for from = 0, kbcd.size() - 1 do all[#all + 1] = kbcd.bcast(own, from) end
  return table.concat(all), result
end

local function put(text) spec.write(path, text) end

test("NaN and Inf in a file are named by the file, the row and the column", function()
  local rows = {}
  for i = 1, 9 do rows[i] = i == 7 and "1,2,nan" or "1,2,3" end
  put(table.concat(rows, "\n"))
  fails(function() kbcd.load(path) end, path, "line 7", "column 3", "nan")
  put("1 1:2 2:3\n1 1:2 2:inf\n")
  fails(function() kbcd.load(path) end, path, "line 2", "inf")
  local header = "{'descr': '<f8', 'fortran_order': False, 'shape': (5, 4), }"
  local numbers = {}
  for i = 1, 20 do numbers[i] = i == 15 and 1 / 0 or i end
  put("\147NUMPY\1\0" .. string.char(#header % 256, 0) .. header .. runtime.files.bytes(Matrix{ numbers }, "f8"))
  fails(function() kbcd.load(path) end, path, "row 4, column 3", "inf", "finite")
  if rank == 0 then
    local file, A = kbcd.h5.create(path), Matrix.zeros(6, 2)
    A:set(5, 2, 0 / 0)
    file:append("/x", A)
    file:close()
  end
  kbcd.barrier()
  fails(function() kbcd.load(path) end, path, "/x", "row 5, column 2", "nan")
end)

test("a model that is not finite ends the run with its block and epoch", function()
  for _, name in ipairs(algorithms) do
    fails(function() last(name, {}, X, Y * 1e200) end, name, "block 1 of epoch 1", "not finite", "lambda = 0.001")
  end
  local huge = DataSet(data * 1e30):to("f32")
  for _, name in ipairs{ "full_kernel", "nystrom" } do
    local kernel = kbcd.kernel.polynomial{ degree = 4 }
    fails(function() last(name, { kernel = kernel }, huge) end, "block 1 of epoch 1", "NaN or Inf")
  end
  local blows_up = 0  -- a map that gives Inf from the third block on
  local map = kbcd.features.custom{ name = "blows up", p = 40, map = function(rows, I)
    blows_up = blows_up + 1
    return Matrix.full(rows.nrows, #I, I[1] > 10 and 1e39 or 1, rows.dtype)
  end }
  fails(function() last("random_features", { map = map, b = 10, jitter = true }, X32) end, "block", "epoch 1")
  assert(blows_up > 0 or X.local_n == 0)
  fails(function() kbcd.local_solve(Matrix.eye(2), Matrix{ { 1 }, { 0 / 0 } }) end, "local_solve", "B", "NaN")
end)

test("rows whose length is beyond their type are an error, not a kernel of 0", function()
  local huge, first = DataSet(data * 1e25):to("f32"), kbcd.Index.range(1, 4)
  fails(function() kbcd.KernelBlock(huge, first, rbf):dense() end, "length of a row", "f32", "scale")
  local mixed = kbcd.KernelBlock(huge, first, rbf, { centers = X32 })
  fails(function() mixed:dense() end, "length of a row", "f32", "scale")
  local cosine = kbcd.kernel.cosine{}  -- does not depend on the length
  close(kbcd.KernelBlock(huge, first, cosine):dense(), kbcd.KernelBlock(X32, first, cosine):dense(), 1e-6, "cosine")
end)

test("a block that is not positive definite is an error, or gets jitter, which is reported", function()
  local equal_rows, linear = DataSet(Matrix.ones(n, 3) * 1e3), kbcd.kernel.linear{}
  for _, name in ipairs(algorithms) do
    local given = { kernel = linear, lambda = 1e-18, map = name == "random_features" and kbcd.features.custom{
      name = "ones", p = 40, map = function(rows, I) return Matrix.full(rows.nrows, #I, 1e3, rows.dtype) end } or nil }
    fails(function() last(name, given, equal_rows) end, "block 1 of epoch 1, lambda = 1e-18", "not positive definite",
      "jitter")
    given.jitter = true
    local told, step = told_by(function() return last(name, given, equal_rows, Matrix.ones(X.local_n, 1)) end)
    local added = tonumber(told:match("block 1 of epoch 1, lambda = 1e%-18: its 20x20 system is not positive definite; " ..
      "added (%S+) to the diagonal"))
    assert(added and added > 0 and added < 1, told)
    close(kbcd.allreduce(step.model:fitted()[1]:sum()), n, 1e-6, name .. ": the fit of equal targets")
  end
end)

test("a run that loses too much in f32 says so; others do not", function()
  for _, name in ipairs(algorithms) do
    local told, step = told_by(function() return last(name, {}, X32) end)
    equal(told, "", name)
    assert(step.precision_loss[1] < 1e-5, name .. ": " .. step.precision_loss[1])
    told, step = told_by(function() return last(name, {}, X) end)
    equal(told, "", name .. " in f64")
    equal(step.precision_loss, nil, name .. " in f64")
  end
  local o = { kernel = kbcd.kernel.rbf{ sigma = 20 }, lambda = { 1e-2, 1e-15 }, epochs = 10, jitter = true, b = 60 }
  local told, step = told_by(function() return last("full_kernel", o, X32) end)
  for _, text in ipairs{ "full_kernel: f32 is not enough", "lambda = 1e-15", "f64" } do
    assert(told:find(text, 1, true), text .. " expected in: " .. told)
  end
  assert(step.precision_loss[1] < 1e-4 and step.precision_loss[2] > 1e-3, step.precision_loss[2])
  told = told_by(function() return last("full_kernel", o, X) end)
  assert(not told:find("not enough", 1, true), told)
end)

test("the loss is what it says it is", function()
  local lambda = 1e-6
  local step = last("nystrom", { lambda = lambda, epochs = 3 }, X32)
  local x, targets = X32:gather(kbcd.Index.range(1, n)):to("f64"), kbcd.gather(Y)
  local kept, alpha = kbcd.gather(step.model:fitted()[1]), step.model[1].coefficients
  local off, size = 0, 0
  for i = 1, n do
    local f = 0
    for j = 1, 40 do
      local c, square = step.model.centers[j], 0
      for l = 1, 3 do square = square + (x(i, l) - x(c, l)) ^ 2 end
      f = f + math.exp(-square / 8) * alpha(j, 1)
    end
    off, size = off + (kept(i, 1) - f) ^ 2, size + targets(i, 1) ^ 2
  end
  close(step.precision_loss[1], math.sqrt(off / size), 1e-3, "loss")
end)

test("settings are checked at the door", function()
  local not_a_number, huge = 0 / 0, math.huge
  for _, name in ipairs(algorithms) do
    local function refused(given, ...) fails(function() steps(name, given) end, name, ...) end
    for _, value in ipairs{ -1, 0, not_a_number, huge, "a", { 1, -1 }, { 1, "x" }, 1e300, 1.1e10 } do
      refused({ lambda = value }, "option lambda:", "numbers > 0 and at most 1e+10 expected")
    end
    refused({ lambda = {} }, "option lambda:", "at least one")
    for _, value in ipairs{ 0, -1, 1.5, not_a_number, huge, 1e300, "x" } do
      refused({ b = value }, "option b", "whole number")
      refused({ epochs = value }, "epochs", "whole number")
    end
    refused({ b = n + 1 }, "b = 61", "larger")
    for _, value in ipairs{ -1, not_a_number, "x" } do refused({ tol = value }, "tol", ">= 0") end
    for _, value in ipairs{ -1, 0.5, not_a_number } do refused({ seed = value }, "seed", "whole number") end
    refused({ partition = "new" }, "partition", "fresh")
    refused({ jitter = 1 }, "jitter", "true or false")
    refused({ blocks = 3 }, "blocks", "known")
    fails(function() steps(name, {}, X, Matrix.full(X.local_n, 1, not_a_number)) end, name, "NaN")
    fails(function() steps(name, {}, X, Matrix.zeros(X.local_n + 1, 1)) end, name, "rows")
    fails(function() steps(name, {}, X, Matrix.zeros(X.local_n, 0)) end, name, "no columns")
    fails(function() steps(name, { test = DataSet(Matrix.zeros(9, 7)) }) end, "option test", "3 numbers", "7")
  end
  for _, value in ipairs{ 0, -2, 1.5, not_a_number, huge } do
    fails(function() steps("nystrom", { p = value, b = 1 }) end, "nystrom")
    fails(function() kbcd.features.fourier{ kernel = rbf, p = value } end, "p")
  end
  fails(function() steps("nystrom", { p = n + 1 }) end, "p = 61", "n = 60")
  fails(function() steps("nystrom", { gamma = -1 }) end, "gamma", ">= 0")
  for _, value in ipairs{ 0, -2, not_a_number, huge, "x" } do
    for _, name in ipairs{ "rbf", "laplacian", "matern" } do
      fails(function() kbcd.kernel[name]{ sigma = value } end, name, "sigma")
    end
    fails(function() kbcd.kernel.rbf{ gamma = value } end, "gamma")
  end
end)

test("a run that cannot fit into memory is refused with the numbers", function()
  local available = runtime.memory.available
  for _, name in ipairs(algorithms) do
    runtime.memory.available = function() return 1e4 end
    local good, message = pcall(steps, name, { lambda = { 1e-3, 1e-4 } })
    runtime.memory.available = available
    equal(good, false, name)
    for _, text in ipairs{ name .. " needs", "MB", "models and residuals", "20x20", "is free", "smaller" } do
      assert(message:find(text, 1, true), text .. " expected in: " .. message)
    end
  end
end)

test("where memory is free, but not for all blocks, they use less, and that is reported", function()
  local available, budget = runtime.memory.available, kbcd.memory_budget()
  kbcd.memory_budget("1G")
  local job = { columns = 1, count = 5000, distributed = 1, replicated = 0, bytes = 0, systems = 1 }
  local o = { b = 20, lambda = lambda_of({ 1e-3 }, 1), partition = "fixed", epochs = 2, keep = "exact" }
  local function budget_with(blocks_bytes)  -- 5000 x 5000 in f32 are 100 MB; a model and a system with its factor are beside
    runtime.memory.available = function()
      return (blocks_bytes + 5000 * 8 + 20 ^ 2 * 8 * 2) * runtime.job.node_ranks()
    end
    local told = told_by(function() memory_check("a run", { local_n = 5000, dtype = "f32" }, o, job) end)
    runtime.memory.available = available
    local left = kbcd.memory_budget()
    kbcd.memory_budget("1G")
    return left, told
  end
  local left, told = budget_with(80e6)
  equal(left, 80e6)
  assert(rank > 0 or told:find("blocks may take 80 MB on each rank", 1, true), told)
  left, told = budget_with(100e6)
  equal(left, 2 ^ 30)
  equal(told, "")
  kbcd.memory_budget(budget)
end)

kbcd.barrier()
if rank == 0 then os.remove(path) end
spec.finish()
