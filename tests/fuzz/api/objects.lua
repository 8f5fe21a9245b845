-- objects.lua: one good object of each type, of several shapes, for the pool to start with.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local function write(name, text)
  if kbcd.rank() == 0 then
    local file = io.open(name, "wb")
    if file then
      file:write(text)
      file:close()
    end
  end
end

local made = 0

-- The list is the same on every rank.
return function(seed)
  made = made + 1
  local list = {}
  local function add(make)
    local results = { pcall(make) }
    if not results[1] then error("fuzz: an object of the pool cannot be made: " .. tostring(results[2])) end
    for i = 2, #results do list[#list + 1] = results[i] end
  end
  local M, I = kbcd.Matrix, kbcd.Index
  local A, F = M.randn(6, 3, { seed = seed }), M.randn(6, 3, { seed = seed, dtype = "f32" })
  local S = M.randn(4, 4, { seed = seed }):gram():add_diagonal(1)
  local X, Z = kbcd.DataSet(A), kbcd.DataSet(F):to_sparse()
  local rbf = kbcd.kernel.rbf{ sigma = 2 }
  local map = kbcd.features.fourier{ kernel = rbf, p = 8, seed = seed }
  local own = kbcd.kernel.custom{ metric = "sqeuclidean", kappa = function(D) return (-D):exp() end }
  local own_map = kbcd.features.custom{ p = 4, map = function(R, J) return M.ones(R.nrows, #J, R.dtype) end }
  add(function() return A, F, A:t(), F:t(), A:rows(2, 4), A:t():rows(1, 2), A:block(2, 5, 2, 3), S, S:t() end)
  add(function() return M.zeros(0, 0), M.zeros(0, 3), M.zeros(3, 0, "f32"), M.full(3, 1, 0 / 0), M.full(6, 3, 1e300) end)
  add(function() local gone = M.ones(2, 2) gone:release() return gone, M.eye(3), M.ones(1, 3), M.ones(6, 1) end)
  add(function() return I{ 1, 3, 2 }, I.range(1, 6), I{}, I{ 2, 2 }, I{ 2 ^ 53 }, I.permutation(4, { seed = seed }) end)
  add(function() return X, Z, kbcd.DataSet(F), kbcd.DataSet(M.randn(6, 1, { seed = seed })) end)
  add(function() return rbf, kbcd.kernel.laplacian{ gamma = 1 }, kbcd.kernel.linear(), own, map, own_map end)
  for _, kernel in ipairs{ rbf, own } do
    add(function() return kbcd.KernelBlock(X, I{ 1, 4 }, kernel) end)
    add(function() return kbcd.KernelBlock(Z, I{ 2, 3 }, kernel, { keep = "f16" }) end)
  end
  for _, kernel in ipairs{ rbf, own } do
    local triangle = runtime.KernelTriangle(X, kernel, I{ 3, 1, 2, 6, 5, 4 }, { tile = 2, group = 2 })
    add(function() return triangle, triangle:columns(I{ 2, 1 }), triangle:columns(I{ 3 }):t() end)
  end
  add(function() return kbcd.RandomFeaturesBlock(X, I.range(1, 4), map), kbcd.RandomFeaturesBlock(X, I{ 1, 2 }, own_map) end)
  local selector = kbcd.Selector(6, I{ 1, 3 })
  add(function() return kbcd.KernelBlock(X, I{ 1, 4 }, rbf):t(), selector, selector:t() end)
  add(function() return kbcd.sparse_sign(3, 6, { seed = seed }), kbcd.chol(S), kbcd.iallreduce(A:clone()) end)
  add(function()
    local line = function(...) return M{ { ... } } end
    return kbcd.Csr(3, line(0, 1, 2), line(1, 3), line(0.5, 2))
  end)
  local pixels = kbcd.DataSet(M.rand(4, 36, { seed = seed, dtype = "f32" }))
  add(function() return kbcd.vision.images(pixels, { height = 6, width = 6 }) end)
  write("b.csv", "1,2,3\n4,5,6\n7,8,9\n")
  write("d.svm", "1 1:0.5 3:2\n-1 2:1\n")
  write("h.tsv", "1\tgood food\n2\tbad food\n1\tvery good\n")
  kbcd.barrier()
  add(function()
    local documents = kbcd.text.read("h.tsv")
    return documents, kbcd.text.vocabulary(documents)
  end)
  add(function()  -- ranks must not write to one file
    local path = ("c%d_%d.h5"):format(kbcd.rank(), made)
    local file = kbcd.h5.create(path)
    file:group("/g")
    file:append("/X", A)
    file:set("/g", "name", "text")
    local closed = kbcd.h5.create("closed" .. path)
    closed:close()
    return file, closed
  end)
  add(function()
    local Y = kbcd.DataSet(M.randn(6, 2, { seed = seed }))
    local step = kbcd.nystrom(X, Y, { kernel = rbf, p = 4, b = 2, lambda = 1e-2, epochs = 1 })()
    return step.model, step.model[1], kbcd.random_features(X, Y, { map = map, b = 4, lambda = 1e-2, epochs = 1 }), Y
  end)
  return list
end
