-- run_table: where the time of a run went, as a table of the timers since their reset: for each primitive its calls, its
-- seconds (least, mean and largest of the ranks), its share of the run's seconds, GFLOP/s of all ranks together and the share
-- of the machine's sgemm, and the megabytes that ranks gave to MPI. Timers nest, so that shares need not add up to 100%.
--
-- An entry of a kernel or feature block of rows of d numbers counts 2d operations; others count those of their products,
-- Grams, factors and solves, without what they do element by element. sgemm is measured by one product on every rank at once,
-- for runs of more than 5 s.
--
--     run_table.lines(seconds, d [, all])    a list of lines; none for runs of less than a second, unless `all`
--
-- All ranks call it.

local kbcd = require "kbcd"

local run_table = {}

local least_run, long_run, least_share, size = 1, 5, 0.005, 1024

-- The counter that says how much a timer's primitive has computed.
local counted = { KernelBlock = "kernel entries", RandomFeaturesBlock = "feature entries" }

-- GFLOP/s of f32 products, all ranks at once.
local function sgemm()
  local A = kbcd.Matrix.randn(size, size, { seed = 1, dtype = "f32" })
  local small = A:block(1, 64, 1, 64):clone()
  small = small * small  -- the first call starts threads
  small:release()
  kbcd.barrier()
  local begin = kbcd.now()
  local product = A * A
  local seconds = kbcd.allreduce_max(kbcd.now() - begin)
  product:release()
  return kbcd.size() * 2 * size ^ 3 / seconds / 1e9
end

local function bytes(amount) return ("%.3g MB"):format(amount / 1e6) end

function run_table.lines(seconds, d, all)
  seconds = kbcd.allreduce_max(seconds)
  if seconds < least_run and not all then return {} end
  local list = kbcd.timers.collect()  -- before sgemm adds to them
  for _, t in ipairs(list) do
    if counted[t.name] then t.operations = 2 * d * kbcd.timers.count(counted[t.name]) end
  end
  local peak, several = (seconds >= long_run or all) and sgemm() or nil, kbcd.size() > 1
  local lines = { ("%-22s %8s %9s %9s %9s %6s %9s%s%s"):format("seconds in", "calls", "min", "mean", "max", "share",
    "GFLOP/s", peak and "  of sgemm" or "", several and "   MB sent" or "") }
  for _, t in ipairs(list) do
    if t.max >= least_share * seconds or all then
      local rate = t.operations > 0 and t.mean > 0 and t.operations / t.mean / 1e9
      local line = ("%-22s %8d %9.3f %9.3f %9.3f %5.1f%% %9s%s%s"):format(t.name, t.calls, t.min, t.mean, t.max,
        100 * t.mean / math.max(seconds, 1e-9), rate and ("%.1f"):format(rate) or "",
        peak and ("%10s"):format(rate and ("%.1f%%"):format(100 * rate / peak) or "") or "",
        several and ("%10s"):format(t.bytes > 0 and ("%.4g"):format(t.bytes / 1e6) or "") or "")
      lines[#lines + 1] = (line:gsub("%s+$", ""))
    end
  end
  local memory = kbcd.memory_peak()
  local least, most = kbcd.allreduce_min(memory), kbcd.allreduce_max(memory)
  lines[#lines + 1] = ("%.1f s in all; largest memory of a rank %s%s%s"):format(seconds,
    kbcd.size() > 1 and bytes(least) .. " to " or "", bytes(most), peak and ("; sgemm %.1f GFLOP/s"):format(peak) or "")
  return lines
end

return run_table
