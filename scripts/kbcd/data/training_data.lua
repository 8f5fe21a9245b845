-- training_data(o): the data that a command trains on: rows and targets, a test set or held-out rows, task and classes.
--
-- Returns a table: X, y (class numbers 1..k, or targets), test = { X, y } or nil, held = { X, y } or nil, held_out (how many
-- rows), task, k, names (of classes), values (the labels behind them), columns (names of the columns of X, or nil),
-- preprocess. Rows that are held out of the training rows choose λ and when to stop; test rows choose nothing. Without a test
-- set, test is held. With one, rows are held out if there is something to choose (o.chooses) or o.hold_out says how many.

local kbcd = require "kbcd"
local read_data = require "kbcd.data.read_data"
local load_flags = require "kbcd.command.load_flags"
local streams = require "kbcd.support.streams"
local runtime = require "kbcd.runtime"

runtime.docs.training_data = [[training_data(o)
The data that a command trains on, from the values of its options (o.x, o.y, o.test_x …): a table with X, y (class numbers
1..k or targets), test = { X, y } or nil, held = { X, y } or nil (rows held out to choose by; those of test without a test
set), held_out (how many), task, k, names, values, preprocess. All ranks call it.
training_data.prepare(data, kind) preprocesses it; training_data.split(data, I, J) trains on rows I and tests on rows J.]]

-- y from a separate file: numbers, or one CSV column of names, which are returned second.
local function read_labels(y)
  local good, labels = pcall(read_data, y, { dtype = "f64" })
  if good then return labels end
  local named, numbers, _, names = pcall(read_data, y, { dtype = "f64", names = true })
  if not named and tostring(numbers):find(": line %d") then error(numbers, 0) end  -- text, with the line
  if not names then error(labels, 0) end
  return numbers, names
end

-- X, y and the names of classes, if the file had names, from `data` or from `x` and `y`. options: for kbcd.load of data; d
-- as for read_data.
local function read_pair(data, x, y, precision, options, d)
  -- The options of the file's format, and what every file is read with.
  local function with(file, more)
    local all = options and load_flags.make(options, file) or {}
    for name, value in pairs(more) do all[name] = value end
    return all
  end
  if data then
    local X, labels, names = read_data(data, with(data, { dtype = precision, label = options and options.label }), d)
    if not labels then error(data .. ": no labels in it; give them with --y, and the rows with --x", 0) end
    return X, labels, names
  end
  local X, labels, names = (read_data(x, with(x, { dtype = precision }), d)), read_labels(y)
  if X.n ~= labels.n then error(("%s has %d rows, %s has %d"):format(x, X.n, y, labels.n), 0) end
  return X, labels, names
end

local function name_of(value) return ("%.0f"):format(value) end

-- Labels as class numbers, the same ones in both sets.
local function number_classes(data)
  data.values = data.values or kbcd.classes.values(data.y)
  data.k = #data.values
  if data.k < 2 then error("y: labels of at least two classes expected, got one", 0) end
  data.names = data.names or {}
  for i, value in ipairs(data.values) do data.names[i] = data.names[i] or name_of(value) end
  data.y = kbcd.classes.numbers(data.y, data.values)
  if data.test then
    data.test.y = kbcd.classes.of_names(data.test.y, data.test.names, data.names, "the test labels")
  end
end

-- Puts the rows in a random order; the preprocessing, which is stored with the model, records it.
local function shuffle(data, seed)
  local order = kbcd.preprocess.order(data.X.n, seed)
  data.X, data.y, data.preprocess = data.X:subset(order), data.y:subset(order), { shuffle = seed }
end

local function hold_out(data, share, seed)
  local count = math.floor(data.X.n * share)
  if count < 1 then return end
  local order = kbcd.Index.permutation(data.X.n, { seed = seed, stream = streams.hold_out })
  local function part(first, last)
    local I = order:slice(first, last):sorted()
    return data.X:subset(I), data.y:subset(I)
  end
  local test_X, test_y = part(1, count)
  local X, y = part(count + 1, data.X.n)
  data.X, data.y, data.held, data.held_out = X, y, { X = test_X, y = test_y }, count
  data.test = data.test or data.held
end

-- A split of the training rows of `data`: rows I to train on, rows J to test on.
local function split(data, I, J)
  local held = { X = data.X:subset(J), y = data.y:subset(J) }
  return setmetatable({ X = data.X:subset(I), y = data.y:subset(I), test = held, held = held, held_out = #J },
    { __index = data })
end

-- The rows preprocessed as `fitted` says, or by `kind`, fitted on the training rows; then in the precision of the run.
local function prepare(data, kind, fitted)
  local sets = { data, data.test }
  if data.held and data.held ~= data.test then sets[#sets + 1] = data.held end
  local function round()
    for _, set in ipairs(sets) do set.X = set.X:to(data.precision or set.X.dtype) end
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

local function read(_, o)
  local data = { source = o.data or o.x, precision = o.precision }
  -- Rows that will be preprocessed come with all digits that the file has; prepare() rounds them.
  local precision = not o.preprocess and not o.start and o.precision or nil
  data.X, data.y, data.names = read_pair(o.data, o.x, o.y, precision, o)
  data.columns = runtime.loaders.columns[data.X]
  if o.test_x or o.test_data then
    local X, y, names = read_pair(o.test_data, o.test_x, o.test_y, precision, o, data.X.d)
    data.test = { X = X, y = y, names = names }
    if X.d ~= data.X.d then
      error(("%s has rows of %d numbers, %s of %d"):format(data.source, data.X.d, o.test_x or o.test_data, X.d), 0)
    end
    if y.d ~= data.y.d then error(("y has %d columns, the test targets have %d"):format(data.y.d, y.d), 0) end
  end
  data.task = o.task or (kbcd.classes.whole(data.y) and "classify" or "regress")
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
  end
  if o.shuffle then shuffle(data, o.seed) end
  if not o.folds then hold_out(data, o.hold_out or (not data.test or o.chooses) and 0.1 or 0, o.seed) end
  if o.rows then
    if o.rows > data.X.n then error(("--rows %d: at most the %d training rows expected"):format(o.rows, data.X.n), 0) end
    local I = kbcd.Index.sample(data.X.n, o.rows, { seed = o.seed, stream = streams.rows })
    data.X, data.y = data.X:subset(I), data.y:subset(I)
  end
  return data
end

return setmetatable({ read_pair = read_pair, split = split, prepare = prepare }, { __call = read })
