-- run_settings(run): what decides the numbers of a run, { name = text }: the algorithm, its options, and the shapes of its
-- data. On every rank, and in a run that resumes from a checkpoint, they must be the same.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local sorted_keys = require "kbcd.support.sorted_keys"

local run_settings = {}

-- A setting as a text: a number to its last digit, a list with blanks between, or any other value.
function run_settings.text(value)
  if type(value) == "number" then return ("%.17g"):format(value) end
  local kind = kbcd.type(value)
  if kind == "Kernel" then return run_settings.kernel(value) end
  if kind == "DataSet" then return ("%d x %d %s"):format(value.n, value.d, value.dtype) end
  if kind == "Index" then
    return ("%d rows, %s"):format(#value, runtime.files.checksum(table.concat(value:totable(), " ")))
  end
  if kind == "Matrix" then return ("%d columns"):format(value.ncols) end
  if kind == "function" then return "a function" end
  if kind ~= "table" then return tostring(value) end
  if value.values then return run_settings.text(value.values) end  -- a lambda
  if value.predict or value.prox then return tostring(value) end  -- a model, or a loss
  local texts = {}
  for i, part in ipairs(value) do texts[i] = run_settings.text(part) end
  return table.concat(texts, " ")
end

-- A kernel's name and parameters, to the last digit.
function run_settings.kernel(kernel)
  local params, texts = kernel.params, {}
  for i, name in ipairs(sorted_keys(params)) do texts[i] = name .. " = " .. run_settings.text(params[name]) end
  return ("%s{%s}"):format(kernel.name, table.concat(texts, ", "))
end

-- Some values of a model's kernel or feature map, on made-up rows, as a text: they detect changes of functions written
-- in Lua, which a name does not. All ranks call it.
function run_settings.values(model)
  local few, d = kbcd.Index.range(1, 4), model.X.d
  local Z = kbcd.DataSet(kbcd.Matrix.randn(#few, d, { seed = 1 }):scale(1 / math.sqrt(d)))
  local block = model.kernel and kbcd.KernelBlock(Z, few, model.kernel) or
    kbcd.RandomFeaturesBlock(Z, kbcd.Index.range(1, math.min(4, model.map.p)), model.map)
  local texts = {}
  for i, row in ipairs(kbcd.gather(block:dense()):totable()) do
    for j, value in ipairs(row) do row[j] = ("%.9g"):format(value) end  -- the same on any number of ranks
    texts[i] = table.concat(row, " ")
  end
  return table.concat(texts, " ")
end

-- The files that define the algorithm, { path, checksum }, by the names of their settings.
function run_settings.sources(run)
  local files = { ["source of the algorithm"] = run.sources.file }
  for name, file in pairs(run.sources.modules) do files["source of the module " .. name] = file end
  return files
end

local decides_nothing = { checkpoint = true, log = true, score = true, error_unit = true }

local function of_run(_, run)
  local X = run.X
  local function shape(columns) return ("%d x %d"):format(X.n, columns) end
  local settings = { algorithm = run.owner, count = run.model.count, precision = X.dtype, ["shape of X"] = shape(X.d),
    ["shape of Y"] = shape(run.Y.ncols) }
  for name, file in pairs(run_settings.sources(run)) do settings[name] = file.checksum or "unknown" end
  for name, value in pairs(run.o) do
    if name == "held_out" and value then value = value.rows end
    if not decides_nothing[name] then settings[name] = run_settings.text(value) end
  end
  return settings
end

return setmetatable(run_settings, { __call = of_run })
