-- algorithm(name, options, setup): declares an algorithm. It says what is its own: its options, its model, its state, what
-- a step solves and does. The driver gives the rest: checks of options, λ paths, blocks that are kept, streamed or
-- computed once, factors ahead of their step on all ranks and threads, checkpoints and resume, the memory and precision
-- checks, test scores, stopping by tolerance; and the commands find it by its name or file.
--
-- The result is called as mine(X, Y, options) and gives an iterator of steps (steps.lua).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local schema_of = require "kbcd.descent.schema"
local new_lambda = require "kbcd.descent.lambda"
local new_run = require "kbcd.descent.run"
local new_admm = require "kbcd.descent.admm"
local losses = require "kbcd.descent.loss"
local steps = require "kbcd.descent.steps"
local targets = require "kbcd.descent.targets"
local metric = require "kbcd.data.metric"
local lua_source = require "kbcd.support.lua_source"
local sorted_keys = require "kbcd.support.sorted_keys"

runtime.docs.algorithm = [[algorithm(name, options, setup)
Declares an algorithm. The result, called as mine(X, Y, o), returns an iterator of steps; `kbcd train --method
./mine.lua` takes the file that returns it. options: [1] is a text, "Title: what it does"; the others are its options by
name, each the name of a kind ("kernel", "map", "count", "counts", "whole", "positive", "not_negative", "number", "seed",
"flag", "text", "index", "data", "matrix", "model", "function"), a default (a number, true or false), { kind or default,
"what it is for", default = … } or { choices = { … } }; a default may be a function(X, o) that gives it. They are checked,
and become flags of the commands. Every algorithm also has lambda, loss, epochs, patience, tol, seed, keep, test, held_out,
checkpoint, start, targets, weights, centers (where it has p), and unless it says b = false: b, partition, jitter, choose
(help "algorithm options"). setup(X, Y, o, run) makes the model and the state (help "run") and returns a table:
  step(B, K_b, solve, P): a step on block B (an Index of rows, centres or features), with K_b = K([n], B) or Z([n], B).
    It changes the coefficients' rows B and returns the change, a Matrix on every rank; or declare dense = true, if it changes
    others, too. P is K_b'E over all ranks, where residual = E is declared.
  system(K_b): what solve(R) solves: a formula such as K_b:t() * K_b + n*lambda (also K_b:gram "f64", K_b:square() = K(B, B)).
    solve(R) gives H^-1 R; solve(R, old) gives H^-1 R - old and knows the block's residual.
  or, instead of step, iterate(t): an iteration of a method without blocks (options: b = false); an epoch is an iteration.
  residual = E: this rank's rows of what is left of the targets (k columns for each lambda), a declared state.
  fitted(E): the fitted values from the residual; of a start, it also gives E from the fitted values.
  gradient(B, P): the gradient of block B, for choose. choose(c): which block is next, unless the option says.
  block(B, later): another operator than K([n], B).
  weights = true: iterate uses model:matrix() and model:block() alone, and so takes weights of rows. weights = false,
    targets = false: the method refuses these options, such as one whose loss is not the square.
  later = true: block and step get the rows that are visited later in the epoch: block(B, later) as an Index, and
    step(B, K_b, solve, here) as this rank's rows among them.
  errors(): for each lambda, an error that the method itself has measured on its rows (held out, or left out one by one).
    The commands choose lambda by it, and not by other rows.
  progress(): what step.residual is, a list with a number for each lambda, at the end of an epoch, in place of |E| / |Y|.
  start_epoch(epoch): called before each epoch.   targets_changed(D): the targets have changed by D (option targets).]]

runtime.docs["algorithm options"] = [[options of every algorithm
lambda (a number or a list: a path of models that share blocks and Grams); loss = "squared" (another name or
losses.NAME{ … }, by ADMM over a method of least squares: help "losses"; admm_penalty: its strength); epochs = 1; tol = 0
(stop after the epoch in which the model changed by no more, relatively); patience = 0 (stop after so many epochs in which
no lambda improved: its loss on held_out by more than noise, or without held_out its residual by 1%; 0: never); seed;
keep = "exact", "f16" or "none" (how blocks of a fixed partition stay in memory from epoch to epoch, as far as the budget
goes; exact: in the precision of the data); test (a DataSet: step.test_scores follows every block); score (a function of the
list of test scores that gives a list of numbers, step.test_error); error_unit = 1 (a factor of the errors that a method
measures itself, step.own_error: the unit of targets that were scaled); held_out (a table { rows = a DataSet, loss = a
function of the list of scores that gives a Matrix of this rank's rows x lambdas, score = as above }: the rows that judge the
model, step.held_out_scores and step.held_out_error at the end of an epoch); log (a path, or { path = …, about = { … } }:
a line of JSON a step, for kbcd report); checkpoint (help "checkpoint"); start (a Model to begin from; the data may have
grown);
targets (a function(epoch, fitted) that gives new targets before an epoch, or nil; fitted() is a list of fitted values);
weights (of the rows: a Matrix of this rank's rows x 1, or a DataSet, all > 0); metric (a Matrix: distances
|x - z|_M, help "metric"). With blocks: b = 2048 (block size, at most
the number of rows, centres or features); partition = "fixed", "fresh" (anew each epoch) or, of a kernel on all rows,
"regrouped" (the kernel stays in memory in small tiles of rows, and each epoch makes its blocks of other tiles; "fresh"
where it does not fit or for one epoch); jitter = false (true: add a growing multiple of I to a system that is not positive
definite); choose (help "choose"). With centres: centers = "uniform", "rpcholesky", "leverage", "kmeanspp" or an Index.]]

local fields = { step = "function", iterate = "function", system = "function", block = "function", gradient = "function",
  fitted = "function", start_epoch = "function", targets_changed = "function", residual = "Matrix", later = "boolean",
  dense = "boolean", weights = "boolean", targets = "boolean", choose = "function", progress = "function",
  errors = "function" }

-- What setup returned, checked against the contract.
local function checked(run, method)
  local function refuse(text, ...) error(("%s: %s (%s)"):format(run.owner, text:format(...), run.place), 0) end
  if type(method) ~= "table" then refuse("setup must return a table with step or iterate, got %s", runtime.type(method)) end
  if not run.model then refuse("setup must make its model by run.kernel_model or run.feature_model") end
  for field, value in pairs(method) do
    local kind = fields[field]
    if not kind then
      refuse("setup returned an unknown field '%s'; known: %s", tostring(field), table.concat(sorted_keys(fields), ", "))
    end
    if runtime.type(value) ~= kind and value ~= false then
      refuse("setup returned %s = %s; a %s expected", field, runtime.type(value), kind)
    end
  end
  if method.step and method.iterate then refuse("setup returned step and iterate; one of them expected") end
  if run.blocks and not method.step then refuse("setup returned no step (or declare b = false, and return iterate)") end
  if not run.blocks and not method.iterate then refuse("setup returned no iterate; it declares b = false") end
  if method.residual and (method.residual.nrows ~= run.X.local_n or method.residual.ncols ~= run.columns) then
    refuse("residual must have this rank's %d rows and %d columns, got %dx%d", run.X.local_n, run.columns,
      method.residual.nrows, method.residual.ncols)
  end
  if method.residual and not method.fitted then refuse("setup returned residual, and no fitted(E)") end
  if run.o.jitter == true and not method.system then refuse("option jitter: this algorithm has no system to add it to") end
  if run.o.jitter == "auto" then run.o.jitter = method.system ~= nil end
  if method.iterate then method.dense = true end
  if run.scale and (method.weights == false or method.iterate and not method.weights) then
    refuse("option weights: this algorithm does not take weights")
  end
  for option, given in pairs{ targets = run.o.targets, loss = run.admm } do
    if given and (method.targets == false or method.iterate and not method.targets_changed) then
      refuse("option %s: this algorithm does not take targets that change%s", option,
        option == "loss" and ", as ADMM makes them for another loss than squared" or "")
    end
  end
  run.o.choose = run.o.choose or method.choose or false
  return method
end

-- √w of this rank's rows.
local function scale_of(run, weights)
  local w = runtime.type(weights) == "DataSet" and weights.rows or weights
  if w.nrows ~= run.X.local_n or w.ncols ~= 1 then
    error(("%s: option weights: this rank's %d rows x 1 expected, got %dx%d"):format(run.owner, run.X.local_n, w.nrows,
      w.ncols), 0)
  end
  w = w:to("f64")
  local least = w:finite() and (w.nrows > 0 and w:min() or math.huge) or 0
  if kbcd.allreduce_min(least) <= 0 then error(run.owner .. ": option weights: finite numbers > 0 expected", 0) end
  return w:sqrt()
end

-- Fitted values and targets as the caller knows them, of a run with weights; and targets that change.
local function add_targets(run, method)
  function run.targets() return run.scale and run.Y:clone():cdiv(run.scale) or run.Y end
  function run.fitted()
    local F = method.fitted(method.residual)
    return run.scale and F:cdiv(run.scale) or F
  end
  function run.model.fitted(model)
    if not method.fitted then return run.lambda:split(model:scores(model.X, model.coefficients)) end
    return run.lambda:split(run.fitted())
  end
  -- Before an epoch after the first.
  function run.change_targets(epoch)
    local Y = run.admm and run.admm.targets() or
      run.o.targets and run.o.targets(epoch, function() return run.model:fitted() end)
    if not Y then return end
    if not run.admm then Y = targets(run.owner .. ": option targets", run.X, Y) end
    if run.scale then Y:cmul(run.scale) end
    local D = Y - run.Y
    if run.admm and kbcd.allreduce_max(D:norm()) == 0 then return end
    run.Y:copy(Y)
    if method.residual then method.residual:add(run.lambda:each(D)) end
    if method.targets_changed then method.targets_changed(run.lambda:each(D)) end
  end
  -- After the last step of an epoch, which changed the model by so much for each λ.
  function run.end_epoch(change)
    if not run.admm then return end
    run.admm.update(method.fitted and run.fitted() or run.model:scores(run.X, run.model.coefficients), change)
  end
end

-- The loss of a run. Another one than squared, which the algorithm does not minimise itself, is minimised by ADMM: the run's
-- targets then are ADMM's, k columns for each λ, and the λ that the algorithm gets is λ / s.
local function add_loss(run, algorithm)
  local o, loss = run.o, losses.read(run.o.loss)
  local function refuse(text, ...) error(("%s: option " .. text):format(run.owner, ...), 0) end
  o.loss, run.loss = loss, loss
  local fault = loss.fault and kbcd.allreduce_max(loss.fault(run.Y) and 1 or 0) == 1
  if fault then refuse("loss = %s: Y: %s", loss.name, loss.fault(run.Y) or "other targets expected, on another rank") end
  if algorithm.loss and not loss.hessian then
    refuse("loss: %s minimises losses with second derivatives, and %s has none; methods of least squares take it",
      run.owner, loss.name)
  end
  local by_admm = not algorithm.loss and loss.name ~= "squared"
  if o.admm_penalty and not by_admm then refuse("admm_penalty: it is of ADMM, for another loss than squared") end
  if not by_admm then return end
  if o.targets then refuse("targets: it does not go with loss = %s, which makes targets of its own", loss.name) end
  run.admm = new_admm(run, loss, run.Y, o.admm_penalty or loss.penalty(run.Y, run.X.n))
  o.admm_penalty = run.admm.penalty
  o.lambda, run.Y = run.lambda / run.admm.penalty, run.admm.targets()
end

local function start(algorithm, X, Y, given)
  if algorithm.solver and Y == nil and type(X) == "table" then return algorithm.solver(X) end
  -- Frees what earlier runs kept and nothing refers to. Compiled code refers to the closures that it was compiled for, and
  -- so to the blocks of their run.
  jit.flush()
  collectgarbage()
  local name = algorithm.name
  Y = targets(name, X, Y)
  local o = options.read(name, given, algorithm.schema, 3, X, { lambdas = "lambda", cache = "keep" })
  o.lambda = new_lambda(type(o.lambda) == "table" and { unpack(o.lambda) } or { o.lambda }, Y.ncols)
  o.b = o.b or nil
  if o.keep == "f32" then o.keep = "exact" end  -- the old spelling
  local taken
  X, taken = metric.taken(name, X, o)
  local run = new_run(name, X, Y, o, algorithm.blocks)
  run.metric = taken
  run.b_given = given.b ~= nil
  run.place, run.sources, run.title = algorithm.place, algorithm.sources, algorithm.title
  add_loss(run, algorithm)
  run.least_squares = algorithm.least_squares and not run.admm
  if o.weights then
    if o.start then error(name .. ": options start and weights do not go together", 2) end
    run.scale = scale_of(run, o.weights)
    run.Y:cmul(run.scale)
  end
  local begin = kbcd.now()
  local method = checked(run, algorithm.setup(X, run.Y, o, run))
  run.setup_seconds = kbcd.now() - begin
  add_targets(run, method)
  if o.start and (method.residual or run.admm) then
    local F = run.model:scores(X, run.model.coefficients)
    if run.admm then
      run.admm.begin(F)
      run.Y:copy(run.admm.targets())
    end
    if method.residual then method.residual:copy(method.fitted(F)) end
  end
  return steps(run, method)
end

local Algorithm = {
  __call = start,
  __tostring = function(a) return ("algorithm %s: %s"):format(a.name, a.about) end,
}

-- more: suits (a function(case) that says how well it suits some data, a number and the reason: `kbcd train` without
-- --method takes the algorithm with the largest, see methods.advised), solver (what a call with one table means: the solver
-- of systems that the algorithm is named after), least_squares (true: its solution is that of least squares,
-- min (1/n)|f(X) − Y|² + λ|f|², whose leave-one-out errors are known in closed form, and whose residual, of a model of all
-- rows, is Y − (K + nλI) α), loss (the default of the option loss, of an algorithm that minimises it itself: one with second
-- derivatives), preprocess (how the commands prepare rows for it, unless a flag says otherwise), own_errors (true: setup
-- returns errors), weights (false: setup refuses weights of rows, and says so).
return function(name, declared, setup, more)
  if type(name) ~= "string" or not name:match("^[%a_][%w_%-]*$") then
    error(("algorithm: a name of letters, digits and _ expected, got %s"):format(tostring(name)), 2)
  end
  if type(declared) ~= "table" then error(("algorithm %s: a table of options expected"):format(name), 2) end
  if type(setup) ~= "function" then error(("algorithm %s: a function setup(X, Y, o, run) expected"):format(name), 2) end
  local about = declared[1] or name
  local where = debug.getinfo and debug.getinfo(setup, "S") or {}
  local file, modules = lua_source.files(setup)
  local schema, own = schema_of("algorithm " .. name, declared, setup, more and more.loss)
  return setmetatable({
    name = name, title = about:match("^([^:]+):") or name, about = about, declared = declared, schema = schema, own = own,
    setup = setup, suits = more and more.suits, solver = more and more.solver,
    least_squares = more and more.least_squares, loss = more and more.loss, preprocess = more and more.preprocess,
    own_errors = more and more.own_errors, weights = more and more.weights,
    sources = { file = file or { checksum = lua_source.text(setup) }, modules = modules }, blocks = declared.b ~= false,
    place = ("%s:%d"):format(where.short_src or "?", where.linedefined or 0),
  }, Algorithm)
end
