-- The options that `kbcd train`, `tune` and `compare` share: the data, the method and its options; and the checks that
-- they fit together.

local kbcd = require "kbcd"
local types = require "kbcd.command.argument_types"
local load_flags = require "kbcd.command.load_flags"
local table_flags = require "kbcd.command.table_flags"
local row_weights = require "kbcd.data.row_weights"
local loss_flags = require "kbcd.command.loss_flags"
local method_flags = require "kbcd.command.method_flags"
local methods = require "kbcd.command.methods"
local without_places = require "kbcd.support.without_places"

local training_arguments = {}

function training_arguments.add_data(parser)
  parser:option("--x", "Training rows: .npy, idx, HDF5 (file.h5:/dataset), .npz (file.npz:array) and what else kbcd loads.")
    :argname("FILE")
  parser:option("--y", "Labels (whole numbers, or names in a CSV file) or real targets, a row each."):argname("FILE")
  parser:option("--data", "Rows and labels in one file (libsvm, CSV …), instead of --x and --y."):argname("FILE")
  parser:option("--label", "The column of --data (CSV) that holds the labels, by name or number; several targets with " ..
    "commas between.", nil, types.columns)
  parser:mutex(
    parser:option("--test-x", "Test rows. They choose nothing."):argname("FILE"),
    parser:option("--test-data", "Test rows and labels in one file."):argname("FILE"))
  parser:option("--hold-out", "The share of the training rows that is held out, to choose lambda and when to stop (0.1; " ..
    "with test rows and nothing to choose, 0).", nil, types.share)
  parser:option("--test-y", "Test labels or targets."):argname("FILE")
  parser:option("--task", "What to do (guessed from y, and reported)."):choices{ "classify", "regress" }
  parser:option("--precision", "Of the data and of kernel values (f64 for at most 5000 rows, else f32).")
    :choices{ "f32", "f64" }
  parser:option("--seed", "Of everything random (kbcd's own).", nil, types.seed)
  parser:mutex(
    parser:flag("--standardize", "Columns to mean 0 and variance 1."),
    parser:flag("--standardize-numbers", "The same, but columns of two different values, as categories become, to 0 and 1."),
    parser:flag("--scale01", "Columns to 0..1."),
    parser:flag("--unit-norm", "Rows to length 1."),
    parser:flag("--raw", "Rows as they are, also for a method that standardizes unless told otherwise (rfm)."))
  parser:option("--weights", "Weights of the training rows, numbers >= 0: a file with one a row, or a column of --data by " ..
    "name or number, which is no feature then."):argname("FILE|COLUMN")
  parser:flag("--balance", "Classes weigh the same: rows of class c count n / (k n_c) times, on top of --weights.")
  parser:option("--rows", "Train on so many random rows alone.", nil, types.count)
  parser:flag("--shuffle", "Training rows in a random order, which the seed decides.")
  table_flags.add(parser)
  load_flags.add(parser)
end

-- For commands that follow the test error of a run.
function training_arguments.add_follow(parser)
  parser:option("--follow", "Follow the test error on so many random test rows during the run; all of them are scored at " ..
    "its end (all of them)."):argname("ROWS"):convert(types.count)
end

-- The files that are read, by their options.
function training_arguments.files(o)
  return { ["--data"] = o.data, ["--x"] = o.x, ["--y"] = o.y, ["--test-data"] = o.test_data, ["--test-x"] = o.test_x,
    ["--test-y"] = o.test_y, ["--weights"] = row_weights.is_file(o) and o.weights or nil }
end

-- The words of a command line that follow an option: --method X or --method=X.
local function word_after(option)
  for i, word in ipairs(arg) do
    if word == option then return arg[i + 1] end
    if word:sub(1, #option + 1) == option .. "=" then return word:sub(#option + 2) end
  end
end

-- What is wrong with a method's name is a matter of options; what is wrong in its file is not.
local function refuse_method(parser, message)
  if tostring(message):find("^%-%-method") then parser:error(tostring(message)) end
  parser:fail(without_places(message))
end

-- An unknown option is reported with the methods that have it.
local function name_methods(parser, named)
  local plain = parser.error
  function parser:error(message)
    local flag = named and message:match("^unknown option '%-%-([%w%-]+)'")
    local names = {}
    for _, algorithm in ipairs(flag and methods.all() or {}) do
      local entry, map = algorithm.schema[flag:gsub("-", "_")], false
      for _, other in pairs(algorithm.schema) do map = map or other.kind == "map" end
      if entry and entry.kind or map and (flag == "p" or flag == "map") then names[#names + 1] = algorithm.name end
    end
    if #names > 0 then
      message = ("--%s is for %s%s, not for %s"):format(flag, flag == "b" and "methods with blocks: " or "",
        table.concat(names, ", "), named)
    end
    plain(self, message)
  end
end

-- Adds the flags of the method that --method names, or of those that may be chosen without it.
function training_arguments.add_method(parser, except)
  parser:option("--method", "The algorithm: a name (`kbcd methods` lists them) or a file that returns one (by the number " ..
    "of rows). Its options are flags: --method NAME --help lists them."):argname("NAME|FILE")
  local named = word_after("--method")
  local good, found = pcall(function() return named and { methods.find(named) } or methods.advised() end)
  if not good then refuse_method(parser, found) end
  training_arguments.candidates = found
  loss_flags.add(parser)
  training_arguments.flags = method_flags(parser, found, nil, except)
  name_methods(parser, named)
end

-- The same for several methods, which --methods names; of the options, p takes several values.
function training_arguments.add_methods(parser)
  parser:option("--methods", "Names or files of algorithms, with commas between (all that `kbcd methods` lists)."):
    argname("LIST")
  local named, found = word_after("--methods"), {}
  local good, message = pcall(function()
    if not named then found = methods.all() end
    for name in (named and named .. "," or ""):gmatch("(.-),") do found[#found + 1] = methods.find(name) end
  end)
  if not good then refuse_method(parser, (tostring(message):gsub("^%-%-method ", "--methods: "))) end
  local seen = {}
  for _, algorithm in ipairs(found) do
    if seen[algorithm.name] then parser:error(("--methods: two algorithms are called %s"):format(algorithm.name)) end
    seen[algorithm.name] = true
  end
  training_arguments.candidates = found
  loss_flags.add(parser)
  training_arguments.flags = method_flags(parser, found, { p = true })
end

-- The algorithm of the run and its options that were given: the named one, or the first for such rows that has all flags that
-- were given; then also why.
function training_arguments.algorithm(parser, o, X)
  local flags = training_arguments.flags
  if o.method then
    local named = training_arguments.candidates[1]
    flags.check(parser, o, named)
    return named, flags.given(o, named)
  end
  local list, reasons = methods.advised(X)
  for i, algorithm in ipairs(list) do
    if flags.fits(o, algorithm) then return algorithm, flags.given(o, algorithm), reasons[i] end
  end
  flags.check(parser, o, list[1])
  return list[1], flags.given(o, list[1]), reasons[1]
end

-- Whether a run of few rows, which is exact unless flags say otherwise, has leave-one-out errors in closed form.
function training_arguments.leaves_out(o)
  local exact = not (o.method or o.b or o.p or o.d or o.epochs or o.patience)
  return exact and (o.loss or "squared") == "squared"
end

-- Checks that argparse cannot make: options that need or exclude each other.
function training_arguments.check(parser, o)
  local function refuse(text, ...) parser:error(text:format(...)) end
  if o.data and (o.x or o.y) then refuse("--data holds rows and labels; it does not go with --x or --y") end
  if not o.data and not (o.x and o.y) then refuse("--x and --y expected, or --data") end
  if (o.test_x == nil) ~= (o.test_y == nil) then refuse("--test-x and --test-y go together") end
  if o.follow and not (o.test_x or o.test_data) then
    refuse("--follow is for test rows (--test-x or --test-data), which are not given")
  end
  if o.label and not o.data then refuse("--label names a column of --data, which is not given") end
  load_flags.check(parser, o, training_arguments.files(o))
  loss_flags.check(parser, o)
  if training_arguments.candidates then
    for _, algorithm in ipairs(training_arguments.candidates) do
      local flags = training_arguments.flags
      if o.method or #training_arguments.candidates == 1 then flags.check(parser, o, algorithm) end
      if o.methods then flags.require(parser, o, algorithm) end
    end
  end
  o.seed = o.seed or kbcd.seed()
  o.chooses = not (o.lambda and #o.lambda == 1 and o.epochs) or (o.patience or 0) > 0  -- λ, or when to stop
  local named = o.method and training_arguments.candidates and training_arguments.candidates[1]
  if named and named.own_errors then o.chooses = false end  -- it chooses by rows of its own
  for _, kind in ipairs(kbcd.preprocess.kinds) do o.preprocess = o.preprocess or o[kind:gsub("-", "_")] and kind end
  local only = o.method and #(training_arguments.candidates or {}) == 1 and training_arguments.candidates[1]
  if not o.preprocess and not o.raw and only and only.preprocess then
    o.preprocess, o.preprocess_chosen = only.preprocess, true
  end
end

return training_arguments
