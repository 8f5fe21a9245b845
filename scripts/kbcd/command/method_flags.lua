-- method_flags(parser, algorithms [, several]): the flags of methods, from the options that they declare. An option that
-- several methods have is one flag. If the name is already taken (nystrom's gamma by the kernels'), the flag begins with
-- the method's name: --nystrom-gamma. several: a set of options that take several values with commas between
-- ({ p = true }).
--
--     flags.check(parser, o, algorithm)     refuses flags that the chosen method does not have
--     flags.fits(o, algorithm)              whether the method has all flags that were given
--     flags.given(o, algorithm)             its options that were given, by name
--     flags.words(o, algorithm)             the same as a list of { flag, value }, with those of kernel and map

local types = require "kbcd.command.argument_types"
local kernel_flags = require "kbcd.command.kernel_flags"
local map_flags = require "kbcd.command.map_flags"

local convert = { count = types.count, number = types.number, positive = types.positive, not_negative = types.not_negative,
  lambda = types.lambdas, text = function(text) return text end }
local lists = { count = types.counts, positive = types.positives }
local chosen = { b = true, epochs = true, partition = true, lambda = true, p = true }  -- for the data, unless given
local hidden = { b = "--block", p = "--features", keep = "--cache" }  -- old spellings

local function has_kind(algorithms, kind)
  for _, algorithm in ipairs(algorithms) do
    for _, entry in pairs(algorithm.schema) do if entry.kind == kind then return true end end
  end
  return false
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
    end
  end
  return list
end

-- The methods whose help lists the flag.
local function owners_text(flag)
  local names = {}
  for _, owner in ipairs(flag.owners) do
    local entry = owner.schema[flag.name]
    if not (entry and entry.unlisted) then names[#names + 1] = owner.name end
  end
  return table.concat(names, ", ")
end

local function add_option(parser, flag, option, several)
  local entry = flag.entry
  if entry.kind == "flag" and entry[2] then return parser:flag("--no-" .. option:sub(3), "Not: " .. flag.help) end
  if entry.kind == "flag" then return parser:flag(option, flag.help) end
  local added = parser:option(option, flag.help, nil, several and lists[entry.kind] or convert[entry.kind])
  return entry.kind == "choice" and added:choices(entry.choices) or added
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
    else
      p.entry = { kind = "count", about = "the number of centres, or of features" }
    end
    for _, algorithm in ipairs(algorithms) do
      if has_kind({ algorithm }, "map") then p.owners[#p.owners + 1] = algorithm end
    end
  end
  for _, flag in ipairs(all) do
    local plain = "--" .. flag.name:gsub("_", "-")
    local taken = parser:has(plain)
    flag.flag = taken and ("--%s-%s"):format(flag.owners[1].name:gsub("_", "-"), flag.name:gsub("_", "-")) or plain
    flag.key = flag.flag:sub(3):gsub("-", "_")
    if flag.entry.kind == "flag" and flag.entry[2] then flag.key, flag.value = "no_" .. flag.key, false end
    local text, default = flag.entry.about ~= "" and flag.entry.about or flag.name, flag.entry[2]
    local shown = (type(default) == "number" or type(default) == "string") and ("; %s unless given"):format(default) or ""
    local declared = false
    for _, owner in ipairs(flag.owners) do declared = declared or owner.declared[flag.name] ~= nil end
    if chosen[flag.name] and (not declared or flag.name == "p" or flag.owners[1].fixed_if_kept) then
      shown = "; chosen for the data unless given"
    end
    local owners = owners_text(flag)
    local of = owners ~= owners_text({ owners = algorithms }) and owners or ""
    local note = (of .. shown):gsub("^; ", "")
    flag.help = text:gsub("^%l", string.upper) .. (note ~= "" and (" (%s)"):format(note) or "") .. "."
    add_option(parser, flag, flag.flag, several and several[flag.name]):hidden(owners == "")
    if hidden[flag.name] and not taken then
      add_option(parser, flag, hidden[flag.name], several and several[flag.name]):target(flag.key):hidden(true)
    end
  end

  local flags = { has_kernel = with_kernel }

  local function owns(flag, algorithm)
    for _, owner in ipairs(flag.owners) do if owner == algorithm then return true end end
    return false
  end

  -- The first flag that was given and that the method does not have.
  local function foreign(o, algorithm)
    for _, flag in ipairs(all) do if o[flag.key] ~= nil and not owns(flag, algorithm) then return flag.flag, flag end end
    if o.map ~= nil and not has_kind({ algorithm }, "map") then return "--map" end
  end

  function flags.fits(o, algorithm) return foreign(o, algorithm) == nil end

  function flags.check(p, o, algorithm)
    local text, flag = foreign(o, algorithm)
    if text then
      p:error(("%s is %s, not for %s"):format(text, flag and "for " .. owners_text(flag) or "for methods of features",
        algorithm.name))
    end
    if with_kernel then kernel_flags.check(p, o) end
    if with_map then map_flags.check(p, o) end
  end

  function flags.given(o, algorithm)
    local given = {}
    for _, flag in ipairs(all) do
      if owns(flag, algorithm) and o[flag.key] ~= nil then
        if flag.value == nil then given[flag.name] = o[flag.key] else given[flag.name] = flag.value end  -- --no-NAME: false
      end
    end
    return given
  end

  function flags.words(o, algorithm)
    local list = {}
    for _, flag in ipairs(all) do
      if owns(flag, algorithm) and o[flag.key] ~= nil then list[#list + 1] = { flag.flag, o[flag.key], flag.name } end
    end
    for _, family in ipairs{ with_kernel and kernel_flags or false, has_kind({ algorithm }, "map") and map_flags or false } do
      for _, word in ipairs(family and family.given(o) or {}) do list[#list + 1] = word end
    end
    return list
  end

  return flags
end
