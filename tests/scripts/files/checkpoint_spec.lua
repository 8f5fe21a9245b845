-- long
-- Checkpoints: a run that is stopped anywhere and taken up gives the bits of one that was not, for each method; on another
-- number of ranks the same to rounding. Damaged files are reported and skipped, those of other runs refused.

local kbcd = require "kbcd"
local spec, plain_kernel = require "spec", require "plain_kernel"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, fails = spec.test, spec.equal, spec.fails
local rank = kbcd.rank()

local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
local n, d, lambdas = 403, 5, { 1e-2, 1e-4, 1e-5 }
local data, test_data = Matrix.randn(n, d, { seed = 3 }), Matrix.randn(29, d, { seed = 4 })
local rbf = kbcd.kernel.rbf{ sigma = 1.5 }

local function remove_all()
  kbcd.barrier()
  if rank == 0 then for _, ending in ipairs{ "", ".previous", ".kbcd.part" } do os.remove(path .. ending) end end
  kbcd.barrier()
end
remove_all()

local function data_of(dtype)
  local X = DataSet(data):to(dtype)
  local x = X.rows:to("f64")
  return X, Matrix.hcat{ x:clone():sin():sum(2), x:clone():square():sum(2) }, DataSet(test_data):to(dtype)
end

-- The algorithm's steps; o: options beside the common ones, dtype.
local function run(method, o, checkpoint)
  local X, Y, Xtest = data_of(o.dtype)
  local given = { lambda = o.lambda or lambdas, b = o.b or 70, epochs = 3, seed = 8, test = Xtest, partition = o.partition,
    keep = o.keep, checkpoint = checkpoint }
  if method == "full_kernel" or method == "plain_kernel" then
    given.kernel = rbf
    return (method == "plain_kernel" and plain_kernel or kbcd.full_kernel)(X, Y, given)
  elseif method == "nystrom" then
    given.kernel, given.p, given.gamma, given.jitter = rbf, 260, 1e-3, true
    return kbcd.nystrom(X, Y, given)
  end
  given.map = kbcd.features.fourier{ kernel = rbf, p = 260, seed = 5 }
  return kbcd.random_features(X, Y, given)
end

-- All that a step gives, as a list of numbers and copies of matrices.
local function facts(step)
  local list = {}
  for l, model in ipairs(step.model) do
    list[#list + 1], list[#list + 2] = model.coefficients:clone(), step.test_scores[l]:clone()
    local residual = step.residual or step.residual_before  -- of centres known at the end of an epoch alone
    list[#list + 1], list[#list + 2] = Matrix{ { residual and residual[l] or 0 } }, Matrix{ { step.change[l] } }
    if step.epoch_end then list[#list + 1] = step.model:fitted()[l]:clone() end
  end
  return list
end

local function same_bits(A, B)
  if A.nrows ~= B.nrows or A.ncols ~= B.ncols then return false end
  return A.nrows == 0 or (A - B):abs():max() == 0
end

local function each_fact(step, expected, name, compare)
  for i, fact in ipairs(facts(step)) do
    if not compare(fact, expected[i]) then
      error(("%s: fact %d differs at block %d of epoch %d (rank %d)"):format(name, i, step.block, step.epoch, rank), 2)
    end
  end
end

-- Runs until the checkpoint after `stop` blocks is written, as if killed then.
local function run_until(method, o, stop)
  local steps = run(method, o, kbcd.checkpoint(path, { every = 0 }))
  for _ = 1, stop + 1 do steps() end
end

local cases = {
  { "full_kernel", { dtype = "f64" } }, { "full_kernel", { dtype = "f32", partition = "fixed" } },
  { "full_kernel", { dtype = "f32", keep = "f16", lambda = 1e-3 } },
  { "full_kernel", { dtype = "f32", partition = "fresh" } },
  { "plain_kernel", { dtype = "f32", lambda = 1e-3 } },
  { "plain_kernel", { dtype = "f64", partition = "fixed", keep = "none", lambda = 1e-3 } },
  { "full_kernel", { dtype = "f32", partition = "fixed", keep = "f16", lambda = 1e-3 } },
  { "nystrom", { dtype = "f64" } }, { "nystrom", { dtype = "f32", lambda = 1e-3 } },
  { "nystrom", { dtype = "f32", partition = "fresh" } }, { "nystrom", { dtype = "f32", keep = "f16" } },
  { "random_features", { dtype = "f64", lambda = 1e-3 } }, { "random_features", { dtype = "f32" } },
  { "random_features", { dtype = "f32", partition = "fresh" } }, { "random_features", { dtype = "f32", keep = "none" } },
}

test("a run that is taken up gives the bits of one that was never stopped", function()
  for _, case in ipairs(cases) do
    local method, o = unpack(case)
    local name, expected, blocks = method, {}, 0
    for option, value in pairs(o) do name = ("%s %s=%s"):format(name, option, tostring(value)) end
    for step in run(method, o) do expected[#expected + 1], blocks = facts(step), step.blocks end
    equal(#expected, 3 * blocks, name .. ": steps")
    for _, stop in ipairs{ 1, blocks, blocks + 2, 3 * blocks - 1 } do
      run_until(method, o, stop)
      local c, taken = kbcd.checkpoint(path, { resume = true }), stop
      for step in run(method, o, c) do
        taken = taken + 1
        equal((step.epoch - 1) * blocks + step.block, taken, name .. ": the step")
        each_fact(step, expected[taken], ("%s, stopped after %d blocks"):format(name, stop), same_bits)
      end
      equal(taken, #expected, name .. ": the last step")
      remove_all()
    end
  end
end)

-- From here on one run, stopped after 4 blocks; the checkpoint before is of 3.
local o = { dtype = "f32", partition = "fixed", b = 110 }
local stopped, expected = 4, {}
for step in run("nystrom", o) do expected[#expected + 1] = facts(step) end
run_until("nystrom", o, stopped)

local function contents(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local newest, previous = contents(path), contents(path .. ".previous")

-- What the two files are to be, nil for none.
local function put(as_newest, as_previous)
  remove_all()
  if rank == 0 then
    for name, text in pairs{ [path] = as_newest, [path .. ".previous"] = as_previous } do
      local file = assert(io.open(name, "wb"))
      file:write(text)
      file:close()
    end
  end
  kbcd.barrier()
end

-- Resumes the run, which must be after `block` blocks, and runs it to its end, whose bits must be right.
local function goes_on_after(block, what)
  local c
  local told = spec.told_by(function() c = kbcd.checkpoint(path, { resume = true, every = 1e9 }) end)
  local steps, taken = run("nystrom", o, c), (c.resumed.epoch - 1) * 3 + c.resumed.block
  if block then equal(taken, block, what .. ": blocks done") end
  local last
  for step in steps do taken, last = taken + 1, step end
  equal(taken, #expected, what .. ": blocks")
  each_fact(last, expected[taken], what, same_bits)
  return told
end

test("a damaged checkpoint is reported, and the one before is used", function()
  equal(goes_on_after(stopped, "whole"), "")
  for _, length in ipairs{ 0, 1, 100, 2000, math.floor(#newest / 2), #newest - 1 } do
    put(newest:sub(1, length), previous)
    local told = goes_on_after(stopped - 1, "cut to " .. length)
    if rank == 0 then
      assert(told:find(path, 1, true) and told:find("damaged", 1, true) and told:find(".previous", 1, true), told)
    end
  end
  for at = 5, #newest, math.floor(#newest / 25) do  -- where nothing is stored, a changed byte changes nothing
    local other = string.char((newest:byte(at) + 64) % 256)
    put(newest:sub(1, at - 1) .. other .. newest:sub(at + 1), previous)
    goes_on_after(nil, "byte " .. at)
  end
  put(nil, previous)
  goes_on_after(stopped - 1, "killed between two names")
  put(newest:sub(1, 3000), nil)
  fails(function() kbcd.checkpoint(path, { resume = true }) end, path, "damaged", "no good one", "remove")
  put(newest:sub(1, 3000), previous:sub(1, 3000))
  fails(function() kbcd.checkpoint(path, { resume = true }) end, path .. ":", path .. ".previous:")
  put(nil, nil)
  equal(kbcd.checkpoint(path, { resume = true }).saved_settings, nil, "none")
end)

-- The newest checkpoint with other attributes or numbers, which HDF5 finds sound.
local function rewritten(change_attribute, change_table)
  put(newest, nil)
  if rank == 0 then
    local from, to = kbcd.h5.open(path), kbcd.h5.create(path .. ".part")
    for _, name in ipairs{ "format", "version", "checksum" } do
      to:set("/", name, change_attribute(name, from:get("/", name)))
    end
    to:write_texts("/settings", from:texts("/settings"))
    for _, group in ipairs{ "replicated", "distributed" } do
      to:group("/" .. group)
      for _, name in ipairs(from:members("/" .. group)) do
        local table_path = ("/%s/%s"):format(group, name)
        local A = from:read(table_path, 1, from:shape(table_path)[1])
        change_table(name, A)
        to:append(table_path, A)
      end
    end
    from:close()
    to:close()
    os.rename(path .. ".part", path)
  end
  kbcd.barrier()
end

test("numbers that are sound for HDF5 but not what was saved are noticed", function()
  local function as_it_is(_, value) return value end
  rewritten(as_it_is, function() end)
  goes_on_after(stopped, "rewritten as it was")
  rewritten(as_it_is, function(name, A) if name == "E" then A:set(A.nrows, 1, A(A.nrows, 1) + 1e-12) end end)
  fails(function() kbcd.checkpoint(path, { resume = true }) end, path, "checksum")
  rewritten(function(name, value) return name == "version" and 1 or value end, function() end)
  fails(function() kbcd.checkpoint(path, { resume = true }) end, path, "format version 1", "reads version 2")
  rewritten(function(name, value) return name == "format" and "kbcd model" or value end, function() end)
  fails(function() kbcd.checkpoint(path, { resume = true }) end, path, "no kbcd checkpoint")
end)

test("the checkpoint that was good stays until the next is complete", function()
  put(newest:sub(1, 3000), previous)  -- what is damaged must not take the place of what is good
  local steps
  spec.told_by(function() steps = run("nystrom", o, kbcd.checkpoint(path, { resume = true, every = 0 })) end)
  steps()
  equal(contents(path) ~= newest:sub(1, 3000), true, "the damaged one is replaced")
  equal(contents(path .. ".previous") == previous, true, "the previous one is untouched")
  kbcd.barrier()
  local written = contents(path)
  kbcd.barrier()
  steps()
  equal(contents(path .. ".previous") == written, true, "the next one follows it")
  put(newest, previous)
  fails(function()
    kbcd.output_file.write(path, function(name)
      if rank == 0 then assert(io.open(name, "w")):close() end
      kbcd.barrier()
      error("disk full", 0)
    end, path .. ".previous")
  end, "disk full")
  kbcd.barrier()
  equal(contents(path) == newest and contents(path .. ".previous") == previous, true, "both are there")
  if rank == 0 then equal(io.open(kbcd.output_file.temporary_name(path)), nil, "half a file") end
end)

test("a checkpoint of another run is refused, with what differs", function()
  put(newest, previous)
  local function refused(method, changes, ...)
    local c, other = kbcd.checkpoint(path, { resume = true, settings = changes.settings }), {}
    for name, value in pairs(o) do other[name] = value end
    for name, value in pairs(changes) do if name ~= "settings" then other[name] = value end end
    fails(function() run(method, other, c) end, path, "of another run", ...)
  end
  refused("nystrom", { lambda = { 1e-2, 1e-4, 2e-5 } }, "lambda = 0.01", "2.0000000000000002e-05 here")
  refused("nystrom", { b = 111 }, "b = 110 there, 111 here")
  refused("nystrom", { partition = "fresh" }, "partition = fixed there, fresh here")
  refused("random_features", {}, "algorithm = nystrom there, random_features here", "kernel = rbf{")
  refused("nystrom", { settings = { data = DataSet(data):fingerprint() } }, "data = none there")
  local X, Y, Xtest = data_of("f32")
  local given = { kernel = rbf, p = 260, gamma = 1e-3, jitter = true, lambda = lambdas, b = 110, epochs = 3, seed = 8,
    partition = "fixed", checkpoint = kbcd.checkpoint(path, { resume = true }) }
  fails(function() kbcd.nystrom(X, Y, given) end, "fingerprint of test = f32 ", "there, none here")
  given.test, given.kernel = Xtest, kbcd.kernel.rbf{ sigma = 1.5000001 }
  fails(function() kbcd.nystrom(X, Y, given) end, "kernel = rbf{gamma = ", "sigma = 1.5}")
  given.kernel, X, Y = rbf, DataSet(data:rows(1, n - 50)):to("f32"), Y:rows(1, select(2, DataSet.share(n - 50)) -
    DataSet.share(n - 50) + 1)
  fails(function() kbcd.nystrom(X, Y, given) end, "fingerprint of X = f32 ", "fingerprint of Y = f64 ",
    "shape of X = 403 x 5 there, 353 x 5 here")
  fails(function() kbcd.checkpoint(path) end, path, "already", "remove")
  fails(function() kbcd.checkpoint(path, { each = 3 }) end, "each", "data, every, every_blocks, resume, settings")
  fails(function() kbcd.nystrom(X, Y, { kernel = rbf, p = 9, lambda = 1, checkpoint = path }) end, "checkpoint(path, …)")
  fails(function() kbcd.checkpoint("/nowhere/c") end, "/nowhere/c", "cannot be written")
end)

test("a checkpoint of other data, another type or another function is refused, with what differs", function()
  remove_all()
  local X, Y, Xtest = data_of("f64")
  local function begin(given, resume)
    local o2 = { kernel = given.kernel or rbf, lambda = 1e-3, b = 110, epochs = 2, seed = 8, test = given.test or Xtest,
      checkpoint = kbcd.checkpoint(path, { every = 0, resume = resume, data = given.data }) }
    return kbcd.full_kernel(given.X or X, given.Y or Y, o2)
  end
  local function save(given)
    remove_all()
    local steps = begin(given)
    for _ = 1, 3 do steps() end
  end
  local function refused(given, ...) fails(function() begin(given, true) end, path, "of another run", ...) end

  local changed = data:clone()
  changed:set(n, d, changed(n, d) + 1e-15)
  local other = Y:clone()
  if rank == 0 then other:set(1, 1, other(1, 1) + 1e-12) end
  save{}
  begin({}, true)
  refused({ X = DataSet(changed) }, "fingerprint of X = f64 ")
  refused({ Y = other }, "fingerprint of Y = f64 ")
  refused({ X = X:to("f32") }, "precision = f64 there, f32 here")
  refused({ X = X:subset(kbcd.Index.permutation(n, { seed = 2 })) }, "fingerprint of X")
  refused({ test = DataSet(test_data + 1) }, "fingerprint of test = f64 ")

  -- The data as it was read decides, where it is given: what was made of it may differ by rounding.
  save{ data = { read = X } }
  begin({ X = DataSet(changed), data = { read = X } }, true)
  refused({ data = { read = DataSet(changed) } }, "fingerprint of read")
  refused({}, "fingerprint of X = none there", "fingerprint of read = f64 ")

  local function cauchy(width)
    return kbcd.kernel.custom{ name = "cauchy", metric = "sqeuclidean", kappa = function(D)
      return (1 + D:scale(1 / width)):pow(-1)
    end }
  end
  save{ kernel = cauchy(2) }
  begin({ kernel = cauchy(2) }, true)
  refused({ kernel = cauchy(2.0001) }, "values = 1 0.")
end)

test("one job at a time works on a checkpoint", function()
  remove_all()
  local c = kbcd.checkpoint(path)
  local again = ([[require("kbcd").checkpoint("%s", { resume = true })]]):format(path)
  local command = ("%s '%s' -e '%s' 2>&1"):format(spec.outside_mpi(), os.getenv("KBCD"), again)
  local function told()
    local pipe = rank == 0 and io.popen(command)
    local text = pipe and pipe:read("*a") or ""
    if pipe then pipe:close() end
    return kbcd.bcast(text)
  end
  local text = told()
  assert(text:find(path .. ": another job is at work on it", 1, true), text)
  kbcd.checkpoint(path)  -- the same job may
  c:remove()
  equal(told(), "", "after it ended")
end)

test("an algorithm of one's own saves and takes up what it likes", function()
  remove_all()
  local first, last = DataSet.share(n)
  local function begin(resume)
    local state = { distributed = { rows = Matrix.zeros(last - first + 1, 2) },
      replicated = { counter = Matrix.zeros(1, 1) } }
    local c = kbcd.checkpoint(path, { every = 0, resume = resume })
    return state, c, c:take_up({ what = "counting" }, state)
  end
  local state, c, taken = begin(false)
  equal(taken, false)
  for i = first, last do state.distributed.rows:set(i - first + 1, 2, i == 7 and -0.0 or i / 3) end
  state.replicated.counter:set(1, 1, 1 / 3)
  c:keep({ what = "counting" }, state)
  state, c, taken = begin(true)
  equal(taken, true)
  for i = first, last do equal(state.distributed.rows(i - first + 1, 2), i == 7 and 0 or i / 3) end
  if first <= 7 and last >= 7 then equal(1 / state.distributed.rows(8 - first, 2), -math.huge, "the sign of 0") end
  equal(state.replicated.counter(1, 1), 1 / 3)
  c:remove()
  kbcd.together(function() equal(io.open(path), nil, "removed") end)
end)

test("a checkpoint comes after so many blocks, or so many seconds", function()
  local function saves(given, blocks)
    remove_all()
    local c, count = kbcd.checkpoint(path, given), 0
    local save = c.save
    function c.save(...) count = count + 1 return save(...) end
    for _ = 1, blocks do c:keep({}, { replicated = { x = Matrix.zeros(1, 1) } }) end
    return count
  end
  equal(saves({ every_blocks = 3 }, 10), 3, "every 3 blocks")
  equal(saves({ every_blocks = 1 }, 4), 4, "every block")
  equal(saves({ every_blocks = 100, every = 0 }, 4), 4, "by the clock, too")
  equal(saves({ every = 1000 }, 4), 0, "by the clock alone")
  equal(saves({}, 4), 0, "every minute")
  fails(function() kbcd.checkpoint(path, { every_blocks = 0 }) end, "every_blocks", "whole number")
  fails(function() kbcd.checkpoint(path, { every = -1 }) end, "every", ">= 0")
end)

spec.finish()
remove_all()
if rank == 0 then os.remove(path .. ".lock") end
