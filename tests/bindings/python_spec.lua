-- ranks: 1
-- The Python package of bindings/python: every test_*.py in the folder python beside this file, by unittest.

local python_check = require "python_check"
local spec = require "spec"

spec.test("the Python package passes its tests", function()
  local with = python_check.with
  local interpreter = with("numpy, h5py, scipy, sklearn") or with("numpy, h5py") or with("numpy")
  if not interpreter then return print("skipped: no Python with NumPy (package python3-numpy)") end
  local source = os.getenv("KBCD_SOURCE")
  python_check.run(("%s -W error::ResourceWarning -m unittest discover -b -s '%s/tests/bindings/python'"):format(interpreter,
    source), ("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/bindings/python'"):format(source))
end)

spec.finish()
