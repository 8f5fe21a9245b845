-- progress(steps): the same steps, with a bar on the terminal: epoch, block, the error you put into step.error, time left.
-- Drawn on rank 0 alone, and not at all when standard error is no terminal.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

runtime.docs.progress = [[progress(steps)
Wraps an algorithm's iterator and shows a bar on the terminal: for step in progress(nystrom(X, Y, o)) do … end.
Set step.error in the loop to show it.]]

local width = 28

local function clock(seconds)
  return ("%d:%02d"):format(math.floor(seconds / 60), math.floor(seconds % 60))
end

local function draw(step, shown_error)
  local share = (step.epoch - 1 + step.block / step.blocks) / step.epochs
  local full = math.floor(share * width)
  io.stderr:write(("\r[%s%s] epoch %d/%d block %d/%d%s  %s left \27[K"):format(
    ("#"):rep(full), ("."):rep(width - full), step.epoch, step.epochs, step.block, step.blocks,
    shown_error and ("  error %.2f%%"):format(100 * shown_error) or "", clock(step.seconds * (1 / share - 1))))
  io.stderr:flush()
end

return function(steps)
  if kbcd.rank() ~= 0 or not runtime.terminal.person_at_errors() then return steps end
  local step, shown_error
  return function()
    if step then shown_error = step.error or shown_error end
    step = steps()
    runtime.terminal.bar_shown = step ~= nil
    if step then draw(step, shown_error) else io.stderr:write("\r\27[K") end
    return step
  end
end
