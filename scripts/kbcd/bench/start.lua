-- start: seconds of whole processes that have little to do: an empty script; and `train` on a small table with kernel, width
-- and λ given, and with nothing given (which searches), beside a Python process that imports scikit-learn and fits the same
-- ridge, where that is installed.

local kbcd = require "kbcd"
local launch = require "kbcd.bench.launch"
local outside_mpi = require "kbcd.support.outside_mpi"
local against = require "kbcd.bench.against"

local ridge = [[
import sys, numpy
from sklearn.kernel_ridge import KernelRidge
t = numpy.loadtxt(sys.argv[1], delimiter=",")
KernelRidge(kernel="rbf", gamma=0.02, alpha=1e-3 * len(t)).fit(t[:, :-1], t[:, -1])
]]

-- Seconds of a command, the middle of so many runs; a failure ends the bench.
local function seconds(rounds, command)
  local list = {}
  for i = 1, rounds do
    local begin = kbcd.now()
    local out, status = launch.output(command .. " 2>&1 >/dev/null")
    list[i] = kbcd.now() - begin
    if status ~= 0 then error(("'%s' ended with status %s: %s"):format(command, tostring(status), out), 0) end
  end
  table.sort(list)
  return list[math.ceil(rounds / 2)]
end

local function write_table(path, n, d)
  local A, file = kbcd.Matrix.randn(n, d, { seed = 1 }), assert(io.open(path, "w"))
  for i = 1, n do
    local cells = {}
    for j = 1, d do cells[j] = ("%.9g"):format(A(i, j)) end
    cells[d + 1] = ("%.9g"):format(math.sin(A(i, 1)) + A(i, 2) * A(i, 3))
    file:write(table.concat(cells, ","), "\n")
  end
  file:close()
end

local function measure(bench)
  -- As from a shell: this process has chosen these for its children, too.
  local path_of_program = launch.output("readlink /proc/$PPID/exe"):match("[^\n]+")
  local program = ("%s -u OPENBLAS_CORETYPE -u GOMP_SPINCOUNT '%s' "):format(outside_mpi(), path_of_program)
  local empty = seconds(2 * bench.repeats + 1, program .. "-e 'print(1)'")
  bench.add{ group = "start", name = "an empty script", value = 1000 * empty, unit = "ms", bar = 50, at_most = true,
    seconds = empty }
  local path, model, s = os.tmpname(), os.tmpname(), bench.sizes.start
  write_table(path, s.n, s.d)
  local function train(flags, rounds)
    return seconds(rounds, ("%strain --data '%s' --label %d --quiet --model '%s' %s"):format(program, path, s.d + 1, model,
      flags))
  end
  local python = against.python()
  local peer = python and seconds(bench.repeats, ("%s -c '%s' '%s'"):format(python, ridge, path))
  local function compare(what, taken, note)
    bench.add{ group = "start", name = ("train, %d x %d, %s"):format(s.n, s.d, what), value = peer and taken / peer or taken,
      unit = peer and "of sklearn's" or "s", bar = peer and 1, at_most = true, seconds = taken,
      note = note .. (peer and (", scikit-learn %.2f s"):format(peer) or "") }
  end
  compare("kernel and lambda given", train("--raw --kernel rbf --gamma 0.02 --lambda 1e-3 --hold-out 0", bench.repeats),
    "the same system")
  compare("nothing given", train("", 1), "a search of scaling, kernel, width, lambda and metric")
  os.remove(path)
  os.remove(model)
end

return function(bench)
  if kbcd.rank() == 0 then measure(bench) end
  kbcd.barrier()
end
