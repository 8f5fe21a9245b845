-- run: what an algorithm's setup gets from the driver: its model and its state, declared once, which gives checkpoints,
-- resume, the memory check, predictions, test scores and the model file.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Model = require "kbcd.descent.model"
local memory_check = require "kbcd.descent.memory_check"
local streams = require "kbcd.support.streams"
local warm_start = require "kbcd.descent.warm_start"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.run = [[run
What setup(X, Y, o, run) of an algorithm gets. run.kernel_model(kernel [, J, bytes]) makes its model f(x) = K(x, J) alpha
(J: an Index of rows of X; all rows unless given), run.feature_model(map) makes f(x) = z(x) w; model.coefficients is alpha
or w, zero at first (or as the option `start` says): this rank's rows where the model is of all rows, else all rows on every
rank, k columns for each lambda. run.centers(p, kernel) draws p rows of X as the options say. run.distributed(name, A) and
run.replicated(name, A) declare a Matrix of this rank's rows, and one that every rank has, as state: it is saved and
restored with a checkpoint, so change it in place. run.columns is the number of columns of all models together; run.epoch
and run.t (of all steps, from 1) count in steps. bytes: what else setup will allocate on a rank, for the check of memory
before the run.]]

local methods = {}

-- The model of the run; b, and what it needs in memory, are known now. bytes: what else setup will allocate on a rank.
local function model_of(run, m, bytes)
  if run.model then error(("%s: setup has made two models; one expected (%s)"):format(run.owner, run.place), 0) end
  local X, o, lambda = run.X, run.o, run.lambda
  m.X, m.lambda, m.scale, m.loss, m.metric = X, lambda, run.scale, run.loss, run.metric
  local all_rows = m.kernel and not m.centers
  local count = m.map and m.map.p or m.centers and #m.centers or X.n
  if run.blocks then
    if not run.b_given then o.b = math.min(o.b or 2048, count) end
    if o.b > count then
      error(("%s: b = %d is larger than %s = %d"):format(run.owner, o.b, all_rows and "n" or "p", count), 0)
    end
  end
  local stays = o.epochs > 1 and o.keep ~= "none"
  m.keep, m.b = stays and o.partition == "fixed" and o.keep or nil, o.b  -- a block that does not stay is kept for its step
  memory_check(run.owner, X, o, {
    columns = run.columns, count = count,
    distributed = (all_rows and o.partition == "fixed" and 5 or 4) + (o.checkpoint and 1 or 0) + (run.admm and 8 or 0),
    replicated = all_rows and 0 or 3, bytes = bytes or 0, systems = not run.blocks and 0 or m.map and 1 or m.centers and 2
  or kbcd.threads(), })
  if o.partition == "regrouped" then
    local K = all_rows and stays and not o.choose and
      kbcd.KernelMatrix(X, nil, m.kernel, { keep = o.keep, b = o.b, scale = run.scale, seed = o.seed })
    if K and K.stays then m.triangle = K.triangle else o.partition = "fresh" end
    if K and not K.stays then K:release() end
  end
  m.coefficients = Matrix.zeros(all_rows and X.local_n or count, run.columns)
  run.model = Model.new(m)
  methods.own(run, all_rows and "distributed" or "replicated", "coefficients", m.coefficients)
  if o.start then warm_start(run, o.start) end
  return run.model
end

function methods.kernel_model(run, kernel, J, bytes) return model_of(run, { kernel = kernel, centers = J }, bytes) end
function methods.feature_model(run, map, bytes) return model_of(run, { map = map }, bytes) end

-- States of setup have their own names; the driver's begin with "kbcd ".
local function declare(run, group, name, A)
  local function refuse(text, ...) error(("%s: run.%s: %s (%s)"):format(run.owner, group, text:format(...), run.place), 0) end
  if type(name) ~= "string" or not name:match("^[%w_]+$") then
    refuse("a name of letters and digits expected, got %s", tostring(name))
  end
  if kbcd.type(A) ~= "Matrix" then refuse("%s: a Matrix expected, got %s", name, kbcd.type(A)) end
  if run.state.distributed[name] or run.state.replicated[name] then refuse("there is a state '%s' already", name) end
  run.state[group][name] = A
  return A
end

function methods.distributed(run, name, A)
  declare(run, "distributed", name, A)
  if A.nrows ~= run.X.local_n then
    error(("%s: run.distributed: %s: this rank's %d rows (X.local_n) expected, got %d (%s)"):format(run.owner, name,
      run.X.local_n, A.nrows, run.place), 0)
  end
  return A
end

function methods.replicated(run, name, A) return declare(run, "replicated", name, A) end

-- The driver's own state.
function methods.own(run, group, name, A)
  run.state[group]["kbcd " .. name] = A
  return A
end

-- p rows of X: those of the option `centers`, or drawn by the method that it names; those of a model to start from first.
function methods.centers(run, p, kernel)
  local X, o = run.X, run.o
  if p > X.n then error(("%s: p = %d is larger than n = %d"):format(run.owner, p, X.n), 0) end
  if kbcd.type(o.centers) == "Index" then
    if #o.centers ~= p then
      error(("%s: option centers: an Index of p = %d rows expected, got %d"):format(run.owner, p, #o.centers), 0)
    end
    return o.centers
  end
  if o.start and o.centers == "uniform" then return warm_start.centers(run, o.start, p) end
  if o.centers ~= "uniform" then
    return (kbcd.centers[o.centers](X, p, kernel, { seed = o.seed }))
  end
  return Index.sample(X.n, p, { seed = o.seed, stream = streams.centers })
end

-- given_Y: the targets as the caller gave them; Y: those of the method, which change with the options targets and loss.
return function(owner, X, Y, o, blocks)
  local bound = { owner = owner, X = X, Y = Y, given_Y = Y, o = o, blocks = blocks, lambda = o.lambda,
    columns = o.lambda.count * Y.ncols, state = { distributed = {}, replicated = {} } }
  -- run.name(…), without a colon, as an algorithm calls them.
  for name, f in pairs(methods) do bound[name] = function(...) return f(bound, ...) end end
  return bound
end
