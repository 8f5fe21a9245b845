-- choices(o, data, algorithm, given [, reason]): the settings of a run, as given or chosen for the data; and a text of what
-- was chosen. reason: why this algorithm was, if it was not named.
--
-- Gives { method (its name), algorithm, options (the table that the algorithm is called with), kernel, chosen (what was
-- chosen of the kernel, by name), p (of centres or features), b, loss }. `given` are the algorithm's options that were given.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local kernel_flags = require "kbcd.command.kernel_flags"
local loss_flags = require "kbcd.command.loss_flags"
local lambda_path = require "kbcd.command.lambda_path"
local map_flags = require "kbcd.command.map_flags"
local metric = require "kbcd.data.metric"
local complete = require("kbcd.descent.options").completed

runtime.docs.choices = [[choices(o, data, algorithm, given [, reason])
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

-- ADMM takes an epoch or few for each of its steps, and ends by its residual. cheap: whether epochs after the first are.
local function choose_admm_epochs(options, cheap, chosen)
  options.epochs, options.tol = cheap and 60 or 10, options.tol or 1e-3
  chosen("at most %d epochs of ADMM (tol = %g)", options.epochs, options.tol)
end

-- How many epochs at most, and after how many without an improvement the run ends. Epochs cost little when blocks are kept.
local function epochs_for(data, schema, completed, one_block, kept)
  local most = one_block and 1 or data.held and (kept and 20 or 5) or kept and 8 or 3
  local patience = not schema.b and 5 or kept and 3 or 2
  if schema.epochs.declared then most = completed.epochs end
  return most, schema.patience.declared and completed.patience or patience
end

return function(o, data, algorithm, given, reason)
  local X, notes, schema = data.X, {}, algorithm.schema
  local options, s = { seed = o.seed }, { method = algorithm.name, algorithm = algorithm, chosen = {} }
  local function chosen(text, ...) notes[#notes + 1] = text:format(...) end
  for name, value in pairs(given) do options[name] = value end
  local completed = complete(algorithm.name, schema, options, X)
  s.loss = loss_flags.make(o, algorithm, data.task)
  if s.loss.name ~= "squared" or algorithm.loss then options.loss = s.loss end
  local by_admm = s.loss.name ~= "squared" and not algorithm.loss
  if not o.method then chosen("method %s (%d rows: %s)", algorithm.name, X.n, reason) end

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
  options.metric = options.metric or o.metric  -- of search.lua
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
    options.lambda = o.path or { 1e-4, 1e-5, 1e-6, 1e-7 }
    if schema.jitter and options.jitter == nil then options.jitter = "auto" end
    chosen("lambda = %s%s", lambda_path.text(options.lambda, ", "), schema.jitter and ", with jitter" or "")
  end
  local count, fits = s.p or X.n, false
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
    fits = (options.partition or schema.partition[2]) ~= "fresh" and blocks_fit(X, s.p, options.keep or schema.keep[2])
  end
  if not options.epochs and by_admm then
    choose_admm_epochs(options, s.b == count or fits or not schema.b, chosen)
  elseif not options.epochs then
    local most, patience = epochs_for(data, schema, completed, s.b == count, fits)
    if algorithm.own_errors then patience = 0 end
    options.epochs, options.patience = most, options.patience or most > 1 and patience or 0
    chosen(options.patience > 0 and "at most %d epochs" or most == 1 and "%d epoch" or "%d epochs", most)
    if options.patience > 0 then chosen("patience = %d", options.patience) end
  end
  if schema.b then
    if not options.partition and schema.partition[2] == "regrouped" and options.epochs > 1 then
      options.partition = fits and "regrouped" or "fresh"
      chosen(fits and "blocks regrouped each epoch (the kernel fits in memory)" or "fresh blocks each epoch")
    end
  end
  s.options = options
  return s, table.concat(notes, ", ")
end
