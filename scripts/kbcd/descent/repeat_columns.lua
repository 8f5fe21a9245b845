-- repeat_columns(A, L): A side by side L times.

local runtime = require "kbcd.runtime"

return function(A, L)
  local copies = {}
  for l = 1, L do copies[l] = A end
  return runtime.Matrix.hcat(copies)
end
