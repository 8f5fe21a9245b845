-- schema(name, declared, setup): the options of an algorithm as options.read takes them, { name = { check, default, kind,
-- about, choices … } }: those of every algorithm and its own; and the names of its own. What it declares again of the first
-- is another default, text, or fewer choices.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local losses = require "kbcd.descent.loss"
local lua_source = require "kbcd.support.lua_source"
local sorted_keys = require "kbcd.support.sorted_keys"

local partitions = {
  fixed = "blocks that stay", fresh = "new ones each epoch", regrouped = "of kept tiles, others each epoch",
}

-- The options of every algorithm. loss: the name of the default.
local function common(declared, setup, loss)
  local blocks = declared.b ~= false
  local schema = {
    lambda = { options.lambda, kind = "lambda", about = "the regulariser, or several" },
    epochs = { options.count, 1, kind = "count", about = blocks and "passes over the blocks" or "iterations" },
    tol = { options.not_negative, 0, kind = "not_negative", about = "stop when an epoch changes the model by no more" },
    patience = { options.whole, 0, kind = "whole",
      about = "stop after so many epochs in which the held-out error did not improve; 0: never" },
    seed = { options.seed, runtime.seed(), kind = "seed", about = "of everything random" },
    keep = { function(x) return x ~= "f32" and options.one_of("exact", "f16", "none")(x) or nil end, "exact",
      kind = "choice", choices = { "exact", "f16", "none" }, about = "how blocks stay in memory" },
    test = { options.maybe(options.data), false }, score = { options.maybe(options["function"]), false },
    error_unit = { options.positive, 1 },
    held_out = { options.maybe(options.held_out), false },
    log = { function(x)
      return x and type(x) ~= "string" and not (type(x) == "table" and x.path) and "a path, or { path, about }" or nil
    end, false },
    checkpoint = { options.maybe(options.checkpoint), false },
    loss = { function(x) return select(2, losses.read(x)) end, loss, kind = "loss", about = "what is minimised" },
    admm_penalty = { options.maybe(options.positive), false, kind = "positive",
      about = "the strength of ADMM's penalty, for another loss than squared (each has its own)",
      unlisted = loss ~= "squared" },
    metric = { options.maybe(options.matrix), false },
    start = { options.maybe(options.model), false }, targets = { options.maybe(options["function"]), false },
    weights = { function(x)
      local kind = runtime.type(x)
      return x and kind ~= "Matrix" and kind ~= "DataSet" and "a Matrix or a DataSet" or nil
    end, false },
  }
  if blocks then
    schema.b = { options.maybe(options.count), false, kind = "count", about = "block size" }
    local ways = { "fixed", "fresh" }
    if declared.kernel and declared.p == nil then ways[3] = "regrouped" end
    schema.partition = { options.one_of(unpack(ways)), "fixed", kind = "choice", choices = ways, about = "" }
    -- "auto": true where the algorithm has a system.
    schema.jitter = { function(x) return x ~= "auto" and options.flag(x) or nil end, false, kind = "flag",
      about = "add a multiple of I to systems that are not positive definite",
      unlisted = not lua_source.mentions(setup, "system") }
    schema.choose = { options.maybe(options["function"]), false }
  end
  if declared.p ~= nil and declared.kernel then
    local names = sorted_keys(kbcd.centers)
    schema.centers = { function(x) return runtime.type(x) ~= "Index" and options.one_of(unpack(names))(x) or nil end,
      "uniform", kind = "choice", choices = names, about = "how the centres are drawn" }
  end
  return schema
end

-- One of them that an algorithm declares again: another default, { kind, "what it is for", default = … }, or fewer choices.
local function declared_again(name, option, known, entry)
  local function refuse(text, ...) error(("%s: option %s: %s"):format(name, option, text:format(...)), 0) end
  if not known.kind then refuse("every algorithm has an option of this name; give yours another") end
  local default = entry
  if type(entry) == "table" then
    local new = options.declared(name, option, entry)
    if new.kind ~= known.kind then
      refuse("every algorithm has an option of this name, a %s; a %s got; give yours another", known.kind, new.kind)
    end
    known.about = new.about ~= "" and new.about or known.about
    default = new[2]
    for _, choice in ipairs(new.choices or {}) do
      local expected = known[1](choice)
      if expected then refuse("%s expected as a choice, got %s", expected, tostring(choice)) end
    end
    if new.choices then
      local check = known[1]
      known.choices, known[1] = new.choices, function(x) return check(x) or type(x) == "string" and new[1](x) or nil end
    end
  end
  if default == nil then return end
  local expected = type(default) ~= "function" and known[1](default)
  if expected then refuse("%s expected as its default, got %s", expected, tostring(default)) end
  known[2], known.declared = default, true
end

-- What the ways to make blocks are.
local function about_partition(ways)
  local texts = {}
  for i, way in ipairs(ways) do texts[i] = ("%s (%s)"):format(way, partitions[way]) end
  return "how blocks are made: " .. table.concat(texts, ", ")
end

return function(name, declared, setup, loss)
  local schema, own = common(declared, setup, loss or "squared"), {}
  for option, entry in pairs(declared) do
    if type(option) == "string" and not (option == "b" and entry == false) then
      if schema[option] then
        declared_again(name, option, schema[option], entry)
      else
        schema[option] = options.declared(name, option, entry)
        schema[option].declared = true
        own[#own + 1] = option
      end
    end
  end
  local partition = schema.partition
  if partition and partition.about == "" then partition.about = about_partition(partition.choices) end
  table.sort(own)
  return schema, own
end
