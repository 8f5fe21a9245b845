-- ranks: 1
-- The commands on files that NumPy, SciPy and scikit-learn write: formats_check.py.

local spec = require "spec"
local python_check = require "python_check"

spec.test("files of NumPy, SciPy and scikit-learn", function()
  python_check.script("formats_check.py", "numpy, scipy, sklearn")
end)

spec.finish()
