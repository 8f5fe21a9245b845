-- The table that `require "kbcd"` returns: the runtime's types and primitives, and the public names of this folder, each
-- loaded when it is first used. The list below and the files of algorithms are all of them; every name has a `help` text.
-- Other files are internal: require "kbcd.FOLDER.FILE" reaches them, and they may change.

local runtime = require "kbcd.runtime"

local folders = {
  descent = { "algorithm", "Model", "options" },
  solvers = { "KernelMatrix", "conjugate_gradients", "conjugate_steps", "leave_one_out", "kernel_gradient" },
  centers = { "centers" },
  losses = { "losses" },
  pipelines = { "pipelines" },
  data = { "labels", "classes", "scoring", "calibration", "preprocess", "training_data", "row_writer", "sum_by",
    "median_distance", "metric", "read_table", "row_weights", "metrics" },
  text = { "gram_matrix", "made_up_reviews", "package_synopses" },
  vision = { "patch_filters" },
  speech = { "speech_corpus", "recordings" },
  files = { "model_file", "checkpoint", "output_file" },
  reports = { "timers", "progress", "run_log", "read_log", "write_report", "line_plot" },
  command = { "arguments", "argument_types", "command", "methods", "choices", "fit" },
  theory = { "rates", "circle_kernels", "circle_problem" },
  repl = { "help", "who", "plot" },
  support = { "sorted_keys", "ordered_pairs" },
}
-- Tables of the runtime that are internal to the library.
local own = { docs = true, terminal = true, job = true, timing = true, memory = true, library = true, files = true,
  signals = true, kernels = true, maps = true, loaders = true, tables = true, pivots = true, gram_rows = true,
  KernelTriangle = true }

local folder_of = {}
for folder, names in pairs(folders) do for _, name in ipairs(names) do folder_of[name] = folder end end
for _, module in ipairs(runtime.library.modules()) do  -- an algorithm is a file
  local name = module:match("^algorithms%.([%w_]+)$")
  if name then folder_of[name] = "algorithms" end
end
runtime.library.public = folder_of

-- Names of types are capitalised, files are not: Model is model.lua, KernelMatrix is kernel_matrix.lua.
local function file_of(name) return (name:gsub("(%l)(%u)", "%1_%2"):lower()) end
runtime.library.file_of = file_of

local function load_module(kbcd, name)
  local folder = folder_of[name]
  if not folder then error(("kbcd has no '%s'; help() lists what there is"):format(tostring(name)), 2) end
  kbcd[name] = require(("kbcd.%s.%s"):format(folder, file_of(name)))
  return kbcd[name]
end

local kbcd = setmetatable({}, { __index = load_module })
for name, value in pairs(runtime) do if not own[name] then kbcd[name] = value end end

local address = runtime.Matrix.ptr
function runtime.Matrix:ptr()
  local good, at, stride = pcall(address, self)
  if not good then error(at, 2) end
  return require("ffi").cast(self.dtype == "f32" and "float*" or "double*", at), stride
end

-- A missing kernel.NAME, features.NAME and the like is an error that lists those that exist.
for family, what in pairs{ kernel = "kernel", features = "feature map", speech = "speech function", text = "text function",
  vision = "vision function" } do
  setmetatable(kbcd[family], { __index = function(all, name)
    local known = {}
    for key in pairs(all) do known[#known + 1] = key end
    table.sort(known)
    error(("there is no %s '%s'; known: %s"):format(what, tostring(name), table.concat(known, ", ")), 2)
  end })
end

-- kernel.custom and features.custom remember the source of their function and `params`, for model files.
for family, of in pairs{ kernel = "kappa", features = "map" } do
  local make = runtime[family].custom
  rawset(runtime[family], "custom", function(given, ...)
    if type(given) ~= "table" then return make(given, ...) end
    local o = {}
    for key, value in pairs(given) do if key ~= "params" then o[key] = value end end
    if given.params ~= nil and type(given.params) ~= "table" then
      error(("%s.custom: option params: a table of numbers expected, got %s"):format(family, type(given.params)), 2)
    end
    local good, object = pcall(make, o, ...)
    if not good then error(object, 2) end
    return require("kbcd.support.lua_source").remember(object, given[of], given.params)
  end)
end

runtime.docs.say = [[say(format, ...)
Prints a line, formatted as by string.format, on rank 0 alone.]]
function kbcd.say(format, ...)
  if runtime.rank() == 0 then
    if runtime.terminal.bar_shown then io.stderr:write("\r\27[K") end  -- progress draws its bar again at the next step
    io.stdout:write(format:format(...), "\n")
    io.stdout:flush()
  end
end

package.loaded.kbcd = kbcd
return kbcd
