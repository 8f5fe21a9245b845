-- The feature map of a command: --map NAME and a flag for every parameter that a map declares.
--
--     map_flags.add(parser)                          after kernel_flags, which has the shorter names
--     map_flags.check(parser, o)                     refuses a flag that the chosen map does not have
--     map = map_flags.make(o, kernel, p, seed)
--     map_flags.given(o)                             a list of { flag, value }

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local without_places = require "kbcd.support.without_places"
local declared_flags = require "kbcd.command.declared_flags"

local map_flags = {}

local flags = declared_flags{ family = "map", declared = runtime.maps.declared(), otherwise = "fourier" }

map_flags.given = flags.given

function map_flags.add(parser, except) flags.add(parser, "Feature map of random features", except) end

function map_flags.check(parser, o)
  local fault = flags.fault(o)
  if fault then parser:error(fault) end
end

function map_flags.make(o, kernel, p, seed)
  local name, settings = flags.chosen(o).name, flags.values(o)
  settings.kernel, settings.p, settings.seed = kernel, p, seed
  local good, map = pcall(kbcd.features[name], settings)
  if not good then error(("--map %s: %s"):format(name, (without_places(map):gsub("^[%w_.]+: ", "", 1))), 0) end
  return map
end

return map_flags
