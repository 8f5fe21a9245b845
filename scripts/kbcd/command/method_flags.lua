-- method_flags(parser, algorithms [, several]): the flags of methods, from the options that they declare. An option that
-- several methods have is one flag. If the name is already taken (nystrom's gamma by the kernels'), or another command has a
-- flag of that name, the flag begins with the method's name: --nystrom-gamma. several: a set of options that take several
-- values with commas between ({ p = true }).
--
--     flags.require(parser, o, algorithm)   refuses a run in which an option that must be given is missing
--     flags.check(parser, o, algorithm)     the same, and refuses flags that the chosen method does not have
--     flags.fits(o, algorithm)              whether the method has all flags that were given
--     flags.given(o, algorithm)             its options that were given, by name
--     flags.words(o, algorithm)             the same as a list of { flag, value }, with those of kernel and map

local types = require "kbcd.command.argument_types"
local kernel_flags = require "kbcd.command.kernel_flags"
local map_flags = require "kbcd.command.map_flags"
local sorted_keys = require "kbcd.support.sorted_keys"

local convert = { count = types.count, counts = types.counts, number = types.number, positive = types.positive, not_negative =
  types.not_negative, whole = types.seed, lambda = types.lambdas, text = function(text) return text end }
local lists = { count = types.counts, positive = types.positives }
local chosen = {}  -- for the data, unless given
for _, name in ipairs{ "b", "epochs", "patience", "partition", "lambda", "p" } do chosen[name] = true end
-- Flags that only some of the commands have: a method's flag has the same name in all of them.
local reserved = {}
for _, name in ipairs{ "model", "log", "start", "with", "resume", "checkpoint_every", "checkpoint_blocks", "quiet", "random",
  "folds", "output", "title", "method", "methods", "preprocess", "effort", "refit", "no_refit" } do reserved[name] = true end
local hidden = { b = "--block", p = "--features", keep = "--cache" }  -- old spellings

local function has_kind(algorithms, kind)
  for _, algorithm in ipairs(algorithms) do
    for _, entry in pairs(algorithm.schema) do if entry.kind == kind then return true end end
  end
  return false
end

local function contains(list, value)
  for _, other in ipairs(list) do if other == value then return true end end
  return false
end

-- A choice that takes the values of both.
local function widened(entry, other)
  local all = { unpack(entry.choices) }
  for _, value in ipairs(other.choices) do if not contains(all, value) then all[#all + 1] = value end end
  if #all == #entry.choices then return entry end
  return setmetatable({ choices = all, about = #other.choices == #all and other.about or entry.about }, { __index = entry })
end

-- The options of all methods by name: { name, entry, owners }, those of one kind together.
local function merged(algorithms)
  local list, by_name = {}, {}
  for _, algorithm in ipairs(algorithms) do
    local names = {}
    for name, entry in pairs(algorithm.schema) do
      if (convert[entry.kind] or entry.kind == "flag" or entry.kind == "choice") and name ~= "seed" then
        names[#names + 1] = name
      end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      local entry, same = algorithm.schema[name], by_name[name]
      if not same or same.entry.kind ~= entry.kind then
        same = { name = name, entry = entry, owners = {} }
        by_name[name], list[#list + 1] = by_name[name] or same, same
      end
      same.owners[#same.owners + 1] = algorithm
      if entry.kind == "choice" then same.entry = widened(same.entry, entry) end
    end
  end
  return list
end

-- Whether a method that has the flag takes the value: of a choice, it may have fewer than others.
local function takes(flag, owner, value)
  local entry = owner.schema[flag.name]
  return value == nil or not entry or entry.kind ~= "choice" or contains(entry.choices, value)
end

-- The methods whose help lists the flag, or this value of it.
local function owners_text(flag, value)
  local names = {}
  for _, owner in ipairs(flag.owners) do
    local entry = owner.schema[flag.name]
    if not (entry and entry.unlisted) and takes(flag, owner, value) then names[#names + 1] = owner.name end
  end
  return table.concat(names, ", ")
end

-- A flag that is true unless given is --no-NAME; --NAME is taken, too.
local function add_option(parser, flag, option, several)
  local entry = flag.entry
  if entry.kind == "flag" and entry[2] then
    parser:flag(option, flag.help):hidden(true)
    return parser:flag("--no-" .. option:sub(3), flag.help)
  end
  if entry.kind == "flag" then return parser:flag(option, flag.help) end
  local added = parser:option(option, flag.help, nil, several and lists[entry.kind] or convert[entry.kind])
  return entry.kind == "choice" and added:choices(entry.choices) or added
end

local function is_required(name, entry) return entry[2] == nil and not chosen[name] end

-- What happens unless the flag is given, for one of its methods.
local function otherwise(flag, owner)
  local entry = owner.schema[flag.name] or flag.entry  -- p of a map need not be an option of the method
  local default = entry[2]
  if chosen[flag.name] and (not entry.declared or default == nil or default == "regrouped") then
    return "chosen for the data unless given"
  end
  if type(default) == "function" then return "chosen by the data unless given" end
  if type(default) == "number" or type(default) == "string" then return ("%s unless given"):format(default) end
  return is_required(flag.name, entry) and "required" or ""
end

-- The help text of a flag: what it is for, the methods that have it where not all do, and what it is unless given.
local function help_of(flag, algorithms)
  local entry, note = flag.entry, nil
  local text = entry.about ~= "" and entry.about or flag.name
  if entry.kind == "flag" and entry[2] then
    local off = text:match("^false: (.*)")
    text = off or "turn this off: " .. text
  end
  for _, owner in ipairs(flag.owners) do
    local this = otherwise(flag, owner)
    note = (note == nil or note == this) and this or "each method's own unless given"
  end
  local owners, parts = owners_text(flag), {}
  if owners ~= owners_text({ owners = algorithms }) and owners ~= "" then parts[1] = owners end
  if note ~= "" then parts[#parts + 1] = note end
  return text:gsub("^%l", string.upper) .. (#parts > 0 and (" (%s)"):format(table.concat(parts, "; ")) or "") .. "."
end

-- An option that must be given and that no flag can give, or nil.
local function out_of_reach(algorithm)
  for _, name in ipairs(sorted_keys(algorithm.schema)) do
    local entry = algorithm.schema[name]
    local made = convert[entry.kind] or entry.kind == "flag" or entry.kind == "choice" or entry.kind == "seed" or
      entry.kind == "kernel" or entry.kind == "map"
    if entry[2] == nil and not made then return name, entry.kind end
  end
end

return function(parser, algorithms, several, except)
  local with_map = has_kind(algorithms, "map")
  local with_kernel = with_map or has_kind(algorithms, "kernel")
  if with_kernel then kernel_flags.add(parser, except) end
  if with_map then map_flags.add(parser) end
  local all = merged(algorithms)
  if with_map then  -- p of a map is p of a method
    local p
    for _, flag in ipairs(all) do if flag.name == "p" then p = flag end end
    if not p then
      p = { name = "p", owners = {}, entry = { kind = "count", about = "the number of features" } }
      all[#all + 1] = p
    end
    local centers = false
    for _, owner in ipairs(p.owners) do centers = centers or not has_kind({ owner }, "map") end
    if centers then p.entry = { kind = "count", about = "the number of centres, or of features" } end
    for _, algorithm in ipairs(algorithms) do
      if has_kind({ algorithm }, "map") and not algorithm.schema.p then p.owners[#p.owners + 1] = algorithm end
    end
  end
  for _, flag in ipairs(all) do
    local plain = "--" .. flag.name:gsub("_", "-")
    local taken = parser:has(plain) or reserved[flag.name]
    flag.flag = taken and ("--%s-%s"):format(flag.owners[1].name:gsub("_", "-"), flag.name:gsub("_", "-")) or plain
    flag.key, flag.help = flag.flag:sub(3):gsub("-", "_"), help_of(flag, algorithms)
    local unlisted = owners_text(flag) == ""
    add_option(parser, flag, flag.flag, several and several[flag.name]):hidden(unlisted)
    if hidden[flag.name] and not taken and not parser:has(hidden[flag.name]) then
      add_option(parser, flag, hidden[flag.name], several and several[flag.name]):target(flag.key):hidden(true)
    end
  end

  -- What was given: false for --no-NAME.
  local function value_of(flag, o)
    if flag.entry.kind == "flag" and o["no_" .. flag.key] then return false end
    return o[flag.key]
  end

  local flags = { has_kernel = with_kernel }

  local function owns(flag, algorithm, value)
    return contains(flag.owners, algorithm) and takes(flag, algorithm, value)
  end

  -- The first flag that was given and that the method does not have, or not with this value; and the methods that do.
  local function foreign(o, algorithm)
    for _, flag in ipairs(all) do
      local value = value_of(flag, o)
      if value ~= nil and not owns(flag, algorithm) then return flag.flag, owners_text(flag) end
      if value ~= nil and not owns(flag, algorithm, value) then
        return ("%s %s"):format(flag.flag, value), owners_text(flag, value)
      end
    end
    if o.map ~= nil and not has_kind({ algorithm }, "map") then return "--map", "methods of features" end
  end

  function flags.fits(o, algorithm) return foreign(o, algorithm) == nil end

  function flags.require(p, o, algorithm)
    for _, given in ipairs(all) do
      local entry = owns(given, algorithm) and algorithm.schema[given.name]
      if entry and is_required(given.name, entry) and value_of(given, o) == nil then
        p:error(("%s is missing (%s, an option of %s)"):format(given.flag, entry.about ~= "" and entry.about or entry.kind,
          algorithm.name))
      end
      if given.entry.kind == "flag" and o["no_" .. given.key] and o[given.key] then
        p:error(("%s and --no-%s exclude each other"):format(given.flag, given.flag:sub(3)))
      end
    end
    local name, kind = out_of_reach(algorithm)
    if name then
      p:error(("%s needs the option %s, a value of kind %s, which only a script can give; declare a default for it"):format(
        algorithm.name, name, kind))
    end
  end

  function flags.check(p, o, algorithm)
    local text, owners = foreign(o, algorithm)
    if text then p:error(("%s is for %s, not for %s"):format(text, owners, algorithm.name)) end
    flags.require(p, o, algorithm)
    if with_kernel then kernel_flags.check(p, o) end
    if with_map then map_flags.check(p, o) end
  end

  function flags.given(o, algorithm)
    local given = {}
    for _, flag in ipairs(all) do
      local value = value_of(flag, o)
      if owns(flag, algorithm, value) then given[flag.name] = value end
    end
    return given
  end

  function flags.words(o, algorithm)
    local list = {}
    for _, flag in ipairs(all) do
      local value = owns(flag, algorithm) and value_of(flag, o)
      if value ~= nil and owns(flag, algorithm) then
        local off = flag.entry.kind == "flag" and value == false
        list[#list + 1] = { off and "--no-" .. flag.flag:sub(3) or flag.flag, off or value, flag.name }
      end
    end
    for _, family in ipairs{ with_kernel and kernel_flags or false, has_kind({ algorithm }, "map") and map_flags or false } do
      for _, word in ipairs(family and family.given(o) or {}) do list[#list + 1] = word end
    end
    return list
  end

  return flags
end
