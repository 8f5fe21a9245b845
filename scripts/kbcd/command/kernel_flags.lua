-- The kernel of a command: --kernel NAME and a flag for every parameter that a kernel declares.
--
--     kernel_flags.add(parser [, except])            except: a set of parameters whose flags the command adds itself
--     kernel_flags.check(parser, o)                  refuses a flag that the chosen kernel does not have
--     kernel, chosen = kernel_flags.make(o, X)       chosen: what was chosen for X, such as { sigma = 5.75 }
--     kernel_flags.width(o)                          the name of the width that is to be chosen, or nil
--     kernel_flags.given(o)                          a list of { flag, value }
--     kernel_flags.set(o, name, params)              as if they had been given
--
-- A width that is neither given nor found by search.lua is half the median distance of pairs of random rows. A width for
-- each column makes a kernel with kernel.widths (help "metric").

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local without_places = require "kbcd.support.without_places"
local declared_flags = require "kbcd.command.declared_flags"

local kernel_flags = {}

local declared = runtime.kernels.declared()
for _, kernel in ipairs(declared) do
  for _, param in ipairs(kernel.params) do
    if param.name == kernel.width then
      param.list, param.help = true, param.help .. ", or one for each column, with commas between"
    end
    if param.name == kernel.width and param.default == nil then
      param.automatic = "searched by train, else half the median distance,"
    end
  end
end
local flags = declared_flags{ family = "kernel", declared = declared, otherwise = "rbf" }

kernel_flags.given, kernel_flags.set = flags.given, flags.set

-- The kernel that is named, and its parameters: { name, params }.
function kernel_flags.named(o) return { name = flags.chosen(o).name, params = flags.values(o) } end

function kernel_flags.add(parser, except) flags.add(parser, "The kernel", except) end

function kernel_flags.check(parser, o)
  local fault = flags.fault(o)
  if fault then parser:error(fault) end
end

-- The width that the chosen kernel has, whether or not it is given.
function kernel_flags.has_width(o) return flags.chosen(o).width end

function kernel_flags.width(o)
  local kernel = flags.chosen(o)
  if not kernel.width then return nil end
  local values = flags.values(o)
  for _, param in ipairs(kernel.params) do
    if param.name == kernel.width and not param.automatic then return nil end
    if (param.name == kernel.width or param.instead_of == kernel.width) and values[param.name] ~= nil then return nil end
  end
  return kernel.width
end

-- Whether the kernel is left to a method that chooses one: its option may be left out, and no flag of a kernel is given.
function kernel_flags.left_to(algorithm, o)
  for _, entry in pairs(algorithm.schema) do
    if entry.kind == "kernel" and entry[2] == false then return #flags.given(o) == 0 end
  end
  return false
end

-- The median distance of pairs of rows, in the metric of the chosen kernel.
function kernel_flags.median_distance(X, o)
  return kbcd.median_distance(X, { seed = o.seed, metric = flags.chosen(o).metric == "manhattan" and "manhattan" or nil })
end

-- X may be left out where no width is to be chosen.
function kernel_flags.make(o, X)
  local name, values, chosen = flags.chosen(o).name, flags.values(o), {}
  local width = kernel_flags.width(o)
  if width and X then
    chosen[width] = kernel_flags.median_distance(X, o) / 2
    values[width] = chosen[width]
  end
  local good, kernel = pcall(kbcd.kernel[name], values)
  if not good then error(("--kernel %s: %s"):format(name, (without_places(kernel):gsub("^[%w_.]+: ", "", 1))), 0) end
  return kernel, chosen
end

return kernel_flags
