-- read_data(name, options [, like]): kbcd.load for the commands. FILE:PART names a part of a file (f.h5:/dataset,
-- f.npz:array); the format declares which option PART sets.
--
-- like: the training rows that the rows must be like, as { d = …, zero_based = … }, or d alone: formats that omit zeros are
-- read as rows of d numbers, and a libsvm file counts its columns from 0 if that of the training rows did, since it need not
-- show which it does. read_data.like(X) and read_data.like_model(model) make it.

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

local function has_option(loader, name)
  for _, param in ipairs(loader.params) do if param.name == name then return true end end
  return false
end

-- The rows that were loaded, unless the file says that it counts its columns in another way than the training rows did.
local function checked(file, zero_based, X, ...)
  local said = (runtime.loaders.settled[X] or {}).said_zero_based
  if said ~= nil and said ~= zero_based then
    local function from(zero) return zero and "0" or "1" end
    error(("%s: its comment says that columns count from %s, those of the training file counted from %s; --option " ..
      "zero_based=true or false decides"):format(file, from(said), from(zero_based)), 0)
  end
  return X, ...
end

local function read(_, name, options, like)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  local file, part = file_of(name)
  local loader = loader_of(file)
  if part and loader then
    if not loader.part then error(("%s: a %s file has no parts to name behind a colon"):format(name, loader.name), 0) end
    o[loader.part] = part
  end
  if type(like) == "number" then like = { d = like } end
  if like and loader and loader.columns then o[loader.columns] = like.d end
  if like and like.zero_based ~= nil and o.zero_based == nil and loader and has_option(loader, "zero_based") then
    o.zero_based = like.zero_based
    return checked(file, like.zero_based, kbcd.load(file, o))
  end
  return kbcd.load(file, o)
end

-- What other rows must be like, for rows that were just loaded or for those of a model.
local function like(X) return { d = X.d, zero_based = (runtime.loaders.settled[X] or {}).zero_based } end

local function like_model(model)
  local zero_based = model.options.zero_based  -- a text, as model files hold it
  return { d = model.d, zero_based = ({ ["true"] = true, ["false"] = false })[tostring(zero_based)] }
end

return setmetatable({ file_of = file_of, loader_of = loader_of, like = like, like_model = like_model }, { __call = read })
