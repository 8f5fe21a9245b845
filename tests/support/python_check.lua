-- python_check: scripts and tests in Python, by a Python that has the modules they need.
--
--     python_check.with(modules)               the name of such a Python, or nil
--     python_check.run(words [, setting])      Python's command line must end with status 0; setting: variables before it
--     python_check.script(name, modules)       the same of a script of tests/scripts/command, skipped without the modules

local spec = require "spec"

local python_check = {}

function python_check.with(modules)
  for _, name in ipairs{ "python3", "/usr/bin/python3" } do
    if os.execute(("%s -c 'import %s' 2>/dev/null"):format(name, modules)) == 0 then return name end
  end
end

function python_check.run(words, setting)
  local pipe = io.popen(("%s %s %s 2>&1; echo status=$?"):format(spec.outside_mpi(), setting or "", words))
  local output = pipe:read("*a")
  pipe:close()
  if not output:match("status=0\n$") then error(output, 0) end
  print((output:gsub("status=0\n", "")))
end

function python_check.script(name, modules)
  local interpreter = python_check.with(modules)
  if not interpreter then return print(("skipped: no Python with %s (packages python3-…)"):format(modules)) end
  python_check.run(("%s '%s/tests/scripts/command/%s'"):format(interpreter, os.getenv("KBCD_SOURCE"), name))
end

return python_check
