-- row_weights: weights of rows, of the commands (--weights FILE|COLUMN, --balance). A run with weights w_i ≥ 0 minimises
--
--     Σ_i w_i ℓ(f(x_i), y_i) / Σ_i w_i + λ‖f‖²:
--
-- only their ratios count, and whole numbers are repeated rows, with the same λ. The driver's objective is
-- (1/n) Σ_i w_i ℓ_i + λ‖f‖², so it gets weights of mean 1. Rows of weight 0 are left out. --balance multiplies the weight of
-- a row of class c by n / (k n_c). Errors of training, held-out and test rows are weighted means, too.
--
--     row_weights.attach(data, o)      reads the weights: data.weights (a DataSet, n x 1) or nil, and those of data.test
--     row_weights.balance(data)        of the classes
--     row_weights.drop_zeros(data)     leaves out the training rows of weight 0
--     row_weights.normalised(w)        this rank's rows, of mean 1 over all rows
--     row_weights.describe(w)          a line for people

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local load_flags = require "kbcd.command.load_flags"
local read_data = require "kbcd.data.read_data"
local without_places = require "kbcd.support.without_places"

runtime.docs.row_weights = [[row_weights
Weights of rows of the commands: row_weights.normalised(w) gives this rank's rows of a DataSet of weights, of mean 1 over all
rows, for the option weights of an algorithm; row_weights.balance(data) multiplies data.weights by n / (k n_c) of each row's
class c. All ranks call these functions.]]

local row_weights = {}

-- Whether --weights names a file; else it is a column of --data.
function row_weights.is_file(o) return o.weights ~= nil and runtime.files.is_file((read_data.file_of(o.weights))) end

-- The column of --data that holds the weights, by name or number; nil where they are in a file, or there are none.
function row_weights.column(o)
  if not o.weights or row_weights.is_file(o) then return nil end
  return tonumber(o.weights) or o.weights
end

local function require_csv(o, path)
  local loader = read_data.loader_of((read_data.file_of(path)))
  if not loader or loader.name ~= "CSV" then
    error(("--weights %s: there is no such file, and %s has no columns by name, as CSV has; give a file"):format(o.weights,
      path), 0)
  end
end

local function fail(o, message)
  error(("--weights %s: there is no such file; as a column: %s"):format(o.weights, without_places(message)), 0)
end

-- An error if --data has no column of weights, or it is a label.
function row_weights.require_column(o)
  require_csv(o, o.data)
  local wanted = { plain = true, columns = { row_weights.column(o) }, header = load_flags.header(o) }
  local good, message = pcall(runtime.tables.fit, o.data, wanted)
  if not good then fail(o, message) end
  wanted.label = o.label
  good, message = pcall(runtime.tables.fit, o.data, wanted)
  if not good and tostring(message):find("must be left for X", 1, true) then
    error(("--weights %s: this is a column of --label; give another"):format(o.weights), 0)
  end
  if not good then error(without_places(message), 0) end
end

-- The weights in a column of a CSV file.
local function read_column(o, path)
  local source = ("--weights %s of %s"):format(o.weights, path)
  require_csv(o, path)
  local good, X = pcall(kbcd.read_table, path, { columns = { row_weights.column(o) }, header = load_flags.header(o),
    say = function() end })
  if not good then fail(o, X) end
  if X.d ~= 1 then error(source .. ": a number in every row expected; the column has missing values, text or dates", 0) end
  return X
end

local function check(weights, source)
  local rows, sum = weights.rows, 0
  for i = 1, rows.nrows do
    if not (rows(i, 1) >= 0 and rows(i, 1) < math.huge) then
      error(("%s: row %d: a weight >= 0 expected, got %g"):format(source, weights.first + i - 1, rows(i, 1)), 0)
    end
    sum = sum + rows(i, 1)
  end
  local all = kbcd.allreduce(sum)
  if not (all > 0 and all < math.huge) then
    error(("%s: weights with a finite sum > 0 expected, got %g"):format(source, all), 0)
  end
end

runtime.docs["row_weights.attach"] = [[row_weights.attach(set, o)
Reads the weights that o.weights names, a file or a column of o.data: set.weights. Of a column, also those of set.test.]]
function row_weights.attach(set, o)
  if not o.weights then return end
  if row_weights.is_file(o) then
    set.weights = read_data(o.weights, { dtype = "f64" })
    if set.weights.sparse then set.weights = set.weights:to_dense() end
    if set.weights.n ~= set.X.n or set.weights.d ~= 1 then
      error(("--weights %s: a number for each of the %d rows expected, got %d x %d"):format(o.weights, set.X.n, set.weights.n,
        set.weights.d), 0)
    end
  else
    if not o.data then
      error(("--weights %s: there is no such file, and no --data that it could be a column of"):format(o.weights), 0)
    end
    set.weights = read_column(o, o.data)
    if set.test and o.test_data then
      set.test.weights = read_column(o, o.test_data)
      check(set.test.weights, ("--weights %s of %s"):format(o.weights, o.test_data))
    end
  end
  check(set.weights, "--weights " .. o.weights)
end

-- The weights of the classes, 1..k.
local function class_weights(y, k)
  local counts, list = kbcd.Matrix.zeros(1, k), {}
  for i = 1, y.local_n do counts:set(1, y.rows(i, 1), counts(1, y.rows(i, 1)) + 1) end
  kbcd.allreduce(counts)
  for c = 1, k do list[c] = y.n / (k * math.max(counts(1, c), 1)) end
  return list
end

local function times(set, list)
  local rows = set.weights and set.weights.rows or kbcd.Matrix.full(set.y.local_n, 1, 1)
  for i = 1, rows.nrows do rows:set(i, 1, rows(i, 1) * list[set.y.rows(i, 1)]) end
  set.weights = kbcd.DataSet.local_part(set.y.n, rows)
end

runtime.docs["row_weights.balance"] = [[row_weights.balance(data)
Multiplies data.weights, and those of data.test, by n / (k n_c) of each row's class c, counted in data.y.]]
function row_weights.balance(data)
  if data.task ~= "classify" then error("--balance is for classes, and y holds real targets", 0) end
  local list = class_weights(data.y, data.k)
  times(data, list)
  if data.test then times(data.test, list) end
end

function row_weights.drop_zeros(data)
  local kept = {}
  local all = data.weights and kbcd.gather(data.weights.rows)
  for i = 1, all and all.nrows or 0 do if all(i, 1) > 0 then kept[#kept + 1] = i end end
  if not all or #kept == data.X.n then return end
  local I = kbcd.Index(kept)
  data.X, data.y, data.weights = data.X:subset(I), data.y:subset(I), data.weights:subset(I)
end

runtime.docs["row_weights.normalised"] = [[row_weights.normalised(w)
This rank's rows of a DataSet of weights, divided by their mean over all rows.]]
function row_weights.normalised(w)
  local sum = kbcd.allreduce(w.local_n > 0 and w.rows:sum() or 0)
  return w.rows:clone():scale(w.n / sum)
end

-- (Σ w)² / Σ w²: as many rows of equal weight have as little noise in a mean.
function row_weights.describe(w)
  local own = w.local_n > 0
  local sum, squares = kbcd.allreduce(own and w.rows:sum() or 0), kbcd.allreduce(own and w.rows:norm() ^ 2 or 0)
  return ("weights of rows from %.4g to %.4g, which count as %.4g rows of equal weight"):format(
    kbcd.allreduce_min(own and w.rows:min() or math.huge), kbcd.allreduce_max(own and w.rows:max() or 0), sum ^ 2 / squares)
end

return row_weights
