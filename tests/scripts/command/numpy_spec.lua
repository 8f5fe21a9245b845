-- ranks: 1
-- The commands against NumPy, which knows nothing of kbcd: numpy_check.py.

local spec = require "spec"

-- A Python that has NumPy, if there is one.
local function python()
  for _, name in ipairs{ "python3", "/usr/bin/python3" } do
    if os.execute(name .. " -c 'import numpy' 2>/dev/null") == 0 then return name end
  end
end

spec.test("models predict what NumPy predicts", function()
  local interpreter = python()
  if not interpreter then return print("skipped: no Python with NumPy (package python3-numpy)") end
  local command = ("%s %s '%s/tests/scripts/command/numpy_check.py' 2>&1"):format(spec.outside_mpi(), interpreter,
    os.getenv("KBCD_SOURCE"))
  local pipe = io.popen(command .. "; echo status=$?")
  local output = pipe:read("*a")
  pipe:close()
  if not output:match("status=0\n$") then error(output, 0) end
  print((output:gsub("status=0\n", "")))
end)

spec.finish()
