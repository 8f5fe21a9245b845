-- Model files: one self-contained HDF5 file for a model or a λ path of them; README.md in this folder describes the layout.
-- Loading checks everything and runs nothing. A kernel or feature map that is written in Lua is stored by its name, its
-- parameters and a fingerprint of its source; to load the file, supply the code (model_file.load(path, { with = … })).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local table_group = require "kbcd.files.table_group"
local pipeline_group = require "kbcd.files.pipeline_group"
local options = require "kbcd.descent.options"
local read_model = require "kbcd.files.model_reader"
local Model = require "kbcd.descent.model"
local new_lambda = require "kbcd.descent.lambda"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local model_file = { format = read_model.format, version = read_model.version }

runtime.docs.model_file = [[model_file
Model files: one HDF5 file holds a model, or the models of a lambda path. scripts/kbcd/files/README.md describes the
format.]]

local piece = 4096  -- rows that are sent to rank 0 at a time

-- A kernel's or a map's name and parameters, and the fingerprint of one that is written in Lua.
local function write_function(file, group, f, more)
  file:group(group)
  file:set(group, "name", f.name)
  local source, params = read_model.source_of(f)
  for name, value in pairs(params or f.params or {}) do file:set(group, name, value) end
  for name, value in pairs(more or {}) do file:set(group, name, value) end
  if source then file:set(group, "source", source) end
end

local function write_settings(file, m, about)
  file:set("/", "format", model_file.format)
  file:set("/", "version", model_file.version)
  file:set("/", "kbcd", kbcd.version():match("kbcd (%S+)"))
  file:set("/", "form", m.form)
  file:set("/", "method", about.method)
  for name, value in pairs{ task = about.task, precision = m.X.dtype, n = about.n or m.X.n, d = m.d, k = m.lambda.k,
    best = about.best } do file:set("/", name, value) end
  local code = m.form == "kernel" and m.X.bytes
  if code then
    file:group("/bytes")
    for _, name in ipairs{ "scale", "shift" } do file:set("/bytes", name, code[name]) end
  end
  if m.kernel then write_function(file, "/kernel", m.kernel) end
  if m.map then
    write_function(file, "/map", m.map, { p = m.map.p, seed = m.map.seed })
    if m.map.kernel then write_function(file, "/kernel", m.map.kernel) end
  end
  file:append("/lambda", Matrix(m.lambdas):t())
  if m.loss and m.loss.name ~= "squared" then
    file:group("/loss")
    file:set("/loss", "name", m.loss.name)
    for name, value in pairs(m.loss.params) do file:set("/loss", name, value) end
  end
  if m.calibration and about.task == "classify" then file:append("/calibration", m.calibration) end
  for _, name in ipairs{ "metric", "offset" } do if m[name] then file:append("/" .. name, m[name]) end end
  if about.names then file:write_texts(about.task == "classify" and "/classes" or "/targets", about.names) end
  if about.table then table_group.write(file, about.table) end
  if about.pipeline then pipeline_group.write(file, about.pipeline) end
  local p = about.preprocess
  if p then
    file:group("/preprocess")
    for _, name in ipairs{ "kind", "shuffle" } do if p[name] then file:set("/preprocess", name, p[name]) end end
    if p.shift then
      file:append("/preprocess/shift", p.shift)
      file:append("/preprocess/scale", p.scale)
    end
  end
  for _, group in ipairs{ "metrics", "options" } do
    file:group("/" .. group)
    for name, value in pairs(about[group] or {}) do
      file:set("/" .. group, name, type(value) == "boolean" and tostring(value) or value)
    end
  end
end

-- Rows 1..count to a dataset, gathered piece by piece.
local function write_rows(file, name, count, gather)
  for first = 1, count, piece do
    local rows = gather(first, math.min(first + piece - 1, count))
    if file then file[kbcd.type(rows) == "Csr" and "append_sparse" or "append"](file, name, rows) end
  end
end

local function write_tables(file, m)
  local A = m:unscaled(m.coefficients)
  local rows = m.distributed and kbcd.DataSet.local_part(m.count, A)
  write_rows(file, "/coefficients", m.count, function(first, last)
    return rows and rows:gather(Index.range(first, last)) or A:rows(first, last)
  end)
  if m.form == "kernel" then
    local which, gather = m.centers or Index.range(1, m.count), m.X.sparse and m.X.gather_sparse or m.X.gather
    write_rows(file, "/centers", m.count, function(first, last) return gather(m.X, which:slice(first, last)) end)
  end
end

local function is_table(x) return x and type(x) ~= "table" and "a table" or nil end
local schema = {
  task = { options.one_of("classify", "regress"), "regress" }, names = { is_table, false }, best = { options.count, 1 },
  method = { options.text, "script" }, metrics = { is_table, false }, options = { is_table, false },
  preprocess = { is_table, false }, table = { is_table, false }, pipeline = { is_table, false },
  n = { options.maybe(options.count), false },
}

-- What load would refuse.
local function check(m, o)
  local function refuse(text, ...) error(("model_file.save: " .. text):format(...), 3) end
  if o.best > m.lambda.count then refuse("best: 1..%d expected, got %d", m.lambda.count, o.best) end
  if o.task == "classify" and not o.names then refuse("names of the %d classes expected", m.lambda.k) end
  if o.names and #o.names ~= m.lambda.k then refuse("names: %d expected, got %d", m.lambda.k, #o.names) end
  if m.loss and m.loss.task ~= "any" and m.loss.task ~= o.task then
    refuse("task: %s expected, for a model of the loss %s, got %s", m.loss.task, m.loss.name, o.task)
  end
  local c = m.calibration
  if c and (kbcd.type(c) ~= "Matrix" or c.nrows ~= m.lambda.count or c.ncols ~= m.lambda.k + 1 or not c:finite()) then
    refuse("calibration: a Matrix of %dx%d finite numbers expected, got %s", m.lambda.count, m.lambda.k + 1, tostring(c))
  end
  local fault = o.task == "classify" and read_model.names_fault(o.names)
  if fault then refuse("names: %s", fault) end
  if kbcd.allreduce_min(m.coefficients:finite() and 1 or 0) == 0 then refuse("the coefficients hold NaN or Inf") end
  if o.pipeline then
    local _, columns = kbcd.pipelines.checked(o.pipeline)
    if columns ~= m.d then refuse("pipeline: one that makes %d columns expected, it makes %d", m.d, columns) end
  end
  if m.map and m.map.name ~= "columns" and not m.map.kernel and not read_model.source_of(m.map) then
    refuse("the map '%s' cannot be stored in a file", m.map.name)
  end
end

runtime.docs["model_file.save"] = [[model_file.save(path, model [, about])
Writes a Model to one HDF5 file; all ranks call it. An existing file is replaced once the new one is complete. about: task
("classify" or "regress"), names (of the k columns of scores: classes or targets), best (which lambda), method (its name),
metrics and options (tables of numbers, texts or lists), preprocess (of preprocess.fit), table (of read_table), pipeline (a
state of pipelines.fit). model.loss and model.calibration are stored as well.]]
function model_file.save(path, m, about)
  if options.model(m) then error("model_file.save: a Model expected, got " .. kbcd.type(m), 2) end
  local o = options.read("model_file.save", about or {}, schema)
  check(m, o)
  kbcd.output_file.write(path, function(name)
    local file = kbcd.rank() == 0 and kbcd.h5.create(name)
    if file then write_settings(file, m, o) end
    write_tables(file, m)
    if file then file:close() end
  end)
end

runtime.docs["model_file.load"] = [[model_file.load(path [, options])
A Model from a file, on any number of ranks: model[l]:predict(X) and model:predict(X) as for an algorithm's model, for data
before preprocessing; model.best is the position of the best lambda. Also method, task, names, n, d, k, precision,
preprocess, table, pipeline, metrics, options, loss, calibration. options: with (a kernel or a feature map, for a model whose
own is written in Lua). All ranks call it.]]
function model_file.load(path, given)
  local o = options.read("model_file.load", given or {}, { with = { function(x)
    local kind = kbcd.type(x)
    return x and kind ~= "Kernel" and kind ~= "FeatureMap" and "a kernel or a feature map" or nil
  end, false } })
  local m = read_model(path, o.with or nil)
  m.lambda = new_lambda(m.lambdas, m.k)
  local columns = m.metric and m.metric.ncols > 1 and m.metric.ncols or m.d
  m.X = m.centers or kbcd.DataSet.generate(1, columns, function() return Matrix.zeros(1, columns) end):to(m.precision)
  m.centers = nil
  local model = Model.new(m)
  local in_metric = model.prepared
  -- The type that rows are best read in: all digits that a file has where they are preprocessed.
  model.reading_precision = not (m.preprocess and m.preprocess.kind) and m.precision or nil

  -- Rows as the model needs them: preprocessed, in its precision, in its metric.
  function model.prepared(self, X)
    if m.preprocess and m.preprocess.kind then
      X = X:to_dense()
      X = kbcd.preprocess.apply(m.preprocess, kbcd.DataSet.local_part(X.n, X.rows:clone()))
    end
    X = X:to(m.precision)
    if m.metric then return in_metric(self, X) end
    if m.map or m.preprocess and m.preprocess.kind then return X end
    return m.X.sparse and X:to_sparse() or X:to_dense()
  end
  return model
end

return model_file
