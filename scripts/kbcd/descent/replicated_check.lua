-- replicated_check(run, where): that the replicated state of a run, its coefficients included, is the same on every rank.
--
-- The ranks compare checksums. Numbers that each rank computes by itself may differ by rounding, where the machines are not
-- alike; so where checksums differ, each rank compares its numbers with those of rank 0. As for other comparisons of the
-- ranks, --no-check leaves it out.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local tolerance = 1e-6  -- of the norm

local function same(x) return kbcd.allreduce_min(x) == kbcd.allreduce_max(x) end

-- The first digits of a checksum as a number: exact in f64.
local function digest(text) return tonumber(text:sub(1, 13), 16) end

-- By how much A differs from rank 0's, relative to its norm: the largest over the ranks, and the first such rank.
local function difference(A)
  if not (same(A.nrows) and same(A.ncols)) then return math.huge, nil end
  local B = kbcd.bcast(A:clone(), 0)
  local here = (A - B):norm() / math.max(B:norm(), 1e-300)
  if here ~= here then here = math.huge end
  local largest = kbcd.allreduce_max(here)
  return largest, kbcd.allreduce_min(here == largest and kbcd.rank() or kbcd.size())
end

return function(run, where)
  if kbcd.size() == 1 or not runtime.job.checking() then return end
  local states, texts = { ["kbcd coefficients"] = run.state.replicated["kbcd coefficients"] }, {}
  for name, A in pairs(run.state.replicated) do if not name:find("^kbcd ") then states[name] = A end end
  local names = kbcd.sorted_keys(states)
  for i, name in ipairs(names) do
    local A = states[name]
    texts[i] = ("%s %dx%d %s"):format(name, A.nrows, A.ncols, runtime.job.checksum(A))
  end
  if same(digest(runtime.files.checksum(table.concat(texts, "\n")))) then return end
  for _, name in ipairs(names) do
    local largest, rank = difference(states[name])
    if largest > tolerance then
      local how = rank and ("rank %d's differs from rank 0's by %.2g of its norm"):format(rank, largest) or
        "its shape differs"
      error(("%s: replicated state '%s' is not the same on all ranks %s (%s); compute it from what every rank has " ..
        "(allreduce adds the parts of the ranks, bcast sends that of one), or use run.distributed for rows of this rank " ..
        "(%s)"):format(run.owner, (name:gsub("^kbcd ", "")), where, how, run.place), 0)
    end
  end
end
