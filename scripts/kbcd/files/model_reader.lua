-- model_reader(path): what a model file says, each part checked before it is used; model_file.load makes a model of it.

local kbcd = require "kbcd"

local reader = { format = "kbcd model", version = 1 }

local function refuse(path, text, ...) error(("%s: " .. text):format(path, ...), 0) end

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

local function read_kernel(file)
  local params = attributes(file, "/kernel")
  local name = params.name
  params.name = nil
  if type(name) ~= "string" or name == "custom" or rawget(kbcd.kernel, name) == nil then
    refuse(file.path, "/kernel: the kernel '%s' is not known here", tostring(name))
  end
  for key, value in pairs(params) do
    if type(value) ~= "number" or not is_finite(value) then refuse(file.path, "/kernel: %s: a number expected", key) end
  end
  if params.gamma and params.sigma then params.sigma = nil end  -- it follows from gamma
  local good, kernel = pcall(kbcd.kernel[name], params)
  if not good then refuse(file.path, "/kernel: %s", kernel) end
  return kernel
end

local function read_map(file, m)
  local kind = field(file, "/map", "kind", "string", "a feature map that is known here", function(x)
    return x ~= "custom" and rawget(kbcd.features, x) ~= nil
  end)
  m.map = { kind = kind, p = count(file, "/map", "p", 2 ^ 40), seed = seed(file, "/map", "seed") }
  local good, map = pcall(kbcd.features[kind], { kernel = m.kernel, p = m.map.p, seed = m.map.seed })
  if not good then refuse(file.path, "/map: %s", map) end
  m.feature_map = map
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

local function read_lambdas(file)
  local shape, list = file:shape("/lambdas"), {}
  if #shape ~= 2 or shape[1] < 1 or shape[1] > 1e6 then refuse(file.path, "/lambdas: a column of numbers expected") end
  local column = read_whole(file, "/lambdas", shape[1], 1)
  for l = 1, shape[1] do
    list[l] = column(l, 1)
    if list[l] <= 0 then refuse(file.path, "/lambdas: numbers > 0 expected, got %g", list[l]) end
  end
  return list
end

local function read(file)
  local path = file.path
  local marked, format = pcall(file.get, file, "/", "format")
  if not marked or format ~= reader.format then refuse(path, "no kbcd model file") end
  local version = file:get("/", "version")
  if version ~= reader.version then
    refuse(path, "a model of format version %s; this kbcd reads version %d", tostring(version), reader.version)
  end
  local m = {
    method = field(file, "/", "method", "string", one_of("full", "nystrom", "rf")),
    task = field(file, "/", "task", "string", one_of("classify", "regress")),
    precision = field(file, "/", "precision", "string", one_of("f32", "f64")),
    n = count(file, "/", "n"), d = count(file, "/", "d"), k = count(file, "/", "k"),
    kernel = read_kernel(file), lambdas = read_lambdas(file),
    metrics = attributes(file, "/metrics"), options = attributes(file, "/options"),
  }
  m.best = count(file, "/", "best", #m.lambdas)
  m.preprocess = read_preprocess(file, m.d)
  local names = m.task == "classify" and "/classes" or "/targets"
  m.names = file:has(names) and file:texts(names) or nil
  if m.task == "classify" and not m.names then refuse(path, "/classes is missing") end
  if m.names and #m.names ~= m.k then refuse(path, "%s: %d names expected, got %d", names, m.k, #m.names) end

  local width = m.k * #m.lambdas
  if m.method == "rf" then
    read_map(file, m)
    m.coefficients = read_whole(file, "/coefficients", m.map.p, width)
  else
    local sparse = file:has("/centers/starts")
    local rows = sparse and file:sparse_rows("/centers") or file:shape("/centers")[1]
    if rows < 1 or m.method == "full" and rows ~= m.n then refuse(path, "/centers: %d rows expected, got %d", m.n, rows) end
    if not sparse then require_shape(file, "/centers", rows, m.d) end
    require_shape(file, "/coefficients", rows, width)
    local coefficients = read_rows(file, "/coefficients", rows, width, "f64")
    m.centers = sparse and read_sparse_rows(file, "/centers", m.d, m.precision, coefficients)
      or read_rows(file, "/centers", rows, m.d, m.precision)
    m.coefficients = coefficients.rows
  end
  return m
end

return setmetatable(reader, { __call = function(_, path)
  local file = kbcd.h5.open(path, true)
  local good, m = pcall(read, file)
  file:close()
  if not good then error(m, 0) end
  return m
end })
