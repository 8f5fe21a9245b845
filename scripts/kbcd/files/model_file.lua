-- Model files: one self-contained HDF5 file a trained λ path; README.md, "Model files", describes the layout. Loading checks
-- everything and runs nothing.

local kbcd = require "kbcd"
local new_path = require "kbcd.descent.path"
local runtime = require "kbcd.runtime"
local read_model = require "kbcd.files.model_reader"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local model_file = { format = read_model.format, version = read_model.version }

local piece = 4096  -- rows that travel to rank 0 at a time

local function write_settings(file, m)
  file:set("/", "format", model_file.format)
  file:set("/", "version", model_file.version)
  file:set("/", "kbcd", kbcd.version():match("kbcd (%S+)"))
  for _, name in ipairs{ "method", "task", "precision", "n", "d", "k", "best" } do file:set("/", name, m[name]) end
  file:group("/kernel")
  file:set("/kernel", "name", m.kernel.name)
  for name, value in pairs(m.kernel.params) do file:set("/kernel", name, value) end
  if m.map then
    file:group("/map")
    for _, name in ipairs{ "kind", "p", "seed" } do file:set("/map", name, m.map[name]) end
  end
  file:append("/lambdas", Matrix(m.model.lambdas):t())
  if m.names then file:write_texts(m.task == "classify" and "/classes" or "/targets", m.names) end
  if m.preprocess then
    file:group("/preprocess")
    for _, name in ipairs{ "kind", "shuffle" } do
      if m.preprocess[name] then file:set("/preprocess", name, m.preprocess[name]) end
    end
    if m.preprocess.shift then
      file:append("/preprocess/shift", m.preprocess.shift)
      file:append("/preprocess/scale", m.preprocess.scale)
    end
  end
  for _, group in ipairs{ "metrics", "options" } do
    file:group("/" .. group)
    for name, value in pairs(m[group] or {}) do
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
  local columns, gather = {}
  for l, one in ipairs(m.model) do columns[l] = one.coefficients end
  columns = Matrix.hcat(columns)
  if m.method == "full" then  -- each rank has the rows of its own data
    local spread = kbcd.DataSet.local_part(m.n, columns)
    gather = function(first, last) return spread:gather(Index.range(first, last)) end
  else
    gather = function(first, last) return columns:rows(first, last) end
  end
  local count = m.method == "full" and m.n or columns.nrows
  write_rows(file, "/coefficients", count, gather)
  if m.method ~= "rf" then
    local which, rows = m.model.centers or Index.range(1, m.n), m.X.sparse and m.X.gather_sparse or m.X.gather
    write_rows(file, "/centers", count, function(first, last) return rows(m.X, which:slice(first, last)) end)
  end
end

runtime.docs["model_file.save"] = [[model_file.save(path, m)
Writes a λ path of models to one HDF5 file; all ranks call it. An existing file is replaced once the new one is complete.
m: method ("full", "nystrom", "rf"), task ("classify", "regress"), model (step.model), kernel, map ({kind, p, seed}, of random
features), X (training data, after preprocessing), best (which λ), preprocess, names (of classes or targets), metrics (lists
of numbers), options.]]
function model_file.save(path, m)
  if rawget(kbcd.kernel, m.kernel.name) == nil or m.kernel.name == "custom" then
    error(("model_file.save: the kernel '%s' is written in Lua and cannot be stored in a file"):format(m.kernel.name), 2)
  end
  local filled = setmetatable({
    n = m.X.n, d = m.X.d, precision = m.X.dtype, k = m.model[1].coefficients.ncols, best = m.best or 1,
  }, { __index = m })
  kbcd.output_file.write(path, function(name)
    local file = kbcd.rank() == 0 and kbcd.h5.create(name)
    if file then write_settings(file, filled) end
    write_tables(file, filled)
    if file then file:close() end
  end)
end

-- The blocks of f(x) and the rows of the coefficients that belong to them, as path wants them.
local function kernel_blocks(m)
  local n = m.centers.n
  return n, function(X, I) return kbcd.KernelBlock(X, I, m.kernel, { centers = m.centers, keep = "none" }) end,
    function(C, I) return kbcd.allreduce(kbcd.Selector(n, I):t() * C) end
end

local function feature_blocks(m)
  return m.map.p, function(X, I) return kbcd.RandomFeaturesBlock(X, I, m.feature_map, { keep = "none" }) end,
    function(C, I) return C:take(I) end
end

runtime.docs["model_file.load"] = [[model_file.load(path)
A λ path of models from a file, on any number of ranks: model[l]:predict(X) and model:predict(X) as an algorithm's, of data
as it was before preprocessing; model.best is the best λ's place. Also method, task, kernel, lambdas, names, n, d, k,
precision, preprocess, metrics, options. All ranks call it.]]
function model_file.load(path)
  local m = read_model(path)
  local count, block, rows = (m.method == "rf" and feature_blocks or kernel_blocks)(m)
  local models = new_path{
    lambdas = m.lambdas, k = m.k, d = m.d, coefficients = m.coefficients, count = count, b = math.min(2048, count),
    block = block, rows = rows, test = false,
  }
  local function prepared(X)
    if kbcd.type(X) ~= "DataSet" then error(("predict: a DataSet expected, got %s"):format(kbcd.type(X)), 3) end
    if X.d ~= m.d then
      error(("%s: the model was trained on rows of %d numbers, these have %d"):format(path, m.d, X.d), 0)
    end
    X = X:to(m.precision)
    if m.preprocess and m.preprocess.kind then
      X = X:to_dense()
      return kbcd.preprocess.apply(m.preprocess, kbcd.DataSet.local_part(X.n, X.rows))
    end
    if not m.centers then return X end
    return m.centers.sparse and X:to_sparse() or X:to_dense()
  end
  for l, one in ipairs(models) do
    m[l] = { lambda = one.lambda, coefficients = one.coefficients,
      predict = function(_, X) return one:predict(prepared(X)) end }
  end
  function m.predict(_, X) return models:predict(prepared(X)) end
  return m
end

return model_file
