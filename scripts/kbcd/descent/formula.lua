-- What a step solves, written as a formula of its block K_b and of numbers, such as Nyström's
--
--     K_b:gram "f64" + n*lambda * K_b:square() + n*lambda*gamma        K_bᵀK_b + nλ K(I,I) + nλγ I
--
-- It contains no model and no entries, so that the driver can build and factor the systems of later blocks on any rank.
-- K_b:t() * K_b is the Gram in the precision of the data, K_b:gram "f64" in f64, K_b:square() the block of the centres' own
-- rows K(I,I); a number or a lambda is that multiple of I; a function(B) gives a Matrix to add: b x b, or b x 1 for the
-- diagonal.

local runtime = require "kbcd.runtime"

local Formula, Transposed, formula = {}, {}, {}
local Block = {}

function formula.is(x)
  local meta = type(x) == "table" and getmetatable(x)
  return meta == Formula or meta == Block
end

-- The terms: gram and square have coefficients (numbers or lambdas), diagonal is one, functions is a list.
local function new(terms) return setmetatable(terms, Formula) end

local function sum(a, b)
  if a == nil or b == nil then return a or b end
  return a + b
end

-- A number, a lambda or a function, as a formula.
local function lifted(x)
  if getmetatable(x) == Formula then return x end
  if type(x) == "function" then return new{ functions = { x } } end
  if type(x) == "number" or type(x) == "table" and x.values then return new{ diagonal = x } end
  error(("system: a sum of K_b:gram(), K_b:square(), numbers, lambdas and functions expected, got %s"):format(
    runtime.type(x)), 3)
end

function Formula.__add(a, b)
  a, b = lifted(a), lifted(b)
  local functions = {}
  for _, list in ipairs{ a.functions or {}, b.functions or {} } do
    for _, f in ipairs(list) do functions[#functions + 1] = f end
  end
  return new{ gram = sum(a.gram, b.gram), precision = a.precision or b.precision, square = sum(a.square, b.square),
    diagonal = sum(a.diagonal, b.diagonal), functions = #functions > 0 and functions or nil }
end

-- c times a formula of blocks and numbers.
function formula.scaled(c, f)
  if f.functions then error("system: a function cannot be multiplied; multiply in it", 3) end
  return new{ gram = f.gram and c * f.gram, precision = f.precision, square = f.square and c * f.square,
    diagonal = f.diagonal and c * f.diagonal }
end

function Formula.__mul(a, b)
  if formula.is(a) then a, b = b, a end
  if type(a) ~= "number" and not (type(a) == "table" and a.values) then
    error("system: only a number or a lambda multiplies a term", 2)
  end
  return formula.scaled(a, b)
end

-- A sum that no term of K_b is in: of a lambda and a function.
function formula.sum(a, b) return lifted(a) + b end

-- K_b itself, as `system` gets it.
local symbol = setmetatable({}, Block)
Block.__index = {
  t = function() return setmetatable({}, Transposed) end,
  gram = function(_, precision) return new{ gram = 1, precision = precision } end,
  square = function() return new{ square = 1 } end,
}
function Transposed.__mul(_, b)
  if getmetatable(b) ~= Block then error("system: K_b:t() * K_b expected", 2) end
  return new{ gram = 1 }
end

-- The formula that an algorithm's `system` writes.
function formula.of(system) return lifted(system(symbol)) end

return formula
