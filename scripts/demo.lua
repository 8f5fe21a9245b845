-- kbcd demo: `kbcd compare` on Fashion-MNIST as Debian packages it (dataset-fashion-mnist). Options are passed on to
-- compare.

local folder = "/usr/share/datasets/fashion-mnist/"
local defaults = {
  "--x", folder .. "train-images-idx3-ubyte.gz", "--y", folder .. "train-labels-idx1-ubyte.gz",
  "--test-x", folder .. "t10k-images-idx3-ubyte.gz", "--test-y", folder .. "t10k-labels-idx1-ubyte.gz",
  "--sigma", "5", "--lambda", "1e-6", "--jitter", "--title", "Fashion-MNIST",
}
for _, default in ipairs{
  { "--rows", "20000" }, { "--p", "1024,4096" }, { "--b", "2048" }, { "--epochs", "3" }, { "--output", "demo" },
} do
  local given = false
  for _, word in ipairs(arg) do given = given or word == default[1] or default[1] == "--output" and word == "-o" end
  if not given then
    table.insert(defaults, default[1])
    table.insert(defaults, default[2])
  end
end

local words = { [0] = arg[0] }
for _, word in ipairs(defaults) do words[#words + 1] = word end
for _, word in ipairs(arg) do words[#words + 1] = word end
_G.arg = words
dofile(debug.getinfo(1, "S").source:match("^@(.*)demo%.lua$") .. "compare.lua")
