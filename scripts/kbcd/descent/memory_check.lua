-- memory_check(owner, X, o, job): that a run fits into memory, before it starts.
--
-- On each rank, beside the data: `distributed` matrices of this rank's rows and `replicated` ones of `count` rows, all of
-- `columns` columns in f64 (models, residuals, what products make of them); `systems` systems of b x b at a time, each with
-- what it is made of and its factor for each λ; and blocks, which need little and use as much as the memory budget allows.
-- The ranks of a machine share what is free there, or what a cgroup or ulimit leaves of it. If the blocks get less than the
-- budget, a line says so; if the rest does not fit, every rank fails, with the numbers of the rank that is most short.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local least_for_blocks = 64 * 2 ^ 20

local function size(bytes)
  if bytes >= 1e9 then return ("%.3g GB"):format(bytes / 1e9) end
  return ("%.3g MB"):format(bytes / 1e6)
end

-- Bytes of all blocks that a run would keep, or of the one at hand.
local function wanted_by_blocks(X, o, count)
  local kept = o.partition ~= "fresh" and o.epochs > 1 and o.keep ~= "none"
  local bytes = kept and o.keep == "f16" and 2 or X.dtype == "f32" and 4 or 8
  return X.local_n * (kept and count or o.b or count) * bytes / (o.partition == "regrouped" and 2 or 1)
end

return function(owner, X, o, job)
  local test_rows, b = o.test and 2 * o.test.local_n or 0, o.b or 0
  if o.held_out and not rawequal(o.held_out.rows, o.test) then test_rows = test_rows + 2 * o.held_out.rows.local_n end
  local models = (job.distributed * X.local_n + job.replicated * job.count + test_rows) * job.columns * 8 + job.bytes
  local systems = job.systems * b ^ 2 * 8 * (1 + o.lambda.count)
  local wanted = wanted_by_blocks(X, o, job.count)
  local free = runtime.memory.available() / runtime.job.node_ranks()
  local blocks = math.min(wanted, least_for_blocks)
  local lacking = models + systems + blocks - free
  local most = kbcd.allreduce_max(lacking)
  if most > 0 then
    local rank = kbcd.allreduce_min(lacking == most and kbcd.rank() or kbcd.size())
    local text = ("%s needs %s of memory on rank %d beside the data (models and residuals %s, %d system%s of %dx%d with " ..
      "factors %s, blocks at least %s), and %s is free for it; make b, the number of lambdas or that of targets smaller, " ..
      "or use more machines"):format(owner, size(models + systems + blocks), rank, size(models), job.systems,
      job.systems == 1 and "" or "s", b, b, size(systems), size(blocks), size(free))
    error(kbcd.bcast(text, rank), 0)
  end
  local left = free - models - systems
  if kbcd.allreduce_max(math.min(wanted, kbcd.memory_budget()) - left) > 0 then
    left = kbcd.allreduce_min(math.min(left, kbcd.memory_budget()))
    kbcd.memory_budget(math.floor(left))
    if kbcd.rank() == 0 then
      io.stderr:write(("%s: blocks may take %s on each rank, less than --memory: no more is free\n"):format(owner,
        size(left)))
    end
  end
end
