-- ranks: 1
-- The commands against NumPy, which knows nothing of kbcd: numpy_check.py; and on files that NumPy, SciPy and scikit-learn
-- write: formats_check.py.

local spec = require "spec"

-- A Python that has these modules, if there is one.
local function python_with(modules)
  for _, name in ipairs{ "python3", "/usr/bin/python3" } do
    if os.execute(("%s -c 'import %s' 2>/dev/null"):format(name, modules)) == 0 then return name end
  end
end

local function check(script, modules)
  local interpreter = python_with(modules)
  if not interpreter then return print(("skipped: no Python with %s (package python3-…)"):format(modules)) end
  local command = ("%s %s '%s/tests/scripts/command/%s' 2>&1"):format(spec.outside_mpi(), interpreter,
    os.getenv("KBCD_SOURCE"), script)
  local pipe = io.popen(command .. "; echo status=$?")
  local output = pipe:read("*a")
  pipe:close()
  if not output:match("status=0\n$") then error(output, 0) end
  print((output:gsub("status=0\n", "")))
end

spec.test("models predict what NumPy predicts", function() check("numpy_check.py", "numpy") end)

spec.test("files of NumPy, SciPy and scikit-learn", function() check("formats_check.py", "numpy, scipy, sklearn") end)

spec.finish()
