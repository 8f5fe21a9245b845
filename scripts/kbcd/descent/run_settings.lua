-- run_settings(owner, o, count, data): what decides the numbers of a run, { name = text }: the algorithm, its options o, and
-- the shapes of its data, { X, Y (this rank's rows) }. On every rank, and in a run that goes on from a checkpoint, they must
-- be the same.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local sorted_keys = require "kbcd.support.sorted_keys"

local run_settings = {}

runtime.docs["run_settings.text"] = [[run_settings.text(value)
A number to its last digit, a list with blanks between, or what else a setting is, as a text.]]
function run_settings.text(value)
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local texts = {}
  for i, part in ipairs(value) do texts[i] = run_settings.text(part) end
  return table.concat(texts, " ")
end

runtime.docs["run_settings.kernel"] = [[run_settings.kernel(kernel)
A kernel's name and parameters, to the last digit.]]
function run_settings.kernel(kernel)
  local params, texts = kernel.params, {}
  for i, name in ipairs(sorted_keys(params)) do texts[i] = name .. " = " .. run_settings.text(params[name]) end
  return ("%s{%s}"):format(kernel.name, table.concat(texts, ", "))
end

runtime.docs["run_settings.values"] = [[run_settings.values(o, d)
Some values of the kernel or of the feature map of options o, on made-up rows of d numbers, as a text: they tell what a name
does not, of functions written in Lua. All ranks call it.]]
function run_settings.values(o, d)
  local few = kbcd.Index.range(1, 4)
  local Z = kbcd.DataSet(kbcd.Matrix.randn(#few, d, { seed = 1 }):scale(1 / math.sqrt(d)))
  local block = o.kernel and kbcd.KernelBlock(Z, few, o.kernel) or
    kbcd.RandomFeaturesBlock(Z, kbcd.Index.range(1, math.min(4, o.map.p)), o.map)
  local texts = {}
  for i, row in ipairs(kbcd.gather(block:dense()):totable()) do
    for j, value in ipairs(row) do row[j] = ("%.9g"):format(value) end  -- the same on any number of ranks
    texts[i] = table.concat(row, " ")
  end
  return table.concat(texts, " ")
end

local function of_run(_, owner, o, count, data)
  local function shape(columns) return ("%d x %d"):format(data.X.n, columns) end
  local settings = { algorithm = owner, count = count, precision = data.X.dtype, ["shape of X"] = shape(data.X.d),
    ["shape of Y"] = shape(data.Y.ncols) }
  for name, value in pairs(o) do
    if name == "kernel" then value = run_settings.kernel(value) end
    if name == "test" and value then value = ("%d x %d %s"):format(value.n, value.d, value.dtype) end
    if name ~= "checkpoint" then settings[name] = run_settings.text(value) end
  end
  return settings
end

return setmetatable(run_settings, { __call = of_run })
