-- outside_mpi(): the `env …` command that starts a program outside of this MPI job.

local runtime = require "kbcd.runtime"

runtime.docs.outside_mpi = [[outside_mpi()
The beginning of a shell command (env -u …) for a program that must not join this MPI job.]]

return function()
  local command, environment = { "env" }, assert(io.popen("env"))
  for name in environment:read("*a"):gmatch("([%w_]+)=[^\n]*\n") do
    local of_mpi = name:match("^OMPI_") or name:match("^PMIX_") or name:match("^PMI_")
    if of_mpi and not name:match("^OMPI_ALLOW_RUN_AS_ROOT") then command[#command + 1] = "-u " .. name end
  end
  environment:close()
  return table.concat(command, " ")
end
