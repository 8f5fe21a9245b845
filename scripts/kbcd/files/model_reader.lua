-- model_reader(path): reads a model file and checks each part before it is used; model_file.load makes a model of it.

local kbcd = require "kbcd"
local losses = require "kbcd.descent.loss"
local table_group = require "kbcd.files.table_group"
local pipeline_group = require "kbcd.files.pipeline_group"
local lua_source = require "kbcd.support.lua_source"
local stand_in = require "kbcd.files.stand_in"
local without_places = require "kbcd.support.without_places"
local from_root = require "kbcd.support.from_root"

local reader = { format = "kbcd model", version = 2 }

-- The fingerprint of a kernel or map that is written in Lua, and its parameters.
reader.source_of = lua_source.of

local function refuse(path, text, ...) error(("%s: " .. text):format(path, ...), 0) end

-- What is wrong with the names of classes, which must tell them apart; nil where nothing is.
function reader.names_fault(names)
  local places = {}
  for i, name in ipairs(names or {}) do
    if name == "" then return ("name %d is empty"):format(i) end
    if places[name] then return ("names %d and %d are both '%s'"):format(places[name], i, tostring(name)) end
    places[name] = i
  end
end

local function is_finite(x) return x == x and math.abs(x) < math.huge end

-- An attribute that must have a type and pass a test.
local function field(file, object, name, kind, expected, test)
  local value = file:get(object, name)
  local function show() return kind == "string" and "'" .. tostring(value) .. "'" or tostring(value) end
  if type(value) ~= kind or not test(value) then
    refuse(file.path, "%s: attribute %s: %s expected, got %s", object, name, expected, show())
  end
  return value
end

local function one_of(...)
  local choices = { ... }
  return "one of " .. table.concat(choices, ", "), function(x)
    for _, choice in ipairs(choices) do if x == choice then return true end end
    return false
  end
end

local function seed(file, object, name)
  return field(file, object, name, "number", "a whole number from 0 up", function(x)
    return x >= 0 and x % 1 == 0 and x <= 2 ^ 53
  end)
end

local function count(file, object, name, most)
  return field(file, object, name, "number", "a whole number from 1 up", function(x)
    return x >= 1 and x % 1 == 0 and x <= (most or 2 ^ 53)
  end)
end

-- The attributes of a group, numbers or texts or lists, by name.
local function attributes(file, group)
  local all = {}
  for _, name in ipairs(file:attributes(group)) do all[name] = file:get(group, name) end
  return all
end

local function require_shape(file, name, rows, cols)
  local shape, dtype = file:shape(name)
  if #shape ~= 2 or shape[1] ~= rows or shape[2] ~= cols then
    refuse(file.path, "%s: %.14g x %.14g numbers expected, it is %s", name, rows, cols, table.concat(shape, " x "))
  end
  return dtype
end

-- All of a small table.
local function read_whole(file, name, rows, cols)
  require_shape(file, name, rows, cols)
  local all = file:read(name, 1, rows)
  if not all:finite() then refuse(file.path, "%s: NaN or Inf in it", name) end
  return all
end

-- In place of code that was supplied: to read the file without it, with the name and parameters alone (kbcd inspect).
reader.unsupplied = {}

-- A kernel or map that is written in Lua: `with`, if it is the one that the file names.
local function supplied(file, group, params, with)
  local name, source = params.name, params.source
  local what = group == "/kernel" and "kernel" or "feature map"
  if with == reader.unsupplied then
    if group == "/map" then count(file, "/map", "p", 2 ^ 40) end
    return stand_in(params)
  end
  if not with then
    refuse(file.path, "%s: the %s '%s' is written in Lua; supply its code: --with FILE.lua (a file that returns it)", group,
      what, tostring(name))
  end
  if kbcd.type(with) ~= (what == "kernel" and "Kernel" or "FeatureMap") or with.name ~= name then
    refuse(file.path, "%s: the %s '%s' expected, and %s was supplied", group, what, tostring(name), tostring(with))
  end
  local its_source, its_params = lua_source.of(with)
  local known = { name = true, source = true, p = group == "/map" or nil, seed = group == "/map" or nil }
  for _, from in ipairs{ params, its_params or {} } do
    for key in pairs(from) do
      if not known[key] and params[key] ~= (its_params or {})[key] then
        refuse(file.path, "%s: %s = %s there, and %s in what was supplied", group, key, tostring(params[key]),
          tostring((its_params or {})[key]))
      end
    end
  end
  if its_source ~= source then
    refuse(file.path, "%s: the source of the %s '%s' differs from the one that the model was trained with", group, what, name)
  end
  return with
end

local function numbers(file, group, params)
  for key, value in pairs(params) do
    if type(value) ~= "number" or not is_finite(value) then refuse(file.path, "%s: %s: a number expected", group, key) end
  end
end

local function read_kernel(file, with)
  local params = attributes(file, "/kernel")
  if params.source then return supplied(file, "/kernel", params, with) end
  local name = params.name
  params.name = nil
  if type(name) ~= "string" or name == "custom" or rawget(kbcd.kernel, name) == nil then
    refuse(file.path, "/kernel: the kernel '%s' is not known here", tostring(name))
  end
  numbers(file, "/kernel", params)
  if params.gamma and params.sigma then params.sigma = nil end  -- it follows from gamma
  local good, kernel = pcall(kbcd.kernel[name], params)
  if not good then refuse(file.path, "/kernel: %s", kernel) end
  return kernel
end

local function read_map(file, with)
  local params = attributes(file, "/map")
  if params.source then return supplied(file, "/map", params, with) end
  params.name, params.kind = params.name or params.kind, nil  -- as version 1 calls it
  local name = params.name
  if type(name) ~= "string" or name == "custom" or rawget(kbcd.features, name) == nil then
    refuse(file.path, "/map: the feature map '%s' is not known here", tostring(name))
  end
  count(file, "/map", "p", 2 ^ 40)
  if name ~= "columns" then seed(file, "/map", "seed") end  -- which has nothing random
  params.name = nil
  numbers(file, "/map", params)
  if file:has("/kernel") then params.kernel = read_kernel(file) end
  local good, map = pcall(kbcd.features[name], params)
  if not good then refuse(file.path, "/map: %s", map) end
  return map
end

local function read_preprocess(file, d)
  if not file:has("/preprocess") then return nil end
  local given, p = attributes(file, "/preprocess"), {}
  if given.shuffle then p.shuffle = seed(file, "/preprocess", "shuffle") end
  if given.shuffle and not given.kind then return p end
  p.kind = field(file, "/preprocess", "kind", "string", one_of(unpack(kbcd.preprocess.kinds)))
  if p.kind ~= "unit-norm" then
    p.shift, p.scale = read_whole(file, "/preprocess/shift", 1, d), read_whole(file, "/preprocess/scale", 1, d)
  end
  return p
end

-- The loss that the model was trained with; squared without the group.
local function read_loss(file, task)
  if not file:has("/loss") then return losses.read("squared") end
  local params = attributes(file, "/loss")
  local name = params.name
  params.name = nil
  numbers(file, "/loss", params)
  for _, declared in ipairs(losses.declared) do
    if declared.name == name then
      local good, loss = pcall(declared.new, params)
      if not good then refuse(file.path, "/loss: %s", (tostring(loss):gsub("^losses%.", ""))) end
      if loss.task ~= "any" and loss.task ~= task then
        refuse(file.path, "/loss: %s is for the task %s, and the model's is %s", name, loss.task, task)
      end
      return loss
    end
  end
  refuse(file.path, "/loss: the loss '%s' is not known here; put its file into kbcd/losses of a folder of KBCD_PATH",
    tostring(name))
end

-- The optional metric L of a model, d x d' or d x 1, and the optional offset of its scores, 1 x k.
local function read_metric(file, m)
  if file:has("/metric") then
    local shape = file:shape("/metric")
    if #shape ~= 2 or shape[2] < 1 or shape[2] > 2 ^ 31 then refuse(file.path, "/metric: a matrix expected") end
    m.metric = read_whole(file, "/metric", m.d, shape[2]):to("f64")
  end
  if file:has("/offset") then m.offset = read_whole(file, "/offset", 1, m.k):to("f64") end
end

-- This rank's rows of a large table.
local function read_rows(file, name, rows, cols, dtype)
  return kbcd.DataSet.generate(rows, cols, function(first, last)
    local part = file:read(name, first, last, dtype)
    if not part:finite() then refuse(file.path, "%s: NaN or Inf in it", name) end
    return part
  end)
end

-- This rank's rows of a large table of sparse rows; of the same ones as of `beside`.
local function read_sparse_rows(file, name, cols, dtype, beside)
  local rows = file:read_sparse(name, cols, beside.first, beside.first + beside.local_n - 1, dtype)
  local finite, X = pcall(kbcd.DataSet.local_part, beside.n, rows)
  if not finite then refuse(file.path, "%s: NaN or Inf in it", name) end
  return X
end

-- Centres that the model kept as bytes; the file has the numbers that they stand for.
local function as_bytes(file, X)
  if not file:has("/bytes") then return X end
  local function number(name) return field(file, "/bytes", name, "number", "a number", function() return true end) end
  local good, packed = pcall(X.to_bytes, X, number "scale", number "shift")
  if not good then refuse(file.path, "/bytes: %s", without_places(packed)) end
  return packed
end

local function read_lambdas(file, version)
  local name, list = version == 1 and "/lambdas" or "/lambda", {}
  local shape = file:shape(name)
  if #shape ~= 2 or shape[1] < 1 or shape[1] > 1e6 then refuse(file.path, "%s: a column of numbers expected", name) end
  local column = read_whole(file, name, shape[1], 1)
  for l = 1, shape[1] do
    list[l] = column(l, 1)
    if list[l] <= 0 then refuse(file.path, "%s: numbers > 0 expected, got %g", name, list[l]) end
  end
  return list
end

-- Version 1 has the method, one of three, in place of the form.
local forms = { full = "kernel", nystrom = "kernel", rf = "features" }

local function read_form(file, version)
  if version > 1 then return field(file, "/", "form", "string", one_of("kernel", "features")) end
  return forms[field(file, "/", "method", "string", one_of("full", "nystrom", "rf"))]
end

local function read(file, with)
  local path = file.path
  local marked, format = pcall(file.get, file, "/", "format")
  if not marked or format ~= reader.format then refuse(path, "no kbcd model file") end
  local version = file:get("/", "version")
  if version ~= 1 and version ~= reader.version then
    refuse(path, "a model of format version %s; this kbcd reads versions 1 and %d", tostring(version), reader.version)
  end
  local m = {
    path = path, form = read_form(file, version),
    method = field(file, "/", "method", "string", "a text", function() return true end),
    task = field(file, "/", "task", "string", one_of("classify", "regress")),
    precision = field(file, "/", "precision", "string", one_of("f32", "f64")),
    n = count(file, "/", "n"), d = count(file, "/", "d"), k = count(file, "/", "k"),
    lambdas = read_lambdas(file, version),
    metrics = attributes(file, "/metrics"), options = attributes(file, "/options"),
  }
  m.best = count(file, "/", "best", #m.lambdas)
  m.preprocess, m.table, m.pipeline = read_preprocess(file, m.d), table_group.read(file, m.d), pipeline_group.read(file, m.d)
  local names = m.task == "classify" and "/classes" or "/targets"
  m.names = file:has(names) and file:texts(names) or nil
  if m.task == "classify" and not m.names then refuse(path, "/classes is missing") end
  if m.names and #m.names ~= m.k then refuse(path, "%s: %d names expected, got %d", names, m.k, #m.names) end
  local fault = m.task == "classify" and reader.names_fault(m.names)
  if fault then refuse(path, "%s: different names expected: %s", names, fault) end

  m.loss = read_loss(file, m.task)
  if file:has("/calibration") then
    if m.task ~= "classify" then refuse(path, "/calibration: a model of classes expected with it, got one to %s", m.task) end
    m.calibration = read_whole(file, "/calibration", #m.lambdas, m.k + 1)
  end

  read_metric(file, m)
  local columns, width = m.metric and m.metric.ncols > 1 and m.metric.ncols or m.d, m.k * #m.lambdas  -- in the metric
  if m.form == "features" then
    m.map = read_map(file, with)
    if m.map.name == "columns" and m.map.p ~= columns then
      refuse(path, "/map: the %d columns of the rows expected, got %d", columns, m.map.p)
    end
    m.coefficients = read_whole(file, "/coefficients", m.map.p, width)
  else
    m.kernel = read_kernel(file, with)
    local sparse = file:has("/centers/starts")
    local rows = sparse and file:sparse_rows("/centers") or file:shape("/centers")[1]
    if rows < 1 then refuse(path, "/centers: at least one row expected, got none") end
    if version == 1 and m.method == "full" and rows ~= m.n then
      refuse(path, "/centers: %d rows expected, got %d", m.n, rows)
    end
    if not sparse then require_shape(file, "/centers", rows, columns) end
    require_shape(file, "/coefficients", rows, width)
    local coefficients = read_rows(file, "/coefficients", rows, width, "f64")
    m.centers = sparse and read_sparse_rows(file, "/centers", columns, m.precision, coefficients)
      or as_bytes(file, read_rows(file, "/centers", rows, columns, m.precision))
    m.coefficients = coefficients.rows
  end
  return m
end

return setmetatable(reader, { __call = function(_, path, with)
  return from_root(path, function(here)
    local file = kbcd.h5.open(here, true)
    local good, m = pcall(read, file, with)
    file:close()
    if not good then error(m, 0) end
    return m
  end)
end })
