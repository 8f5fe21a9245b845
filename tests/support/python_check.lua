-- python_check(script, modules): runs a script of tests/scripts/command by a Python that has these modules, if there is one;
-- it must end with status 0.

local spec = require "spec"

local function python_with(modules)
  for _, name in ipairs{ "python3", "/usr/bin/python3" } do
    if os.execute(("%s -c 'import %s' 2>/dev/null"):format(name, modules)) == 0 then return name end
  end
end

return function(script, modules)
  local interpreter = python_with(modules)
  if not interpreter then return print(("skipped: no Python with %s (packages python3-…)"):format(modules)) end
  local command = ("%s %s '%s/tests/scripts/command/%s' 2>&1"):format(spec.outside_mpi(), interpreter,
    os.getenv("KBCD_SOURCE"), script)
  local pipe = io.popen(command .. "; echo status=$?")
  local output = pipe:read("*a")
  pipe:close()
  if not output:match("status=0\n$") then error(output, 0) end
  print((output:gsub("status=0\n", "")))
end
