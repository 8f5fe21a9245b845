-- A small tester for *_spec.lua: tests run in order on every rank; the first that fails ends the job with its name.

local kbcd = require "kbcd"
local outside_mpi = require "kbcd.support.outside_mpi"

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

-- A file that rank 0 writes for all.
function spec.write(path, text)
  kbcd.barrier()
  if kbcd.rank() == 0 then
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
  end
  kbcd.barrier()
  return path
end

-- with_file(content, [ending,] f): f(path) with a file of this content and ending (".csv"), which rank 0 writes and removes.
function spec.with_file(content, ending, f)
  if not f then ending, f = "", ending end
  local name = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
  local path = spec.write(name .. ending, content)
  local good, message = pcall(f, path)
  kbcd.barrier()
  if kbcd.rank() == 0 then
    for _, made in ipairs{ name, path, path .. ".gz" } do os.remove(made) end
  end
  if not good then error(message, 0) end
end

-- All ranks' texts, in order.
function spec.gathered(iterator)
  local list = {}
  for text in iterator do list[#list + 1] = text end
  local all, count = {}, kbcd.allreduce_max(#list)
  for r = 0, kbcd.size() - 1 do
    for i = 1, count do
      local text = kbcd.bcast(list[i] or "\0", r)
      if text ~= "\0" then all[#all + 1] = text end
    end
  end
  return all
end

-- What this rank writes to io.stderr while f runs, and f's result.
function spec.told_by(f)
  local lines, stderr = {}, io.stderr
  -- luacheck: push ignore 122
  io.stderr = { write = function(_, text) lines[#lines + 1] = text end }
  local good, result = pcall(f)
  io.stderr = stderr
  -- luacheck: pop
  if not good then error(result, 0) end
  return table.concat(lines), result
end

-- A B of tables of rows.
function spec.table_product(A, B)
  local C = {}
  for i = 1, #A do
    C[i] = {}
    for j = 1, #B[1] do
      local s = 0
      for c = 1, #B do s = s + A[i][c] * B[c][j] end
      C[i][j] = s
    end
  end
  return C
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

spec.outside_mpi = outside_mpi

function spec.finish()
  kbcd.say("%d passed, 0 failed", spec.count)
end

return spec
