-- targets(owner, X, Y): the targets of an algorithm, as this rank's rows in f64, after checks that X and Y have the same
-- rows. Y is a Matrix of this rank's rows (from one_vs_all, say) or a DataSet of real targets.

local runtime = require "kbcd.runtime"

return function(owner, X, Y)
  if runtime.type(X) ~= "DataSet" then
    error(("%s: X: a DataSet expected, got %s; DataSet(A) makes one of a Matrix"):format(owner, runtime.type(X)), 3)
  end
  if runtime.type(Y) == "DataSet" then
    if Y.n ~= X.n then error(("%s: X has %d rows, Y has %d"):format(owner, X.n, Y.n), 3) end
    Y = Y.rows
  elseif runtime.type(Y) ~= "Matrix" then
    error(("%s: Y: a Matrix or a DataSet expected, got %s"):format(owner, runtime.type(Y)), 3)
  end
  if Y.nrows ~= X.local_n then
    error(("%s: Y must have this rank's %d of the %d rows, got %d"):format(owner, X.local_n, X.n, Y.nrows), 3)
  end
  if Y.ncols == 0 then error(("%s: Y has no columns"):format(owner), 3) end
  if not Y:finite() then error(("%s: Y has NaN or Inf in it"):format(owner), 3) end
  return Y:to("f64")
end
