-- read_data(name, options [, d]): kbcd.load for the commands, where file.h5:/dataset names a dataset of an HDF5 file. Given
-- d, formats that leave out zeros (libsvm) are read as rows of d numbers.

local kbcd = require "kbcd"

return function(name, options, d)
  local file, dataset = name:match("^(.+):(/.*)$")
  local o = { path = dataset }
  for key, value in pairs(options or {}) do o[key] = value end
  if d and not dataset then
    o.features = d
    local good, X, y, classes = pcall(kbcd.load, name, o)
    if good then return X, y, classes end
    o.features = nil  -- of no use for this format; what else is wrong shows again
  end
  return kbcd.load(file or name, o)
end
