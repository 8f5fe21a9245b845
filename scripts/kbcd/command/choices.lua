-- choices(o, data, algorithm, given): the settings of a run, as given or chosen for the data; and a text of what was
-- chosen.
--
-- Gives { method (its name), algorithm, options (the table that the algorithm is called with), kernel, chosen (what was
-- chosen of the kernel, by name), p (of centres or features), b }. `given` are the algorithm's options that were given.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local kernel_flags = require "kbcd.command.kernel_flags"
local map_flags = require "kbcd.command.map_flags"
local metric = require "kbcd.data.metric"
local complete = require("kbcd.descent.options").completed

runtime.docs.choices = [[choices(o, data, algorithm, given)
The settings of a run for fit: what the flags o and the options `given` say, and what is chosen for the data otherwise.]]

local features = 8192  -- unless given

-- A block of the n x b kind, and a b x b system in f64, within half of the memory budget.
local function block_size(X, count)
  local rows = math.ceil(X.n / kbcd.size())
  local fits = math.floor(kbcd.allreduce_min(kbcd.memory_budget()) / 2 / (rows * (X.dtype == "f32" and 4 or 8) + 1))
  return math.min(count, math.max(256, math.min(fits, 2048)))
end

-- Whether all blocks fit the memory of all ranks, with some to spare: p columns, or one triangle of the kernel matrix.
local function blocks_fit(X, p, keep)
  local bytes = keep == "f16" and 2 or X.dtype == "f32" and 4 or 8
  local entries = X.n * (p or X.n / 2)
  return keep ~= "none" and entries * bytes < 0.8 * kbcd.size() * kbcd.allreduce_min(kbcd.memory_budget())
end

return function(o, data, algorithm, given)
  local X, notes, schema = data.X, {}, algorithm.schema
  local options, s = { seed = o.seed }, { method = algorithm.name, algorithm = algorithm, chosen = {} }
  local function chosen(text, ...) notes[#notes + 1] = text:format(...) end
  for name, value in pairs(given) do options[name] = value end
  local completed = complete(algorithm.name, schema, options, X)
  if not o.method then chosen("method %s (%d rows)", algorithm.name, X.n) end

  local map, kernel  -- the names of these options
  for name, entry in pairs(schema) do
    if entry.kind == "map" then map = name elseif entry.kind == "kernel" then kernel = name end
  end
  local own = kernel_flags.left_to(algorithm, o)  -- the method chooses its kernel
  if (map or kernel) and not own then s.kernel, s.chosen = kernel_flags.make(o, X) end
  local widths = s.kernel and s.kernel.widths
  if widths then
    if #widths ~= X.d then
      error(("--%s: one width, or one for each of the %d columns, expected, got %d"):format(kernel_flags.has_width(o), X.d,
        #widths), 0)
    end
    options.metric, s.kernel = metric.of_kernel(s.kernel), s.kernel.unit
    chosen("rows divided by a width for each column")
  end
  if kernel and not own then options[kernel] = s.kernel end
  for name, value in pairs(s.chosen) do chosen("%s = %.4g (half the median distance)", name, value) end

  if schema.p and not map and completed.p or map then
    s.p = schema.p and completed.p or options.p or features
    if not options.p then chosen("p = %d", s.p) end
    if not map and s.p > X.n then error(("--p %d: at most the %d training rows expected"):format(s.p, X.n), 0) end
    options.p = schema.p and s.p or nil
    if map then options[map] = map_flags.make(o, s.kernel, s.p, o.seed) end
  end

  if not options.lambda and schema.lambda.declared then
    options.lambda = completed.lambda
  elseif not options.lambda then
    options.lambda = { 1e-4, 1e-5, 1e-6, 1e-7 }
    if schema.jitter and options.jitter == nil then options.jitter = "auto" end
    chosen("lambda = 1e-4, 1e-5, 1e-6, 1e-7%s", schema.jitter and ", with jitter" or "")
  end
  local count = s.p or X.n
  if schema.b then
    if options.b and options.b > count then
      error(("--b %d: at most %d, the number of %s, expected"):format(options.b, count,
        s.p and "centres or features" or "rows"), 0)
    end
    -- What the method declares is its choice.
    if not options.b then
      options.b = schema.b.declared and math.min(completed.b, count) or block_size(X, count)
      chosen("b = %d", options.b)
    end
    s.b = options.b
    local fits = options.partition ~= "fresh" and blocks_fit(X, s.p, options.keep or schema.keep[2])
    options.epochs = options.epochs or schema.epochs.declared and completed.epochs or nil
    if not options.epochs then
      options.epochs = s.b >= count and 1 or fits and 8 or 3  -- epochs cost little when the blocks are kept
      chosen("%d epoch%s", options.epochs, options.epochs == 1 and "" or "s")
    end
    if not options.partition and schema.partition[2] == "regrouped" and options.epochs > 1 then
      options.partition = fits and "regrouped" or "fresh"
      chosen(fits and "blocks regrouped each epoch (the kernel fits in memory)" or "fresh blocks each epoch")
    end
  end
  s.options = options
  return s, table.concat(notes, ", ")
end
