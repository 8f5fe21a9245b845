-- training_data(o): the data that a command trains on: rows and targets, a test set or held-out rows, task and classes.
--
-- Returns a table: X, y (class numbers 1..k, or targets), test = { X, y } or nil, held = { X, y } or nil, held_out (how many
-- rows), task, k, names (of classes), values (the labels behind them), columns (names of the columns of X, or nil),
-- targets (names of those of y, or nil), table (the description of a CSV table, or nil), zero_based (whether a libsvm file
-- counts its columns from 0, or nil), preprocess, weights (of the rows, a DataSet, or nil; test and held have theirs). Rows
-- that are held out of the training rows choose λ and when to stop; test rows choose nothing. Without a test set, test is
-- held. With one, rows are held out if there is something to choose (o.chooses) or o.hold_out says how many.
-- Of few rows none is held out where o.leaves_out says that leave-one-out errors are known: data.leaves_out is true then.
-- data.whole has the rows of training and those held out together, to fit the chosen model to (training_data.refit).

local kbcd = require "kbcd"
local read_data = require "kbcd.data.read_data"
local read_rows = require "kbcd.data.read_rows"
local row_weights = require "kbcd.data.row_weights"
local table_flags = require "kbcd.command.table_flags"
local load_flags = require "kbcd.command.load_flags"
local streams = require "kbcd.support.streams"
local runtime = require "kbcd.runtime"
local without_places = require "kbcd.support.without_places"
local task_guess = require "kbcd.data.task_guess"

local most_left_out = 2000  -- rows
local most_f64, most_f64_numbers = 5000, 1e7      -- rows, and numbers in all, that f64 costs nothing for

runtime.docs.training_data = [[training_data(o)
The data that a command trains on, from the values of its options (o.x, o.y, o.test_x …): a table with X, y (class numbers
1..k or targets), test = { X, y } or nil, held = { X, y } or nil (rows held out to choose by; those of test without a test
set), held_out (how many), task, k, names, values, preprocess, weights (a DataSet of one column, or nil). All ranks call it.
training_data.prepare(data, kind) preprocesses it; training_data.refit(data) has the held-out rows among those to train on;
training_data.split(data, I, J) trains on rows I and tests on rows J.]]

-- y from a separate file: numbers, or names (a CSV column, an array of texts), which are returned second.
local function read_labels(y)
  local good, labels = pcall(read_data, y, { dtype = "f64" })
  if good then return labels.sparse and labels:to_dense() or labels end
  local named, numbers, _, names = pcall(read_data, y, { dtype = "f64", names = true })
  local text = tostring(numbers)
  if not named and (text:find(": line %d") or text:find(": row %d")) then error(numbers, 0) end  -- text, with its place
  if not names then error(labels, 0) end
  return numbers, names
end

-- X, y, the names of classes, if the file had names, and the description of the table, if it is CSV, from `data` or from `x`
-- and `y`. options: for kbcd.load of data; like and t as for read_rows.
local function read_pair(data, x, y, precision, options, like, t)
  -- The options of the file's format, and what every file is read with.
  local function with(file, more)
    local all = options and load_flags.make(options, file) or {}
    for name, value in pairs(more) do all[name] = value end
    return all
  end
  if data then
    local X, labels, names, fitted = read_rows(data, with(data, { dtype = precision, label = options and options.label }),
      like, t)
    if not labels then
      error(data .. ": no labels in it; --label says which column of a CSV file holds them, or give them with --y, and " ..
        "the rows with --x", 0)
    end
    return X, labels, names, fitted
  end
  local X, _, _, fitted = read_rows(x, with(x, { dtype = precision }), like, t)
  local labels, names = read_labels(y)
  if X.n ~= labels.n then error(("%s has %d rows, %s has %d"):format(x, X.n, y, labels.n), 0) end
  return X, labels, names, fitted
end

local function name_of(value) return ("%.0f"):format(value) end

-- Labels as class numbers, the same ones in both sets.
local function number_classes(data)
  data.values = data.values or kbcd.classes.values(data.y)
  data.k = #data.values
  if data.k < 2 then
    error(("y: labels of at least two classes expected, every row has %s; is this the right column (--label)? --task " ..
      "regress takes numbers for real targets"):format(data.names and "'" .. data.names[1] .. "'" or
      name_of(data.values[1])), 0)
  end
  data.names = data.names or {}
  for i, value in ipairs(data.values) do data.names[i] = data.names[i] or name_of(value) end
  data.y = kbcd.classes.numbers(data.y, data.values)
  if data.test then
    data.test.y = kbcd.classes.of_names(data.test.y, data.test.names, data.names, "the test labels")
  end
end

-- Rows I of the training rows, with their targets and weights.
local function part_of(data, I)
  return { X = data.X:subset(I), y = data.y:subset(I), weights = data.weights and data.weights:subset(I) }
end

local function put(data, part)
  data.X, data.y, data.weights = part.X, part.y, part.weights
  return data
end

-- Puts the rows in a random order; the preprocessing, which is stored with the model, records it.
local function shuffle(data, seed)
  local order = kbcd.preprocess.order(data.X.n, seed)
  put(data, part_of(data, order)).preprocess = { shuffle = seed }
end

local function hold_out(data, share, seed)
  local count = math.floor(data.X.n * share)
  if count < 1 then return end
  local order = kbcd.Index.permutation(data.X.n, { seed = seed, stream = streams.hold_out })
  data.whole = { X = data.X, y = data.y, weights = data.weights }
  data.held, data.held_out = part_of(data, order:slice(1, count):sorted()), count
  put(data, part_of(data, order:slice(count + 1, data.X.n):sorted()))
  data.test = data.test or data.held
end

-- A split of the training rows of `data`: rows I to train on, rows J to test on.
local function split(data, I, J)
  local held = part_of(data, J)
  local set = setmetatable({ test = held, held = held, held_out = #J }, { __index = data })
  return put(set, part_of(data, I))
end

-- The rows preprocessed as `fitted` says, or by `kind`, fitted on the training rows; then in the precision of the run.
local function prepare(data, kind, fitted)
  local sets = { data, data.test or nil }
  if data.held and data.held ~= data.test then sets[#sets + 1] = data.held end
  local function round()
    for _, set in ipairs(sets) do
      local good, rounded = pcall(set.X.to, set.X, data.precision or set.X.dtype)
      if not good then
        local text = without_places(rounded)
        error(text .. (text:find("finite number", 1, true) and "; f32 holds no larger ones: give --precision f64" or ""), 0)
      end
      set.X = rounded
    end
    return data
  end
  if not kind and not (fitted and fitted.kind) then return round() end
  for _, set in ipairs(sets) do set.X = set.X.sparse and set.X:to_dense() or set.X end
  local shuffled = data.preprocess and data.preprocess.shuffle
  local p = kind and kbcd.preprocess.fit(kind, data.X) or fitted
  data.preprocess = { kind = p.kind, shift = p.shift, scale = p.scale, shuffle = shuffled }
  for _, set in ipairs(sets) do kbcd.preprocess.apply(data.preprocess, set.X) end
  return round()
end

-- The data of a run on all rows, with what was chosen by the run on `data`.
local function refit(data)
  local whole = data.whole
  local none = { test = false, held = false, held_out = false }
  local all = put(setmetatable(none, { __index = data }), whole)
  prepare(all, nil, data.preprocess)
  all.test = data.test ~= data.held and data.test or false
  return all
end

local function read(_, o)
  local data = { source = o.data or o.x, precision = o.precision }
  -- Rows that will be preprocessed come with all digits that the file has; prepare() rounds them.
  local precision = not o.preprocess and not o.start and not o.searches and o.precision or nil
  data.X, data.y, data.names, data.table = read_pair(o.data, o.x, o.y, precision, o, nil, table_flags.fit(o))
  local like = read_data.like(data.X)
  data.zero_based = like.zero_based
  if like.zero_based and not o.quiet then kbcd.say("%s: its columns count from 0", data.source) end
  if not data.precision then
    local X = data.X
    local small = X.n <= most_f64 and X.n * X.d <= most_f64_numbers
    data.precision = small and not o.keep and "f64" or "f32"  -- --keep is for f32
  end
  local t = data.table
  data.columns = t and (t.header == 1 or #t.kinds < data.X.d) and runtime.tables.outputs(t) or nil
  if o.test_x or o.test_data then
    local X, y, names = read_pair(o.test_data, o.test_x, o.test_y, precision, o, like,
      table_flags.apply(t))
    data.test = { X = X, y = y, names = names }
    if X.d ~= data.X.d then
      error(("%s has rows of %d numbers, %s of %d"):format(data.source, data.X.d, o.test_x or o.test_data, X.d), 0)
    end
    if y.d ~= data.y.d then error(("y has %d columns, the test targets have %d"):format(data.y.d, y.d), 0) end
  end
  row_weights.attach(data, o)
  data.task = o.task
  if not o.task then data.task, data.task_reason = task_guess(data.y, data.names) end
  if data.task == "classify" then
    if not kbcd.classes.whole(data.y) then
      error("--task classify: a column of whole numbers expected as labels; --task regress fits real targets", 0)
    end
    number_classes(data)
  else
    if data.names then
      error(("--task regress: numbers expected as targets, got names such as '%s'"):format(data.names[1]), 0)
    end
    data.k = data.y.d
    if t and t.header == 1 and #t.label_names == data.k then data.targets = t.label_names end
  end
  if o.balance then row_weights.balance(data) end
  if o.shuffle then shuffle(data, o.seed) end
  row_weights.drop_zeros(data)
  local share = o.hold_out or (not data.test or o.chooses) and 0.1 or 0
  data.leaves_out = not o.hold_out and share > 0 and o.leaves_out and data.X.n <= most_left_out or false
  if not o.folds and not data.leaves_out then hold_out(data, share, o.seed) end
  if o.rows then
    if o.rows > data.X.n then error(("--rows %d: at most the %d training rows expected"):format(o.rows, data.X.n), 0) end
    local I = kbcd.Index.sample(data.X.n, o.rows, { seed = o.seed, stream = streams.rows })
    put(data, part_of(data, I)).whole = nil
  end
  return data
end

local training_data = { read_pair = read_pair, read_labels = read_labels, split = split, prepare = prepare, refit = refit,
  part_of = part_of }
return setmetatable(training_data, { __call = read })
