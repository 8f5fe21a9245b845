-- read_data(name, options [, d]): kbcd.load for the commands, where f.h5:/dataset and f.npz:array name a part of a file.
-- Given d, formats that leave out zeros (libsvm) are read as rows of d numbers.

local kbcd = require "kbcd"

local function begins_with(path, magic)
  local file = io.open(path, "rb")
  local start = file and file:read(#magic)
  if file then file:close() end
  return start == magic
end

return function(name, options, d)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  local file, part = name:match("^(.+):([^:]+)$")
  if file and not begins_with(name, "") and begins_with(file, "") then
    o[begins_with(file, "PK") and "member" or "path"] = part
    return kbcd.load(file, o)
  end
  if d then
    o.features = d
    local good, X, y, classes = pcall(kbcd.load, name, o)
    if good then return X, y, classes end
    o.features = nil  -- of no use for this format; what else is wrong shows again
  end
  return kbcd.load(name, o)
end
