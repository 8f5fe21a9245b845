-- A small tester for *_spec.lua: tests run in order on every rank; the first that fails ends the job with its name.

local kbcd = require "kbcd"

local spec = { count = 0 }

function spec.test(name, f)
  local good, message = xpcall(f, function(e) return debug.traceback(tostring(e), 2) end)
  if not good then error(("test '%s': %s"):format(name, message), 0) end
  spec.count = spec.count + 1
end

function spec.equal(got, expected, what)
  if got ~= expected then
    error(("%s: %s expected, got %s"):format(what or "value", tostring(expected), tostring(got)), 2)
  end
end

-- Matrices or numbers that differ by at most tolerance times the largest element of the second.
function spec.close(got, expected, tolerance, what)
  local difference, size
  if type(got) == "number" then
    difference, size = math.abs(got - expected), math.abs(expected)
  else
    spec.equal(got.nrows, expected.nrows, (what or "value") .. ": rows")
    spec.equal(got.ncols, expected.ncols, (what or "value") .. ": columns")
    if got.nrows * got.ncols == 0 then return end
    difference, size = (got:to("f64") - expected:to("f64")):abs():max(), expected:clone():abs():max()
  end
  local good = difference <= tolerance * math.max(size, 1e-300)  -- false for NaN, too
  if not good then
    error(("%s: off by %g of %g, more than %g"):format(what or "value", difference, size, tolerance), 2)
  end
end

-- f must fail, with a message that contains each of the texts.
function spec.fails(f, ...)
  local good, message = pcall(f)
  if good then error("an error was expected", 2) end
  for _, text in ipairs{ ... } do
    if not tostring(message):find(text, 1, true) then
      error(("'%s' expected in the message, got: %s"):format(text, tostring(message)), 2)
    end
  end
end

-- A rows x cols matrix of f(i, j).
function spec.make(rows, cols, f, dtype)
  local A = kbcd.Matrix.zeros(rows, cols, dtype)
  for i = 1, rows do for j = 1, cols do A:set(i, j, f(i, j)) end end
  return A
end

-- A B by three loops.
function spec.product(A, B)
  return spec.make(A.nrows, B.ncols, function(i, j)
    local s = 0
    for c = 1, A.ncols do s = s + A(i, c) * B(c, j) end
    return s
  end)
end

spec.outside_mpi = kbcd.outside_mpi

function spec.finish()
  kbcd.say("%d passed, 0 failed", spec.count)
end

return spec
