-- The options that `kbcd train`, `tune` and `compare` share: data, kernel and solver, method; and which do not go together.

local kbcd = require "kbcd"
local types = require "kbcd.command.argument_types"

local training_arguments = {}

local function names_of(family)
  local names = {}
  for name in pairs(family) do if name ~= "custom" and name ~= "columns" then names[#names + 1] = name end end
  table.sort(names)
  return names
end

function training_arguments.add_data(parser)
  parser:option("--x", "Training rows: .npy, idx, HDF5 (file.h5:/dataset), .npz (file.npz:array) and what else kbcd loads.")
    :argname("FILE")
  parser:option("--y", "Labels (whole numbers, or names in a CSV file) or real targets, a row each."):argname("FILE")
  parser:option("--data", "Rows and labels in one file (libsvm, CSV …), instead of --x and --y."):argname("FILE")
  parser:option("--label", "The column of --data (CSV) that holds the labels, by name or number; several targets with " ..
    "commas between.", nil, types.columns)
  parser:mutex(
    parser:option("--test-x", "Test rows."):argname("FILE"),
    parser:option("--test-data", "Test rows and labels in one file."):argname("FILE"),
    parser:option("--hold-out", "The share of rows to hold out when there is no test set (0.1).", nil, types.share))
  parser:option("--test-y", "Test labels or targets."):argname("FILE")
  parser:option("--task", "What to do (classify when y holds whole numbers)."):choices{ "classify", "regress" }
  parser:option("--precision", "Of the data and of kernel values.", "f32"):choices{ "f32", "f64" }
  parser:option("--seed", "Of everything random (kbcd's own).", nil, types.seed)
  parser:mutex(
    parser:flag("--standardize", "Columns to mean 0 and variance 1."),
    parser:flag("--scale01", "Columns to 0..1."),
    parser:flag("--unit-norm", "Rows to length 1."))
  parser:flag("--shuffle", "Training rows in a random order, which the seed decides.")
end

-- The files that are read, by their options.
function training_arguments.files(o)
  return { ["--data"] = o.data, ["--x"] = o.x, ["--y"] = o.y, ["--test-data"] = o.test_data, ["--test-x"] = o.test_x,
    ["--test-y"] = o.test_y }
end

function training_arguments.add_solver(parser)
  parser:option("--kernel", "The kernel.", "rbf"):choices(names_of(kbcd.kernel))
  parser:option("--nu", "Smoothness of the matern kernel.", nil, types.positive)
  parser:option("--degree", "Degree of the polynomial kernel.", nil, types.count)
  parser:option("--c", "Constant of the polynomial kernel.", nil, types.not_negative)
  parser:option("--lambda", "Regulariser, or several with commas between.", nil, types.lambdas)
  parser:option("--block", "Block size b (by memory).", nil, types.count)
  parser:option("--epochs", "Passes over the blocks.", nil, types.count)
  parser:option("--tol", "Stop when an epoch changes the model by no more, relatively (0).", nil, types.not_negative)
  parser:option("--partition", "Blocks anew each epoch, or fixed, which are kept in memory."):choices{ "fresh", "fixed" }
  parser:option("--cache", "How blocks of a fixed partition are kept, as far as --memory goes (f32)."):
    choices{ "f32", "f16", "none" }
  parser:flag("--jitter", "Help blocks that are not positive definite.")
end

function training_arguments.add(parser)
  training_arguments.add_data(parser)
  parser:option("--method", "The algorithm (by size)."):choices{ "full", "nystrom", "rf" }
  training_arguments.add_solver(parser)
  parser:option("--features", "p: centres of nystrom, features of rf.", nil, types.count)
  parser:option("--form", "full: each kernel entry generated once an epoch, or as in the paper (half)."):
    choices{ "half", "plain" }
  parser:option("--map", "Feature map of rf (fourier)."):choices(names_of(kbcd.features))
  parser:option("--nystrom-gamma", "Stabiliser of nystrom (0).", nil, types.not_negative)
end

-- What argparse cannot see: options that are there without, or against, another.
function training_arguments.check(parser, o)
  local function refuse(text, ...) parser:error(text:format(...)) end
  if o.data and (o.x or o.y) then refuse("--data holds rows and labels; it does not go with --x or --y") end
  if not o.data and not (o.x and o.y) then refuse("--x and --y expected, or --data") end
  if (o.test_x == nil) ~= (o.test_y == nil) then refuse("--test-x and --test-y go together") end
  if o.label and not o.data then refuse("--label names a column of --data, which is not given") end
  local function only(option, flag, method)
    if o[option] ~= nil and (o.method or "") ~= method then
      refuse("%s is for --method %s alone%s", flag, method, o.method and ", not for " .. o.method or "; say --method")
    end
  end
  only("map", "--map", "rf")
  only("form", "--form", "full")
  only("nystrom_gamma", "--nystrom-gamma", "nystrom")
  if o.features and o.method == "full" then refuse("--features is for --method nystrom or rf, not for full") end
  if o.features and not o.method then o.method = "nystrom" end
  o.seed = o.seed or kbcd.seed()
  o.preprocess = o.standardize and "standardize" or o.scale01 and "scale01" or o.unit_norm and "unit-norm" or nil
end

return training_arguments
