-- kept_blocks(o, make): the blocks of a partition, made when they are first asked for. Those of a fixed partition are kept
-- from epoch to epoch as far as the memory budget goes (o.cache = "f32" or "f16"; not "none"); what does not fit is computed
-- anew each time. Those of a fresh partition go when their step is done.
--
-- make(block, keep) gives the operator of a block, and what else the algorithm wants to keep beside it; `keep` is the option
-- of that name of KernelBlock.

local kbcd = require "kbcd"

return function(o, make)
  -- What earlier runs kept, and nobody holds any more, makes room. Compiled code holds the closures it was compiled for, and
  -- so the blocks of their run.
  jit.flush()
  collectgarbage()
  local fixed, held, blocks = o.partition == "fixed" and o.epochs > 1 and o.cache ~= "none", {}, {}

  function blocks.get(block)
    local entry = held[block.number]
    if not entry then
      entry = { make(block, fixed and o.cache or nil) }
      held[block.number] = entry
    end
    return unpack(entry)
  end

  -- After the step of a block.
  function blocks.done(block)
    if fixed then return end
    held[block.number][1]:release()
    held[block.number] = nil
  end

  -- How many blocks of b columns of X all ranks can hold at once, at most one a rank.
  function blocks.ahead(X, b)
    local bytes = X.local_n * b * (X.dtype == "f32" and 4 or 8)
    local fit = bytes > 0 and math.floor(kbcd.memory_budget() / bytes) - 1 or kbcd.size()
    return math.max(1, kbcd.allreduce_min(math.min(fit, kbcd.size())))
  end

  return blocks
end
