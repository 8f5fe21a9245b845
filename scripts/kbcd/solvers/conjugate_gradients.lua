-- conjugate_gradients: preconditioned conjugate gradients on A X = B for the k columns of B at once, each with its own step
-- lengths:
--
--     Q = A D,   α = ⟨R, Z⟩ / ⟨D, Q⟩,   X ← X + D α,   R ← R − Q α,   Z = M⁻¹ R,   D ← Z + D ⟨R, Z⟩ / ⟨R, Z⟩_before
--
-- by columns. A column whose |R| is at most tol |B| is frozen: its D is 0 from then on.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix = kbcd.Matrix

runtime.docs.conjugate_gradients = [[conjugate_gradients{ times, right [, precondition, start, iterations, tol, distributed] }
Preconditioned conjugate gradients on A X = B, for all columns of B at once. times(D): A D of a positive definite A;
right: B; precondition(R): M^-1 R for an M like A (M = I unless given); start: X to begin with (0 unless given);
iterations = 100 at most; tol = 1e-6: a column is done when |R| <= tol |B|. distributed = true: B and X are this rank's rows
of distributed matrices, and dot products are summed over the ranks; else every rank has all of them.
An iterator of steps: for step in conjugate_gradients{ … } do step.iteration, step.x (a Matrix that the next step changes),
step.residuals (1 x k, |R| / |B|), step.residual (the largest), step.active (columns that are not done) end.
conjugate_gradients{ … }:solve() runs to the end and returns X and the last step. pcg{ … }, with one table, is the same.]]

local function is_function(x) return type(x) ~= "function" and "a function" or nil end
local function is_matrix(x) return kbcd.type(x) ~= "Matrix" and "a Matrix" or nil end

local function read(given)
  return options.read("conjugate_gradients", given, {
    times = { is_function }, right = { is_matrix }, precondition = { options.maybe(is_function), false },
    start = { options.maybe(is_matrix), false }, iterations = { options.count, 100 }, tol = { options.not_negative, 1e-6 },
    distributed = { options.flag, false },
  }, 4)
end

-- The result of a function of the user, checked for the shape of B.
local function checked(name, result, B)
  if kbcd.type(result) ~= "Matrix" or result.nrows ~= B.nrows or result.ncols ~= B.ncols then
    local got = kbcd.type(result) == "Matrix" and ("%dx%d"):format(result.nrows, result.ncols) or kbcd.type(result)
    error(("conjugate_gradients: %s must give a %dx%d Matrix, got %s"):format(name, B.nrows, B.ncols, got), 0)
  end
  return result
end

-- a_j / b_j of the active columns, 0 of the others. b_j > 0 is what a positive definite matrix gives.
local function quotients(a, b, active, what)
  local result = Matrix.zeros(1, a.ncols)
  for j in pairs(active) do
    if b(1, j) <= 0 or b(1, j) ~= b(1, j) then
      error(("conjugate_gradients: %s is not positive definite: column %d gave %g"):format(what, j, b(1, j)), 0)
    end
    result:set(1, j, a(1, j) / b(1, j))
  end
  return result
end

local Steps = {}
Steps.__index = Steps

function Steps:solve()
  local last
  for step in self do last = step end
  return self.x, last
end

function Steps.__call(self) return self.next() end

return function(given)
  local o = read(given)
  local B = o.right
  local k = B.ncols
  if o.start then checked("start", o.start, B) end
  local function dots(...)
    local sums = {}
    for i = 1, select("#", ...), 2 do
      local a, b = select(i, ...)
      sums[#sums + 1] = a:dots(b)
    end
    if o.distributed then kbcd.allreduce(unpack(sums)) end
    return unpack(sums)
  end
  local function precondition(R) return o.precondition and checked("precondition", o.precondition(R), B) or R end

  local x = o.start and o.start:to("f64") or Matrix.zeros(B.nrows, k)
  local R, D, rz, sizes, active, iteration
  local function freeze(squares)
    local residuals, largest, count = Matrix.zeros(1, k), 0, 0
    for j = 1, k do
      local size = sizes(1, j)
      local residual = size > 0 and math.sqrt(squares(1, j)) / size or math.sqrt(squares(1, j))
      if residual ~= residual then
        error(("conjugate_gradients: column %d has NaN after %d iterations"):format(j, iteration), 0)
      end
      residuals:set(1, j, residual)
      largest = math.max(largest, residual)
      if residual <= o.tol or residual == 0 then active[j] = nil end
      if active[j] then count = count + 1 end
    end
    return residuals, largest, count
  end

  local function begin()
    R, active, iteration = B:to("f64"), {}, 0
    if o.start then R:sub(checked("times", o.times(x), B)) end
    local Z = precondition(R)
    local right, squares
    right, squares, rz = dots(B, B, R, R, R, Z)
    sizes = right:sqrt()
    for j = 1, k do active[j] = true end
    local _, _, left = freeze(squares)
    D = Z:to("f64")
    return left
  end

  local left
  local function step()
    left = left or begin()
    if left == 0 or iteration >= o.iterations then return nil end
    iteration = iteration + 1
    for j = 1, k do if not active[j] then D:cols(j):fill(0) end end
    local Q = checked("times", o.times(D), B)
    local alpha = quotients(rz, dots(D, Q), active, "times")
    x:add(D:clone():cmul(alpha))
    R:sub(Q:to("f64"):cmul(alpha))
    local Z, before = precondition(R), rz
    local squares
    squares, rz = dots(R, R, R, Z)
    local residuals, largest
    residuals, largest, left = freeze(squares)
    D:cmul(quotients(rz, before, active, "precondition")):add(Z)
    return { iteration = iteration, x = x, residuals = residuals, residual = largest, active = left }
  end
  return setmetatable({ x = x, next = step }, Steps)
end
