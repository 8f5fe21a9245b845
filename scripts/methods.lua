-- kbcd methods: the algorithms that `train`, `tune` and `compare` know by name, a line each; with a name or a file, its
-- options.

local kbcd = require "kbcd"

local parser = kbcd.arguments("methods", "Lists the algorithms; with a name or a file, shows the options of one.")
parser:argument("method", "A name, or a file that returns an algorithm."):args("?")
local o = parser:parse(arg)

-- What it does, without a title that is its name.
local function about(algorithm)
  local title, text = algorithm.about:match("^([^:]+):%s*(.*)$")
  return title == algorithm.name and text or algorithm.about
end

local function show_options(algorithm)
  kbcd.say("%s: %s", algorithm.name, about(algorithm))
  for _, name in ipairs(kbcd.sorted_keys(algorithm.schema)) do
    local entry = algorithm.schema[name]
    local default = entry[2]
    local text = type(default) == "function" and "chosen by the data" or tostring(default)
    if entry.kind and not entry.unlisted then
      kbcd.say("  %-12s %s%s", name, entry.about ~= "" and entry.about or entry.kind,
        default == nil and "" or default == false and entry.kind ~= "flag" and "" or (" (%s)"):format(text))
    end
  end
end

kbcd.command("methods", function()
  if o.method then return show_options(kbcd.methods.find(o.method)) end
  for _, algorithm in ipairs(kbcd.methods.all()) do kbcd.say("%-16s %s", algorithm.name, about(algorithm)) end
end)
