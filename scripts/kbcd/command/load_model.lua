-- load_model(path, with): a model file; `with` is a Lua file that returns its kernel or feature map, where that is written
-- in Lua, or nil.

local kbcd = require "kbcd"
local from_root = require "kbcd.support.from_root"

return function(path, with)
  if not with then return kbcd.model_file.load(path) end
  local chunk, reason = from_root.chunk(with)
  if not chunk then error(("--with %s: %s"):format(with, reason), 0) end
  local supplied = chunk()
  local kind = kbcd.type(supplied)
  if kind ~= "Kernel" and kind ~= "FeatureMap" then
    error(("--with %s: the file must return a kernel or a feature map (kernel.custom{…}, features.custom{…}), got %s"):format(
      with, kind), 0)
  end
  return kbcd.model_file.load(path, { with = supplied })
end
