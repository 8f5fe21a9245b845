-- read_data(name, options): kbcd.load for the commands, where file.h5:/dataset names a dataset of an HDF5 file.

local kbcd = require "kbcd"

return function(name, options)
  local file, dataset = name:match("^(.+):(/.*)$")
  local o = { path = dataset }
  for key, value in pairs(options or {}) do o[key] = value end
  return kbcd.load(file or name, o)
end
