-- dense(X): X with dense rows: itself unless it is sparse.

local kbcd = require "kbcd"

kbcd.system.docs.dense = [[dense(X)
A DataSet with dense rows: X itself unless its rows are sparse.]]

return function(X)
  local known, sparse = pcall(function() return X.sparse end)
  return known and sparse and X:to_dense() or X
end
