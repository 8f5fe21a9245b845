-- centers.NAME(X, p, kernel [, options]): which p rows of X to take as centres. Each way is a file of this folder.

local runtime = require "kbcd.runtime"

runtime.docs.centers = [[centers.NAME(X, p, kernel [, options])
p distinct rows of X to serve as centres, as an Index: the same on every rank and, up to rounding, on any number of ranks. All
ranks call it. NAME: uniform, rpcholesky (randomly pivoted Cholesky), leverage (ridge leverage scores, by BLESS), kmeanspp
(the seeds of k-means++); a file NAME.lua in kbcd/centers of the script path adds one. options: seed, and each one's own
(help "centers.rpcholesky").]]

-- The ways, sorted.
local function names()
  local list = {}
  for _, module in ipairs(runtime.library.modules()) do
    local name = module:match("^centers%.([%w_]+)$")
    if name and name ~= "centers" then list[#list + 1] = name end
  end
  return list
end

local centers = {}
for _, name in ipairs(names()) do centers[name] = require("kbcd.centers." .. name) end

return setmetatable(centers, { __index = function(_, name)
  error(("unknown method '%s' to choose centres; known: %s"):format(tostring(name), table.concat(names(), ", ")), 2)
end })
