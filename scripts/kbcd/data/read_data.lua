-- read_data(name, options [, d]): kbcd.load for the commands. FILE:PART names a part of a file (f.h5:/dataset,
-- f.npz:array); the format declares which option PART sets. Given d, formats that omit zeros are read as rows of d numbers.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

-- Whether a file exists and is not a pipe, on which reading would wait.
local function readable(path)
  if not runtime.files.is_file(path) then return false end
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- The file of a name, and the part of it, if the name has one.
local function file_of(name)
  local file, part = name:match("^(.+):([^:]+)$")
  if file and not readable(name) and readable(file) then return file, part end
  return name
end

-- The declaration of the loader that reads a file; nil if there is none, which kbcd.load will report.
local function loader_of(file)
  local good, loader = readable(file), nil
  if good then good, loader = pcall(runtime.loaders.of, file) end
  return good and loader or nil
end

local function read(_, name, options, d)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  local file, part = file_of(name)
  local loader = loader_of(file)
  if part and loader then
    if not loader.part then error(("%s: a %s file has no parts to name behind a colon"):format(name, loader.name), 0) end
    o[loader.part] = part
  end
  if d and loader and loader.columns then o[loader.columns] = d end
  return kbcd.load(file, o)
end

return setmetatable({ file_of = file_of, loader_of = loader_of }, { __call = read })
