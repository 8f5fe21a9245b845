-- Options of loaders on a command line: --option NAME=VALUE, any number of times; and --header for that of CSV files.
--
--     load_flags.add(parser)
--     load_flags.check(parser, o, files)             each option must be one of some of the files' formats
--     options = load_flags.make(o, file)             those that the file's format has, for kbcd.load
--     load_flags.given(o)                            a list of { flag, value }
--
-- A file is named as for read_data (f.h5:/dataset).

local runtime = require "kbcd.runtime"
local parameter_types = require "kbcd.command.parameter_types"
local read_data = require "kbcd.data.read_data"

local load_flags = {}

-- name -> the formats that have it, and a list of the names.
local function known()
  local formats, names = {}, {}
  for _, loader in ipairs(runtime.loaders.declared()) do
    for _, param in ipairs(loader.params) do
      if not formats[param.name] then formats[param.name], names[#names + 1] = {}, param.name end
      table.insert(formats[param.name], loader.name)
    end
  end
  return formats, names
end

local function param_of(file, name)
  local loader = read_data.loader_of((read_data.file_of(file)))
  for _, param in ipairs(loader and loader.params or {}) do if param.name == name then return param end end
end

-- What was given, as a list of { name, value }.
local function all_given(o)
  local list = {}
  for i, option in ipairs(o.option or {}) do list[i] = option end
  if o.header then list[#list + 1] = { name = "header", value = o.header == "yes" and "true" or "false" } end
  return list
end

-- What --header says: true, false, or nil.
function load_flags.header(o)
  local header
  for _, option in ipairs(all_given(o)) do if option.name == "header" then header = option.value == "true" end end
  return header
end

function load_flags.add(parser)
  local formats, names = known()
  for i, name in ipairs(names) do names[i] = ("%s (%s)"):format(name, table.concat(formats[name], ", ")) end
  local text = "An option of the format that the data is in, as often as needed: " .. table.concat(names, ", ") .. "."
  parser:option("--option", text, nil, function(given)
    local name, value = given:match("^([%w_]+)=(.*)$")
    if not name then return nil, ("NAME=VALUE expected, got '%s'"):format(given) end
    if not formats[name] then return nil, ("unknown option '%s'; known: %s"):format(name, table.concat(names, ", ")) end
    return { name = name, value = value }
  end):argname("NAME=VALUE"):count("*")
  parser:flag("--from-root", "Only rank 0's host has the data (of several hosts): it sends the files to the others, which " ..
    "keep them in $TMPDIR or /tmp until the end.")
  parser:option("--header", "Whether the first line of a CSV file names the columns (by its look)."):choices{ "yes", "no" }
end

-- files: a list, or a table by flag as training_arguments.files gives.
function load_flags.check(parser, o, files)
  local formats = known()
  for _, option in ipairs(all_given(o)) do
    local found, fault = false, nil
    for _, file in pairs(files) do
      local param = param_of(file, option.name)
      local value, message = true, nil
      if param then value, message = parameter_types.read(param, option.value) end
      if value == nil then fault = message end
      found = found or param ~= nil
    end
    if fault then parser:error(("--option %s: %s"):format(option.name, fault)) end
    if not found then
      parser:error(("--option %s is for %s files, and none of the files is one"):format(option.name,
        table.concat(formats[option.name], " or ")))
    end
  end
end

function load_flags.make(o, file)
  local options = {}
  for _, option in ipairs(all_given(o)) do
    local param = param_of(file, option.name)
    if param then
      local value, message = parameter_types.read(param, option.value)
      if value == nil then error(("--option %s: %s"):format(option.name, message), 0) end
      options[option.name] = value
    end
  end
  return options
end

function load_flags.given(o)
  local list = {}
  for i, option in ipairs(o.option or {}) do list[i] = { "--option", option.name .. "=" .. option.value } end
  if o.header then list[#list + 1] = { "--header", o.header } end
  return list
end

return load_flags
