-- methods: the algorithms that the commands know: those of kbcd/algorithms in the script path, a file each, by their
-- names, and any file that returns an algorithm, by its path.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local methods = {}

runtime.docs.methods = [[methods
The algorithms that the commands know: by name, a file each in kbcd/algorithms of the script path; or by the path of a
file.]]

runtime.docs["methods.all"] = [[methods.all()
The algorithms that are found by name, sorted.]]
function methods.all()
  local list = {}
  for _, module in ipairs(runtime.library.modules()) do
    local name = module:match("^algorithms%.([%w_%-]+)$")
    if name then list[#list + 1] = require("kbcd.algorithms." .. name) end
  end
  return list
end

-- `require` also finds files beside this one.
local function add_folder(path)
  local place = (path:match("^(.*/)[^/]*$") or "./") .. "?.lua"
  if not (";" .. package.path .. ";"):find(";" .. place .. ";", 1, true) then package.path = place .. ";" .. package.path end
end

local function load_file(path)
  local chunk, reason = loadfile(path)
  if not chunk then error(("--method %s: %s"):format(path, reason), 0) end
  add_folder(path)
  local algorithm = chunk()
  if type(algorithm) ~= "table" or type(algorithm.setup) ~= "function" then
    error(("--method %s: the file must return what kbcd.algorithm(name, options, setup) gives, got %s"):format(path,
      kbcd.type(algorithm)), 0)
  end
  return algorithm
end

runtime.docs["methods.find"] = [[methods.find(name)
An algorithm by its name, or by the path of a Lua file that returns it (with a / or the ending .lua). The beginning of a
name is enough if only one name begins so.]]
function methods.find(name)
  if name:find("/", 1, true) or name:match("%.lua$") then return load_file(name) end
  local names, found = {}, {}
  for i, algorithm in ipairs(methods.all()) do
    names[i] = algorithm.name
    if algorithm.name == name then return algorithm end
    if algorithm.name:sub(1, #name) == name then found[#found + 1] = algorithm end
  end
  if #found == 1 then return found[1] end
  error(("--method %s: one of %s expected, or the path of a file (./mine.lua)"):format(name, table.concat(names, ", ")), 0)
end

runtime.docs["methods.for_rows"] = [[methods.for_rows(n)
The algorithms to choose from for n rows when none is named, the first choice first.]]
function methods.for_rows(n)
  local list = {}
  for _, algorithm in ipairs(methods.all()) do
    if algorithm.up_to and algorithm.up_to >= n then list[#list + 1] = algorithm end
  end
  table.sort(list, function(a, b) return a.up_to < b.up_to end)
  return list
end

return methods
