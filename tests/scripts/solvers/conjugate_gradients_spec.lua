-- conjugate_gradients against direct solves, for replicated and for distributed unknowns; the sparse sign sketch.

local kbcd = require "kbcd"
local spec = require "spec"
local Matrix, Index, DataSet = kbcd.Matrix, kbcd.Index, kbcd.DataSet
local conjugate_gradients = kbcd.conjugate_gradients
local test, equal, close, fails, make = spec.test, spec.equal, spec.close, spec.fails, spec.make

local n, k = 40, 3
local G = Matrix.randn(n, n, { seed = 1 })
local A = (G * G:t()):add_diagonal(1)
local B = Matrix.randn(n, k, { seed = 2 })
B:cols(2):scale(1e-5)
local function times(D) return A * D end

test("replicated", function()
  local exact = kbcd.local_solve(A, B)
  local x, last = conjugate_gradients{ times = times, right = B, iterations = 200, tol = 1e-12 }:solve()
  close(x, exact, 1e-8, "x")
  assert(last.residual <= 1e-12 and last.active == 0 and last.iteration > 3, "done")
  for j = 1, k do close(x:cols(j), exact:cols(j), 1e-8, "each column to its own scale") end
  local near = A:clone():add_diagonal(0.01)
  local F = kbcd.chol(near)
  local steps = 0
  local function by_factor(R) return F:solve(R) end
  for step in conjugate_gradients{ times = times, right = B, precondition = by_factor, tol = 1e-10 } do
    steps = steps + 1
    equal(step.iteration, steps)
    close(step.residuals, make(1, k, function(_, j)
      return (B:cols(j) - A * step.x:cols(j)):norm() / B:cols(j):norm()
    end), 1e-4, "residuals")
  end
  assert(steps <= 6, "a good preconditioner takes few steps")
  x, last = conjugate_gradients{ times = times, right = B, start = exact, tol = 1e-8 }:solve()
  close(x, exact, 0, "started at the end")
  equal(last, nil)
  last = select(2, conjugate_gradients{ times = times, right = B, iterations = 2 }:solve())
  equal(last.iteration, 2)
  close(conjugate_gradients{ times = times, right = Matrix.zeros(n, 2) }:solve(), Matrix.zeros(n, 2), 0, "zero")
end)

test("columns that are done are frozen", function()
  local values = make(n, 1, function(i) return i end)
  local diagonal = Matrix.zeros(n, n):add_diagonal(values)
  local right = Matrix.randn(n, 2, { seed = 3 })
  right:cols(1):fill(0):set(4, 1, 8)  -- an eigenvector: one step
  local active, first = {}, nil
  local function by_diagonal(D)
    if first then equal(D:cols(1):norm(), 0) end
    return diagonal * D
  end
  for step in conjugate_gradients{ times = by_diagonal, right = right, tol = 1e-10 } do
    active[step.iteration], first = step.active, first or step.x:cols(1):clone()
    equal(step.x:cols(1), first)
  end
  equal(active[1], 1)
  close(first(4, 1), 2, 1e-14)
end)

test("distributed over the ranks", function()
  local X = DataSet(Matrix.randn(n, 2, { seed = 4 }))
  local K = kbcd.KernelMatrix(X, nil, kbcd.kernel.rbf{ sigma = 1 }, { b = 13 })
  local mine = B:rows(X.first, X.first + X.local_n - 1)
  local exact = kbcd.local_solve(K:square():add_diagonal(0.1), B)
  local function ridged(D) return K * D + 0.1 * D end
  local x = conjugate_gradients{ times = ridged, right = mine, distributed = true, tol = 1e-11 }:solve()
  close(kbcd.gather(x), exact, 1e-7, "(K + 0.1 I) x = B")
  -- Preconditioned by (F F' + ridge I)^-1 = (I - F (F'F + ridge I)^-1 F') / ridge.
  local ridge, steps = 1e-4, {}
  local _, F = kbcd.centers.rpcholesky(X, 25, K.kernel, { factor = true })
  local small = kbcd.chol(kbcd.allreduce(F:gram()):add_diagonal(ridge))
  local function precondition(R) return (R - F * small:solve(kbcd.allreduce(F:t() * R))):scale(1 / ridge) end
  for i, M in ipairs{ false, precondition } do
    local run = conjugate_gradients{ times = function(D) return K * D + ridge * D end, right = mine, precondition = M or nil,
      distributed = true, iterations = 300, tol = 1e-8 }
    local found, last = run:solve()
    steps[i] = last.iteration
    close(kbcd.gather(found), kbcd.local_solve(K:square():add_diagonal(ridge), B), 1e-3, "(K + ridge I) x = B")
  end
  assert(steps[2] < steps[1] / 2, ("%d steps, %d without preconditioner"):format(steps[2], steps[1]))
end)

test("bad input", function()
  local function cg(o) return function() conjugate_gradients(o):solve() end end
  fails(cg{ right = B }, "conjugate_gradients", "times", "missing")
  fails(cg{ times = times, right = 3 }, "conjugate_gradients", "right", "Matrix")
  fails(cg{ times = times, right = B, tolerance = 1 }, "'tolerance'", "tol")
  fails(cg{ times = times, right = B, start = Matrix.zeros(2, 2) }, "start", "40x3", "2x2")
  fails(cg{ times = function() return 3 end, right = B }, "times must give", "40x3", "number")
  fails(cg{ times = function(D) return -1 * D end, right = B }, "not positive definite", "times")
  fails(cg{ times = times, right = B, precondition = function(R) return -1 * R end }, "not positive definite")
  fails(cg{ times = function(D) return D * (0 / 0) end, right = B }, "conjugate_gradients")
end)

test("sparse_sign", function()
  local m, rows = 300, 25
  local layout = DataSet(Matrix.zeros(m, 1))
  local function own(M) return M:rows(layout.first, layout.first + layout.local_n - 1) end
  for _, nonzeros in ipairs{ 1, 8, rows } do
    local Phi = kbcd.sparse_sign(rows, m, { nonzeros = nonzeros, seed = 3 })
    local dense = kbcd.allreduce(Phi * own(Matrix.eye(m)))
    for i = 1, m do
      local count = 0
      for r = 1, rows do
        local v = dense(r, i)
        if v ~= 0 then
          count = count + 1
          close(math.abs(v), 1 / math.sqrt(nonzeros), 1e-14, "entry")
        end
      end
      equal(count, nonzeros, "nonzeros of a column")
    end
    assert(math.abs(dense:sum()) < 4 * math.sqrt(m), "signs are balanced")
    local M = Matrix.randn(m, 70, { seed = 9 })
    close(kbcd.allreduce(Phi * own(M)), dense * M, 1e-12, "Phi A")
    close(kbcd.allreduce(Phi * own(M):to("f32")), dense * M, 1e-5, "Phi A of f32")
    equal(kbcd.allreduce(kbcd.sparse_sign(rows, m, { nonzeros = nonzeros, seed = 3 }) * own(Matrix.eye(m))), dense)
    local other = kbcd.sparse_sign(rows, m, { nonzeros = nonzeros, seed = 3, stream = 1 })
    assert(kbcd.allreduce(other * own(Matrix.eye(m))) ~= dense, "another stream")
  end
  equal(kbcd.sparse_sign(3, 5) * Matrix.zeros(DataSet(Matrix.zeros(5, 1)).local_n, 2), Matrix.zeros(3, 2))
  fails(function() kbcd.sparse_sign(3, 5, { nonzeros = 4 }) end, "sparse_sign", "1..3", "4")
  fails(function() kbcd.sparse_sign(0, 5) end, "sparse_sign", "0x5")
  fails(function() return kbcd.sparse_sign(3, 5) * Matrix.zeros(6, 1) end, "sparse_sign", "6x1")
  fails(function() return kbcd.sparse_sign(3, 5) * Index{ 1 } end, "cannot multiply SparseSign by Index")
end)

spec.finish()
