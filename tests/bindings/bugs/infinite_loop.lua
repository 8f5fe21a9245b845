-- Rank 1 never leaves its loop; somebody presses Ctrl-C.
local kbcd = require "kbcd"
kbcd.barrier()
kbcd.say("ready")
if kbcd.rank() == 1 then
  while true do end  -- luacheck: ignore
end
kbcd.allreduce(1)
