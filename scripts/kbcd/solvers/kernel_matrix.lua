-- KernelMatrix: a whole kernel matrix as one operator, in blocks of columns that are kept as far as the memory budget goes.
--
-- Of some columns J it is K([n], J) = [K_1 … K_m], each K_i a KernelBlock.
--
-- Of all columns it is symmetric, and one triangle of tiles is enough (modules/blocks/kernel_triangle.hpp). The rows are in
-- a random order, so that the ranks have equal shares of every tile.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local streams = require "kbcd.support.streams"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.KernelMatrix = [[KernelMatrix(X, J, kernel [, options])
K([n], J) as an operator, or all of K where J is nil. All ranks make it. Its blocks are computed at their first product and
stay in memory as far as the budget goes; the others are computed again for each product, so all ranks call the products.
options: keep = "exact", "f16" or "none" (as for KernelBlock), b = 2048 (columns of a block, or of eight tiles), centers
(the DataSet that J numbers the rows of; X unless given), scale (this rank's rows x 1: the matrix is diag(s) K diag(s), as
weights s^2 of rows make it), seed (of the order of the rows in tiles).
With J: K * V for a |J| x k Matrix V that every rank has gives this rank's rows. K:t() * A for this rank's n_local x k rows
gives this rank's part of the sum, |J| x k: allreduce it. K:square() is K(J, J), on every rank.
Without J: K * V (and K:t() * V, which is the same) for this rank's rows of an n x k matrix V gives this rank's rows of the
product; the sums over the ranks are inside. One triangle is computed, kept and read. K:square() is all of K, dense.
K.tiles is the number of tiles of rows, K.group how many have b rows together, K:tile(t) the rows of one, and
K:columns(tiles) K([n], I) of the rows I of an Index of tiles, as an operator C: C:t() * V (this rank's part of the sum),
C * D, C:square(), C:rows() = I. K.stays: whether all of K fits the memory budget.
K:sketch(Phi), with J, is Phi * K of a sparse_sign Phi, a part of a sum.
K:diagonal() is K(x, x) of this rank's rows; K:rows(I), called by all ranks, rows I on every rank; K:release() frees the
entries. K.nrows (this rank's), K.ncols, K.kept (how many entries are in memory on this rank), K.scale (or false).]]

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

function KernelMatrix.__mul(self, V)
  if getmetatable(self) ~= KernelMatrix then error(("cannot multiply %s by KernelMatrix"):format(kbcd.type(self)), 2) end
  require_rows("KernelMatrix", V, self.symmetric and self.X.local_n or self.ncols)
  return self.symmetric and self.triangle:times(V) or times_columns(self, V)
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

function methods:sketch(Phi)
  if self.symmetric then error("KernelMatrix:sketch: a matrix of columns J expected", 2) end
  local parts, one = {}, Matrix.ones(1, 1)
  for i, block in ipairs(self.blocks) do parts[i] = with(block, function(K_i) return Phi * K_i:dense() end, one) end
  return Matrix.hcat(parts)
end

function methods:release()
  if self.symmetric then self.triangle:release() end
  for _, block in ipairs(self.blocks) do
    if block.K then block.K:release() end
    block.K, block.keep = nil, self.keep
  end
end

function KernelMatrix.__index(self, name)
  if self.symmetric and (name == "kept" or name == "tiles" or name == "group" or name == "stays") then
    return self.triangle[name]
  end
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

local function require_symmetric(self, name)
  if not self.symmetric then error(("KernelMatrix:%s: a KernelMatrix of all rows expected"):format(name), 3) end
  return self.triangle
end

function methods:tile(t) return require_symmetric(self, "tile"):tile(t) end
function methods:columns(tiles) return require_symmetric(self, "columns"):columns(tiles) end

-- How b rows are made of tiles: eight, or nearly as many that are equal and b rows together.
local function tiles_of(b)
  for _, count in ipairs{ 8, 7, 9, 6, 10, 5, 11, 12, 4, 13, 14, 15, 16 } do
    if b % count == 0 then return b / count, count end
  end
  local tile = math.max(1, math.floor(b / 8))
  return tile, math.floor(b / tile)
end

local function triangle(self, o)
  local tile, group = tiles_of(o.b)
  local order = Index.permutation(self.X.n, { seed = o.seed, stream = streams.partition() })
  self.triangle = runtime.KernelTriangle(self.X, self.kernel, order,
    { tile = tile, group = group, keep = o.keep, scale = self.scale or nil })
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
    seed = { options.seed, 1 },
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
