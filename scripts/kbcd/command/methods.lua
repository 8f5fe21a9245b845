-- methods: the algorithms that the commands know: those of kbcd/algorithms in the script path, a file each, by their
-- names, and any file that returns an algorithm, by its path.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local from_root = require "kbcd.support.from_root"

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
  local chunk, reason = from_root.chunk(path)
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

-- What algorithms decide by whether they suit the rows of a DataSet; seconds and bytes are those of all ranks together.
local function case_of(X)
  local memory, rate = kbcd.allreduce(kbcd.memory_budget()), 5e10  -- flop/s of a core, at least
  local work = X.sparse and math.min(X.d, 100) or X.d
  local case = { n = X.n, d = X.d, sparse = X.sparse, memory = memory }
  -- Whether so many kernel values stay in memory, with some to spare; and the seconds that they take to compute.
  function case.fits(values) return values * (X.dtype == "f32" and 4 or 8) < 0.8 * memory end
  function case.seconds(values) return 2 * values * work / (rate * kbcd.allreduce(kbcd.threads())) end
  return case
end

runtime.docs["methods.advised"] = [[methods.advised([X])
The algorithms to choose from for the rows of a DataSet when none is named, the first choice first; and a list of why, a
text each. They are those that declare `suits`, a function(case) that gives a number (the largest is chosen) and the reason:
case.n, case.d, case.sparse, case.memory (bytes for blocks), case.fits(count) (whether so many kernel values stay in memory),
case.seconds(count) (what they take to compute, roughly). Without X, all of them in any order.]]
function methods.advised(X)
  local found, list, reasons, case = {}, {}, {}, X and case_of(X)
  for _, algorithm in ipairs(methods.all()) do
    local number, reason = 0, nil
    if algorithm.suits and case then number, reason = algorithm.suits(case) end
    if algorithm.suits then found[#found + 1] = { algorithm, number, reason } end
  end
  table.sort(found, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1].name < b[1].name end)
  for i, entry in ipairs(found) do list[i], reasons[i] = entry[1], entry[3] end
  return list, reasons
end

return methods
