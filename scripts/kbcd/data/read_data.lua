-- read_data(name, options [, d]): kbcd.load for the commands, where f.h5:/dataset and f.npz:array name a part of a file.
-- Given d, formats that leave out zeros (libsvm) are read as rows of d numbers.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

-- A file that is there, and no pipe, which would be waited for.
local function begins_with(path, magic)
  if not runtime.files.is_file(path) then return false end
  local file = io.open(path, "rb")
  local start = file and file:read(#magic)
  if file then file:close() end
  return start == magic
end

-- The file that a name is of, and the part of it, if it names one.
local function file_of(name)
  local file, part = name:match("^(.+):([^:]+)$")
  if file and not begins_with(name, "") and begins_with(file, "") then return file, part end
  return name
end

local function read(_, name, options, d)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  local file, part = file_of(name)
  if part then
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

return setmetatable({ file_of = file_of }, { __call = read })
