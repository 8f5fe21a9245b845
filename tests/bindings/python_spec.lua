-- ranks: 1
-- The Python package of bindings/python: every test_*.py in the folder python beside this file, by unittest.

local spec = require "spec"

-- A Python that has these modules, if there is one.
local function python_with(modules)
  for _, name in ipairs{ "python3", "/usr/bin/python3" } do
    if os.execute(("%s -c 'import %s' 2>/dev/null"):format(name, modules)) == 0 then return name end
  end
end

spec.test("the Python package passes its tests", function()
  local interpreter = python_with("numpy, h5py, scipy, sklearn") or python_with("numpy, h5py") or python_with("numpy")
  if not interpreter then return print("skipped: no Python with NumPy (package python3-numpy)") end
  local source = os.getenv("KBCD_SOURCE")
  local command = ("%s PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/bindings/python' %s -W error::ResourceWarning -m unittest " ..
    "discover -b -s '%s/tests/bindings/python' 2>&1"):format(spec.outside_mpi(), source, interpreter, source)
  local pipe = io.popen(command .. "; echo status=$?")
  local output = pipe:read("*a")
  pipe:close()
  if not output:match("status=0\n$") then error(output, 0) end
  print((output:gsub("status=0\n", "")))
end)

spec.finish()
