-- The source of Lua functions. It identifies a kernel or a feature map that is written in Lua, by its parameters and a
-- fingerprint of the source of its function: a model file stores them, and loading it checks that the supplied code is the
-- same. And it identifies an algorithm by its whole file and the modules that this file loads from its own folder, for
-- checkpoints.

local runtime = require "kbcd.runtime"
local from_root = require "kbcd.support.from_root"

local known = setmetatable({}, { __mode = "k" })  -- by the kernel or map: { source, params }

local getinfo, dump = debug.getinfo, string.dump  -- which scripts in the sandbox do not have

-- The lines of a function in its file; its code, where it is of no file. nil if the file cannot be read.
local function text_of(f)
  local where = getinfo(f, "S")
  if where.source:sub(1, 1) ~= "@" then return dump(f, true) end
  local file = io.open(where.source:sub(2))
  if not file then return nil end
  local lines, number = {}, 0
  for line in file:lines() do
    number = number + 1
    if number >= where.linedefined and number <= where.lastlinedefined then lines[#lines + 1] = line end
  end
  file:close()
  return table.concat(lines, "\n")
end

local lua_source = {}

-- A fingerprint of a function's source; nil where it cannot be read.
function lua_source.text(f)
  local good, text = pcall(text_of, f)
  return good and text and runtime.files.checksum(text) or nil
end

local function contents(path)
  if from_root.texts[path] then return from_root.texts[path] end
  local file = io.open(path)
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

-- Adds the modules of this folder that a text loads by require "NAME", and those that they load, to `found`, by name.
local function add_modules(text, folder, found)
  for name in text:gmatch("require%s*%(?%s*[\"']([%w_%.%-]+)[\"']") do
    local path = folder .. name:gsub("%.", "/") .. ".lua"
    local module = not found[name] and contents(path)
    if module then
      found[name] = { path = path, checksum = runtime.files.checksum(module) }
      add_modules(module, folder, found)
    end
  end
end

-- The file that defines a function, { path, checksum }, and the modules that it loads from its own folder, the same by name;
-- nothing for a function of no file, or where it cannot be read.
function lua_source.files(f)
  local good, path, text = pcall(function()
    local file = getinfo(f, "S").source:match("^@(.*)")
    return file, contents(file)
  end)
  if not (good and path and text) then return nil, {} end
  local modules = {}
  add_modules(text, path:match("^(.*/)[^/]*$") or "", modules)
  return { path = path, checksum = runtime.files.checksum(text) }, modules
end

-- Whether a function has this text among its names and strings; true where its code cannot be read.
function lua_source.mentions(f, text)
  local good, code = pcall(dump, f, true)
  return not good or code:find(text, 1, true) ~= nil
end

-- Whether a function takes so many parameters; true where that cannot be known.
function lua_source.takes(f, count)
  local good, about = pcall(getinfo, f, "u")
  return not good or about.nparams == nil or about.isvararg or about.nparams >= count
end

-- The object, remembered with the function that it was made of and its parameters.
function lua_source.remember(object, f, params)
  known[object] = { source = lua_source.text(f), params = params or {} }
  return object
end

-- The fingerprint and the parameters of what is written in Lua; nil for a kernel or map of the library. The file of its
-- function must be readable.
function lua_source.of(object)
  local entry = known[object]
  if not entry then return nil end
  if not entry.source then
    error(("the source of '%s' cannot be read here, and a model file names it by that; in the sandbox, --allow its folder")
      :format(object.name), 0)
  end
  return entry.source, entry.params
end

return lua_source
