-- What resume_spec and faults_spec share: training runs of a second or so, long enough to be stopped in.

local kbcd = require "kbcd"
local spec, shell = require "spec", require "shell"
local Matrix = kbcd.Matrix

local resuming = {}

local function write_csv(name, rows, seed)
  local A, lines = Matrix.randn(rows, 4, { seed = seed }), {}
  for i = 1, rows do
    lines[i] = ("%.9g,%.9g,%.9g,%.9g,%d"):format(A(i, 1), A(i, 2), A(i, 3), A(i, 4), A(i, 1) * A(i, 2) > 0 and 1 or 0)
  end
  shell.write(name, table.concat(lines, "\n") .. "\n")
end
write_csv("d.csv", 300, 1)
write_csv("other.csv", 300, 2)

resuming.data = "--threads 1 train --data d.csv --label 5 "
resuming.settings = {
  full_kernel = resuming.data .. "--method full_kernel --sigma 1.3 --b 20 --epochs 30 --lambda 1e-3,1e-4 --quiet ",
  nystrom = resuming.data ..
    "--method nystrom --sigma 1.3 --p 100 --b 10 --epochs 40 --lambda 1e-3,1e-4 --standardize --quiet ",
  random_features = resuming.data ..
    "--method random_features --sigma 1.3 --p 100 --b 10 --epochs 40 --lambda 1e-3 --partition fresh --precision f64 " ..
    "--quiet ",
}

function resuming.coefficients(name)
  local file = kbcd.h5.open(shell.tmp .. "/" .. name)
  local A = file:read("/coefficients", 1, file:shape("/coefficients")[1])
  file:close()
  return A
end

-- The log of a whole run, however often it was stopped.
function resuming.complete_log(name, epochs)
  local cjson, seen, kinds = require "cjson", 0, {}
  for line in shell.read(shell.tmp .. "/" .. name):gmatch("[^\n]+") do
    local entry = cjson.decode(line)
    kinds[entry.type] = (kinds[entry.type] or 0) + 1
    if entry.type == "block" then
      seen = seen + 1
      spec.equal((entry.epoch - 1) * entry.blocks + entry.block, seen, name .. ": the block of line " .. seen + 1)
      if seen == epochs * entry.blocks then kinds.all = true end
    end
  end
  spec.equal(kinds.run == 1 and kinds["end"] == 1 and kinds.all, true, name .. ": a run, all blocks, an end")
end

return resuming
