-- KernelMatrix: a whole kernel matrix as one operator, in blocks of columns that are kept as far as the memory budget goes.
--
-- Of some columns J it is K([n], J) = [K_1 … K_m], each K_i a KernelBlock.
--
-- Of all columns it is symmetric, and one triangle is enough. With the rows in a random order (so that the ranks have equal
-- shares of every block) cut into I_1 … I_m, and T_i = K(I_i ∪ later rows, I_i),
--
--     (K V)_{I_i ∪ later} += T_i V_{I_i},     (K V)_{I_i} += T_iᵀ V_later
--
-- from one pass over T_i, where V_later is V without the rows I_i, which the first product has already.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.KernelMatrix = [[KernelMatrix(X, J, kernel [, options])
K([n], J) as an operator, or all of K where J is nil. All ranks make it. Its blocks are computed at their first product and
stay in memory as far as the budget goes; the others are computed again for each product, so all ranks call the products.
options: keep = "exact", "f16" or "none" (as for KernelBlock), b = 2048 (columns of a block), centers (the DataSet that J
numbers the rows of; X unless given), scale (this rank's rows x 1: the matrix is diag(s) K diag(s), as weights s^2 of rows
make it).
With J: K * V for a |J| x k Matrix V that every rank has gives this rank's rows. K:t() * A for this rank's n_local x k rows
gives this rank's part of the sum, |J| x k: allreduce it. K:square() is K(J, J), on every rank.
Without J: K * V (and K:t() * V, which is the same) for this rank's rows of an n x k matrix V gives this rank's rows of the
product; the sums over the ranks are inside. One triangle is computed, kept and read. K:square() is all of K, dense.
K:diagonal() is K(x, x) of this rank's rows; K:rows(I), called by all ranks, rows I on every rank; K:release() frees the
entries. K.nrows (this rank's), K.ncols, K.kept (how many entries are in memory on this rank).]]

local KernelMatrix, Transposed = {}, {}

-- f(K_i, …) of a block's operator, a product with the matrices that follow. After the first one the block is kept if every
-- rank's part stays in memory (or was not computed, for a product with 0); else it is computed again each time and never
-- stored, so that its centres take no memory either.
local function with(block, f, A, B)
  local K = block.K or block.make(block.keep)
  local a, b = f(K, A, B)
  if not block.K and block.keep ~= "none" then
    local zero = A:norm() == 0 and (not B or B:norm() == 0)
    if kbcd.allreduce_min((K.stays or zero) and 1 or 0) == 1 then
      block.K = K
    else
      K:release()
      block.keep = "none"
    end
  end
  return a, b
end

local function require_rows(what, A, count)
  if kbcd.type(A) ~= "Matrix" then
    error(("cannot multiply %s by %s"):format(what, kbcd.type(A) == "table" and "table" or kbcd.type(A)), 3)
  end
  if A.nrows ~= count then
    error(("%s * V: V must have %d rows, got %dx%d"):format(what, count, A.nrows, A.ncols), 3)
  end
end

-- K([n], J) V = Σ K_i V_i
local function times_columns(self, V)
  local out = Matrix.zeros(self.nrows, V.ncols)
  for _, block in ipairs(self.blocks) do
    local product = with(block, function(K_i, V_i) return K_i * V_i end, V:take(block.at))
    out:add(product)
  end
  return out
end

local function symmetric_times(self, V)
  local X = self.X
  local out, sum, before = Matrix.zeros(X.local_n, V.ncols), nil, nil
  for i = 1, #self.blocks + 1 do
    local block = self.blocks[i]
    -- One message: V_I of this block, and T'V of the one before.
    local V_I = block and block.S:t() * V
    if V_I and sum then kbcd.allreduce(V_I, sum) else kbcd.allreduce(V_I or sum) end
    if before then out:add(before.S * sum) end
    if not block then return out end
    local V_rest = V:take(block.here)
    if #block.here > block.later then V_rest:rows(block.later + 1, #block.here):fill(0) end
    local P
    P, sum = with(block, function(T, D, A) return T:both(D, A) end, V_I, V_rest)
    out:add_rows(block.here, P)
    before = block
  end
end

function KernelMatrix.__mul(self, V)
  if getmetatable(self) ~= KernelMatrix then error(("cannot multiply %s by KernelMatrix"):format(kbcd.type(self)), 2) end
  require_rows("KernelMatrix", V, self.symmetric and self.X.local_n or self.ncols)
  return (self.symmetric and symmetric_times or times_columns)(self, V)
end

function Transposed.__mul(self, A)
  if getmetatable(self) ~= Transposed then
    error(("cannot multiply %s by transposed KernelMatrix"):format(kbcd.type(self)), 2)
  end
  local K, sums = self.K, {}
  require_rows("KernelMatrix:t()", A, K.nrows)
  for i, block in ipairs(K.blocks) do sums[i] = with(block, function(K_i, V) return K_i:t() * V end, A) end
  return Matrix.vcat(sums)
end

local methods = {}

function methods:t() return self.symmetric and self or setmetatable({ K = self }, Transposed) end

function methods:diagonal()
  local diagonal = kbcd.kernel_diagonal(self.X, self.kernel)
  return self.scale and diagonal:cmul(self.scale):cmul(self.scale) or diagonal
end

-- The scale of rows I of X, on every rank; nil without one.
local function scale_of(self, I)
  return self.scale and kbcd.allreduce(kbcd.Selector(self.X.n, I):t() * self.scale) or nil
end

function methods:rows(I)
  if self.symmetric then
    local columns = kbcd.KernelBlock(self.X, I, self.kernel, { keep = "none", row_scale = self.scale or nil,
      column_scale = scale_of(self, I) })
    return kbcd.gather(columns:dense()):t():clone()
  end
  local parts = {}
  for i, block in ipairs(self.blocks) do parts[i] = (block.K or block.make("none")):rows(I) end
  return Matrix.hcat(parts)
end

function methods:square()
  if self.symmetric then return self:rows(Index.range(1, self.X.n)) end
  local parts = {}
  for i, block in ipairs(self.blocks) do
    local J = self.J:take(block.at)
    local centers = kbcd.KernelBlock(self.centers, J, self.kernel, { keep = "none", row_scale = self.scale or nil,
      column_scale = scale_of(self, J) })
    parts[i] = centers:rows(self.J)
  end
  return Matrix.hcat(parts)
end

function methods:release()
  for _, block in ipairs(self.blocks) do
    if block.K then block.K:release() end
    block.K, block.keep = nil, self.keep
  end
end

function KernelMatrix.__index(self, name)
  if name == "kept" then
    local entries = 0
    for _, block in ipairs(self.blocks) do entries = entries + (block.K and block.K.nrows * block.K.ncols or 0) end
    return entries
  end
  return methods[name] or error(("KernelMatrix has no field or method '%s'"):format(tostring(name)), 2)
end

function KernelMatrix.__tostring(self)
  return ("KernelMatrix %dx%d %s%s"):format(self.nrows, self.ncols, self.X.dtype, self.symmetric and ", symmetric" or "")
end

function Transposed.__tostring(self) return tostring(self.K) .. ", transposed" end

local function columns(self, o)
  for _, at in ipairs(Index.range(1, #self.J):partition(o.b)) do
    local block = { at = at }
    function block.make(keep)
      local J = self.J:take(at)
      return kbcd.KernelBlock(self.X, J, self.kernel, { centers = self.centers, keep = keep, row_scale = self.scale or nil,
        column_scale = scale_of(self, J) })
    end
    self.blocks[#self.blocks + 1] = block
  end
end

local function triangle(self, o)
  local X = self.X
  local order = Index.permutation(X.n, { seed = 1 })
  for first = 1, X.n, o.b do
    local last = math.min(X.n, first + o.b - 1)
    local I = order:slice(first, last)
    local function later() return order:slice(last + 1, X.n):sorted() end  -- long lists, not kept
    local function rows() return Index.concat{ later(), I } end
    local block = { S = kbcd.Selector(X.n, I), here = X:local_rows(rows()), later = #X:local_rows(later()) }
    function block.make(keep)
      return kbcd.KernelBlock(X, I, self.kernel, { rows = rows(), keep = keep, row_scale = self.scale or nil,
        column_scale = scale_of(self, I) })
    end
    self.blocks[#self.blocks + 1] = block
  end
end

return function(X, J, kernel, given)
  local function expect(value, kind, number)
    if kbcd.type(value) ~= kind then
      error(("KernelMatrix: argument %d: %s expected, got %s"):format(number, kind, kbcd.type(value)), 3)
    end
  end
  expect(X, "DataSet", 1)
  if J ~= nil then expect(J, "Index", 2) end
  expect(kernel, "Kernel", 3)
  local o = options.read("KernelMatrix", given or {}, {
    keep = { options.one_of("exact", "f16", "none"), "exact" }, b = { options.count, 2048 },
    centers = { options.maybe(options.data), false }, scale = { options.maybe(options.matrix), false },
  })
  if o.scale and o.centers then error("KernelMatrix: options scale and centers do not go together", 2) end
  if not J and o.centers then error("KernelMatrix: option centers: J expected with it, which numbers its rows", 2) end
  if J and #J == 0 then error("KernelMatrix: at least one column expected", 2) end
  local self = setmetatable({
    X = X, J = J or false, kernel = kernel, keep = o.keep, scale = o.scale, centers = o.centers or X, symmetric = not J,
    blocks = {}, nrows = X.local_n, ncols = J and #J or X.n,
  }, KernelMatrix);
  (J and columns or triangle)(self, o)
  for _, block in ipairs(self.blocks) do block.keep = o.keep end
  return self
end
