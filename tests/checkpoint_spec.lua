-- Checkpoints: a run that is stopped anywhere and taken up gives the bits of one that was not, for each method; on another
-- number of ranks the same to rounding. Damaged files are told and passed over, those of other runs refused.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet
local test, equal, fails = spec.test, spec.equal, spec.fails
local rank = kbcd.rank()

local path = kbcd.bcast(rank == 0 and os.tmpname() or "")
local n, d, lambdas = 403, 5, { 1e-2, 1e-4, 1e-5 }
local data, test_data = Matrix.randn(n, d, { seed = 3 }), Matrix.randn(29, d, { seed = 4 })
local rbf = kbcd.kernel.rbf{ sigma = 1.5 }

local function remove_all()
  kbcd.barrier()
  if rank == 0 then for _, ending in ipairs{ "", ".previous", ".part" } do os.remove(path .. ending) end end
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
  local given = { lambdas = o.lambdas or lambdas, b = o.b or 70, epochs = 3, seed = 8, test = Xtest, partition = o.partition,
    cache = o.cache, checkpoint = checkpoint }
  if method == "full" then
    given.kernel, given.form = rbf, o.form
    return kbcd.full_kernel(X, Y, given)
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
    list[#list + 1], list[#list + 2] = Matrix{ { step.residual[l] } }, Matrix{ { step.change[l] } }
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
  { "full", { dtype = "f64" } }, { "full", { dtype = "f32", partition = "fixed" } },
  { "full", { dtype = "f32", form = "plain", lambdas = 1e-3 } },
  { "full", { dtype = "f64", form = "plain", partition = "fixed", cache = "none", lambdas = 1e-3 } },
  { "full", { dtype = "f32", partition = "fixed", cache = "f16", lambdas = 1e-3 } },
  { "nystrom", { dtype = "f64" } }, { "nystrom", { dtype = "f32", lambdas = 1e-3 } },
  { "nystrom", { dtype = "f32", partition = "fresh" } }, { "nystrom", { dtype = "f32", cache = "f16" } },
  { "rf", { dtype = "f64", lambdas = 1e-3 } }, { "rf", { dtype = "f32" } }, { "rf", { dtype = "f32", partition = "fresh" } },
  { "rf", { dtype = "f32", cache = "none" } },
}

test("a run that is taken up gives the bits of one that was never stopped", function()
  for _, case in ipairs(cases) do
    local method, o = unpack(case)
    local name, expected, blocks = method, {}, 0
    for option, value in pairs(o) do name = ("%s %s=%s"):format(name, option, tostring(value)) end
    for step in run(method, o) do expected[#expected + 1], blocks = facts(step), step.blocks end
    equal(#expected, 3 * blocks, name .. ": steps")
    for _, stop in ipairs{ 1, 3, blocks, blocks + 2, 3 * blocks - 1 } do
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

spec.finish()
remove_all()
