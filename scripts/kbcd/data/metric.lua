-- metric: distances that are learned or given, ‖x − z‖_M² = (x − z)ᵀ M (x − z) with M = L Lᵀ. A row x becomes x L, once; the
-- kernel then sees plain distances. L is d x d', or d x 1 for a factor of each column, which is 1 / σ_c of a width σ_c.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Matrix = kbcd.Matrix

local metric = {}

runtime.docs.metric = [[metric
Distances |x - z|_M of a model's option metric: a Matrix L, d x d', with M = L L', or d x 1, a factor for each column. Rows x
become x L. metric.apply(L, X) does it, metric.diagonal(L) is the diagonal of M.]]

-- What is wrong with L as a metric of rows of d numbers, or nil.
function metric.fault(L, d)
  if L.nrows ~= d then return ("%d rows expected, one for each column of X, got %dx%d"):format(d, L.nrows, L.ncols) end
  if L.ncols < 1 or not L:finite() then return "finite numbers expected" end
end

-- The factors 1 / σ_c of a kernel with a width for each column, d x 1; nil of any other kernel.
function metric.of_kernel(kernel)
  local widths = kernel and kernel.widths
  return widths and Matrix(widths):t():clone():pow(-1) or nil
end

-- x L for some rows x of f64.
local function times(rows, L) return L.ncols == 1 and rows:cmul(L:t()) or rows * L end

-- The metric of first L, then another one.
function metric.compose(L, other)
  if not L then return other end
  if other.ncols == 1 then return L.ncols == 1 and L:clone():cmul(other) or times(L:clone(), other) end
  return L.ncols == 1 and other:clone():cmul(L) or L * other
end

-- The metric of options o (metric, or a kernel with a width for each column, which becomes that of width 1), and X in it;
-- X alone where there is none.
function metric.taken(owner, X, o)
  local L, names = o.metric or nil, {}
  for name, value in pairs(o) do if runtime.type(value) == "Kernel" and value.widths then names[#names + 1] = name end end
  for _, name in ipairs(names) do
    if L then error(("%s: a metric and widths of columns; one of them expected"):format(owner), 0) end
    local widths = #o[name].widths
    if widths ~= X.d then
      error(("%s: option %s: a width for each of the %d columns expected, got %d"):format(owner, name, X.d, widths), 0)
    end
    L, o[name] = metric.of_kernel(o[name]), o[name].unit
  end
  if not L then return X end
  local fault = metric.fault(L, X.d)
  if fault then error(("%s: option metric: %s"):format(owner, fault), 0) end
  L = L:to("f64")
  return metric.apply(L, X), L
end

runtime.docs["metric.apply"] = [[metric.apply(L, X)
A DataSet of the rows x L, in the precision of X; computed in f64. Sparse rows become dense.]]
function metric.apply(L, X)
  local fault = metric.fault(L, X.d)
  if fault then error("metric.apply: " .. fault, 2) end
  X = X.sparse and X:to_dense() or X
  local out = Matrix.zeros(X.local_n, L.ncols == 1 and X.d or L.ncols, X.dtype)
  for first = 1, X.local_n, 4096 do
    local last = math.min(first + 4095, X.local_n)
    local rows = X:part(first, last)
    out:rows(first, last):copy(times(Matrix.zeros(rows.nrows, rows.ncols):copy(rows), L))
  end
  return kbcd.DataSet.local_part(X.n, out)
end

runtime.docs["metric.diagonal"] = [[metric.diagonal(L)
The diagonal of M = L L', d x 1: how much each column counts. 1 / sqrt of it are widths, in units of the kernel's.]]
function metric.diagonal(L) return L:clone():square():sum(2) end

return metric
