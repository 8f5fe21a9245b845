-- ranks: 1 2
-- alone
-- Epochs of all methods for KBCD_SOAK seconds (default: 4): blocks kept and streamed, test rows, checkpoints, models
-- written and read. Resident memory must stay flat: once the first half of the time is over, it grows by no more than
-- the 2% and 4 MB that the allocator's own habits take, and matrices are as many as before.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, DataSet = kbcd.Matrix, kbcd.DataSet

local seconds, MB = tonumber(os.getenv("KBCD_SOAK") or 4), 2 ^ 20
local folder = kbcd.bcast(kbcd.rank() == 0 and io.popen("mktemp -d"):read("*l") or "")

-- Memory of this rank: resident, by the system's account, and in live matrices, by ours.
local function memory()
  collectgarbage()
  collectgarbage()
  local file = assert(io.open("/proc/self/statm"))
  local _, pages = file:read("*n", "*n")
  file:close()
  return pages * 4096, kbcd.memory_in_use()
end

local n, d = 400, 8
local X, Y = DataSet(Matrix.randn(n, d, { seed = 1, dtype = "f32" })), DataSet(Matrix.randn(n, 3, { seed = 2 }))
local Xtest = DataSet(Matrix.randn(57, d, { seed = 3, dtype = "f32" }))
local kernel = kbcd.kernel.rbf{ sigma = 2 }

-- One run of each method; their sizes change from round to round and come again.
local function epochs(round)
  local b, keep = 40 + 10 * (round % 5), ({ "exact", "f16", "none" })[round % 3 + 1]
  kbcd.memory_budget(round % 2 == 0 and "64M" or "200K")
  local path = folder .. "/soak.checkpoint"
  local function options(more)
    local o = { lambda = { 1e-3, 1e-4 }, epochs = 2, keep = keep, test = Xtest }
    if not more.iterates then o.b, o.partition = b, "fixed" end
    more.iterates = nil
    for name, value in pairs(more) do o[name] = value end
    o.checkpoint = kbcd.checkpoint(path, { every = 0.5 })
    return o
  end
  local runs = {
    function() return kbcd.full_kernel, options{ kernel = kernel } end,
    function() return kbcd.nystrom, options{ kernel = kernel, p = 100, gamma = 0.01 } end,
    function() return kbcd.falkon, options{ kernel = kernel, p = b, iterates = true } end,
    function() return kbcd.random_features, options{ map = kbcd.features.fourier{ kernel = kernel, p = 100 } } end,
  }
  for _, make in ipairs(runs) do
    local algorithm, o = make()
    local last
    for step in algorithm(X, Y, o) do last = step end
    o.checkpoint:remove()
    local scores = last.model[1]:predict(Xtest)
    assert(scores:finite())
  end
  local file = kbcd.h5.create(("%s/%d.h5"):format(folder, kbcd.rank()))
  file:append("/rows", X.rows:to("f64"))
  file:close()
  file = kbcd.h5.open(file.path)
  file:read("/rows", 1, X.rows.nrows)
  file:close()
  pcall(kbcd.load, folder .. "/missing.csv")  -- errors must leak nothing, either
end

spec.test(("memory stays flat for %g seconds"):format(seconds), function()
  local rounds, resident, live = 0, nil, nil
  local last_resident, last_live
  local start, cycle = kbcd.now(), 30  -- rounds after which all sizes were there
  local function elapsed() return kbcd.allreduce_max(kbcd.now() - start) end  -- one clock: the ranks leave the loop together
  while rounds < 3 * cycle or elapsed() < seconds do
    epochs(rounds)
    rounds = rounds + 1
    if rounds % cycle == 0 then
      last_resident, last_live = memory()
      local half = rounds >= 2 * cycle and elapsed() >= seconds / 2
      if half and not resident then resident, live = last_resident, last_live end
    end
  end
  resident, live = resident or last_resident, live or last_live
  kbcd.say("%d rounds of four methods in %.0f s: resident %.1f MB at half time, %.1f MB at the end; live %.1f and %.1f MB",
    rounds, elapsed(), resident / MB, last_resident / MB, live / MB, last_live / MB)
  if last_resident > 1.02 * resident + 4 * MB or last_live > live then
    error(("rank %d: memory grew from %.1f MB to %.1f MB (matrices: %d to %d bytes) in the second half of %d rounds"):format(
      kbcd.rank(), resident / MB, last_resident / MB, live, last_live, rounds), 0)
  end
end)

kbcd.barrier()
if kbcd.rank() == 0 then os.execute("rm -rf '" .. folder .. "'") end
spec.finish()
