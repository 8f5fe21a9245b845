-- lambda: a number for each model of a λ path. The columns of the models are side by side: model l of L has columns
-- (l − 1) k + 1 .. l k of every matrix. An algorithm writes n * lambda * A as for a single λ, and each model's columns of
-- A are scaled by its own.

local runtime = require "kbcd.runtime"
local formula = require "kbcd.descent.formula"
local Matrix = runtime.Matrix

runtime.docs.lambda = [[lambda
The type of o.lambda in an algorithm: a number for each model of the path. n * lambda, lambda + 1, -lambda and the like are
lambdas again; lambda * A scales each model's columns of a Matrix A of k L columns; lambda:each(Y) is Y side by side L
times, or a copy of Y where it has k L columns; lambda[l] is a number, lambda.count is L, lambda.k the columns of a model;
lambda:columns(A, l) is a view of model l's columns; lambda:row() is a 1 x k L Matrix of each column's λ.]]

local methods = {}
local Lambda = { __index = methods }

local function new(values, k)
  local lambda = { values = values, count = #values, k = k }
  for l, value in ipairs(values) do lambda[l] = value end
  return setmetatable(lambda, Lambda)
end

local function is_lambda(x) return type(x) == "table" and getmetatable(x) == Lambda end

local function cannot(what, a, b)
  local function name(x) return is_lambda(x) and "lambda" or runtime.type(x) end
  error(("cannot %s %s and %s"):format(what, name(a), name(b)), 3)
end

-- Number by number.
local function combined(what, a, b, f)
  local of = is_lambda(a) and a or b
  if not (is_lambda(a) or type(a) == "number") or not (is_lambda(b) or type(b) == "number") then cannot(what, a, b) end
  local values = {}
  for l = 1, of.count do
    values[l] = f(type(a) == "number" and a or a.values[l], type(b) == "number" and b or b.values[l])
  end
  return new(values, of.k)
end

local function scaled(lambda, A)
  if A.ncols ~= lambda.count * lambda.k then
    error(("lambda * A: a Matrix of %d columns expected (%d models of %d), got %dx%d"):format(lambda.count * lambda.k,
      lambda.count, lambda.k, A.nrows, A.ncols), 3)
  end
  if lambda.count == 1 then return lambda.values[1] * A end
  local result = A:clone()
  for l, value in ipairs(lambda.values) do result:cols((l - 1) * lambda.k + 1, l * lambda.k):scale(value) end
  return result
end

function Lambda.__mul(a, b)
  if is_lambda(a) and runtime.type(b) == "Matrix" then return scaled(a, b) end
  if formula.is(b) then return formula.scaled(a, b) end
  return combined("multiply", a, b, function(x, y) return x * y end)
end
function Lambda.__add(a, b)
  if formula.is(b) then return b + a end
  if type(a) == "function" or type(b) == "function" then return formula.sum(a, b) end
  return combined("add", a, b, function(x, y) return x + y end)
end
function Lambda.__sub(a, b) return combined("subtract", a, b, function(x, y) return x - y end) end
function Lambda.__div(a, b) return combined("divide", a, b, function(x, y) return x / y end) end
function Lambda.__pow(a, b) return combined("take the power of", a, b, function(x, y) return x ^ y end) end
function Lambda.__unm(a) return -1 * a end
function Lambda.__tostring(lambda)
  local texts = {}
  for l, value in ipairs(lambda.values) do texts[l] = ("%g"):format(value) end
  return "lambda " .. table.concat(texts, " ")
end

-- A side by side, or as it is where each model has its own columns already (targets of the option `loss`).
function methods.each(lambda, A)
  if lambda.count > 1 and A.ncols == lambda.count * lambda.k then return A:clone() end
  local copies = {}
  for l = 1, lambda.count do copies[l] = A end
  return Matrix.hcat(copies)
end

function methods.columns(lambda, A, l) return A:cols((l - 1) * lambda.k + 1, l * lambda.k) end

-- Each model's columns, as a list of views.
function methods.split(lambda, A)
  local list = {}
  for l = 1, lambda.count do list[l] = lambda:columns(A, l) end
  return list
end

function methods.row(lambda)
  local row = Matrix.zeros(1, lambda.count * lambda.k)
  for l, value in ipairs(lambda.values) do lambda:columns(row, l):fill(value) end
  return row
end

return new
