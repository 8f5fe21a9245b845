-- kbcd demo: `kbcd compare` on Fashion-MNIST as Debian packages it (dataset-fashion-mnist). Options are passed on to
-- compare.

local kbcd = require "kbcd"

local folder = "/usr/share/datasets/fashion-mnist/"
local words = { [0] = arg[0],
  "--x", folder .. "train-images-idx3-ubyte.gz", "--y", folder .. "train-labels-idx1-ubyte.gz",
  "--test-x", folder .. "t10k-images-idx3-ubyte.gz", "--test-y", folder .. "t10k-labels-idx1-ubyte.gz",
  "--sigma", "5", "--lambda", "1e-6", "--title", "Fashion-MNIST",
}

-- What was given for an option, or nil.
local function given(option)
  for i, word in ipairs(arg) do
    if word == option then return arg[i + 1] or "" end
    if word:sub(1, #option + 1) == option .. "=" then return word:sub(#option + 2) end
  end
end

-- Whether one of the methods has centres or features. What is wrong with their names, compare reports.
local function has_p()
  local list = given("--methods")
  for name in (list or ""):gmatch("[^,]+") do
    local good, algorithm = pcall(kbcd.methods.find, name)
    for option, entry in pairs(good and algorithm.schema or {}) do
      if option == "p" or entry.kind == "map" then return true end
    end
  end
  return list == nil
end

local function default(option, value)
  if given(option) then return end
  words[#words + 1] = option
  words[#words + 1] = value
end
default("--methods", "full_kernel,nystrom,random_features,falkon")  -- all of them would take many minutes
default("--rows", "20000")
if has_p() then default("--p", "1024,4096") end
if not given("-o") then default("--output", "demo") end

for _, word in ipairs(arg) do words[#words + 1] = word end
_G.arg = words
dofile(debug.getinfo(1, "S").source:match("^@(.*)demo%.lua$") .. "compare.lua")
