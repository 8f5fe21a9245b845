-- kbcd inspect: what a model file, a checkpoint or a log holds, for people (kbcd/reports/describe.lua).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local describe = require "kbcd.reports.describe"

local parser = kbcd.arguments("inspect", "Shows what a model file, a checkpoint (MODEL.checkpoint) or a log (--log) holds.")
parser:argument("file", "The file.")
local o = parser:parse(arg)

local function beginning(path)
  if not runtime.files.is_file(path) then error(path .. ": there is no such file", 0) end
  local file, reason = io.open(path, "rb")
  if not file then error(("%s cannot be read: %s"):format(path, reason), 0) end
  local text, size = file:read(8) or "", file:seek("end")
  file:close()
  return text, size
end

-- What an HDF5 file says that it is.
local function format_of(path)
  local file = kbcd.h5.open(path, true)
  local marked, format = pcall(file.get, file, "/", "format")
  file:close()
  return marked and format
end

local function describer(path, start)
  if start:sub(1, 4) == "\137HDF" then
    local format = format_of(path)
    if format == "kbcd model" then return describe.model end
    if format == "kbcd checkpoint" then return describe.checkpoint end
    error(path .. ": an HDF5 file that is neither a model nor a checkpoint of kbcd", 0)
  end
  if start:sub(1, 1) == "{" then return describe.log end
  error(path .. ": a model file, a checkpoint or a log expected; it is neither HDF5 nor JSON", 0)
end

kbcd.command("inspect", function()
  local start, size = beginning(o.file)
  local lines = describer(o.file, start)(o.file, size)
  for _, line in ipairs(lines) do kbcd.say("%s", (line:gsub("[%z\1-\8\11-\31\127]", "?"))) end
end)
