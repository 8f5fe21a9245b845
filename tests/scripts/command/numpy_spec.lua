-- ranks: 1
-- long
-- The commands against NumPy, which knows nothing of kbcd: numpy_check.py.

local spec = require "spec"
local python_check = require "python_check"

spec.test("models predict what NumPy predicts", function() python_check.script("numpy_check.py", "numpy") end)

spec.finish()
