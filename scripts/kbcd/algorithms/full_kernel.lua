-- full_kernel: the paper's Algorithm 1, corrected. Block Gauss–Seidel on (K + nλI) α = Y: for a block I of rows,
--
--     α_I ← (K(I,I) + nλ I)⁻¹ (Y_I − Σ_J K(I,J) α_J),     J the other blocks.
--
-- K is symmetric, so K(J,I) serves twice: with J later in the epoch's order than I, for what α_J of the last epoch gives I
-- now, and for what the new α_I will give J. With T = K(later, I), generated once, and l collecting the latter,
--
--     α_I ← (K(I,I) + nλ I)⁻¹ (Y_I − l_I − Tᵀ α_later),     l_later ← l_later + T α_I
--
-- are the same iterates for half the kernel (form = "half"); form = "plain" generates K(J,I) for all other blocks J. α is
-- n x k, each rank holds its own rows; with several λ the models lie side by side in n x (kL) and share every T.

local kbcd = require "kbcd"
local new_factors = require "kbcd.descent.factors"
local kept_blocks = require "kbcd.descent.kept_blocks"
local path = require "kbcd.descent.path"
local repeat_columns = require "kbcd.descent.repeat_columns"
local require_room = require "kbcd.descent.require_room"
local targets = require "kbcd.descent.targets"
local runtime = require "kbcd.runtime"
local options, steps = require "kbcd.descent.options", require "kbcd.descent.steps"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.full_kernel = [[full_kernel(X, Y, options)
An iterator of block steps of the full kernel machine (Algorithm 1). options: kernel; lambdas (a number or a list);
b = 2048 (block size, at most n); epochs = 1; partition = "fresh" (anew each epoch) or "fixed" (as in the paper);
form = "half" (every kernel entry is generated once an epoch and used twice; a fixed partition is visited in one order) or
"plain" (as in the paper; the same iterates); cache = "f32", "f16" or "none": how the blocks of a fixed partition are kept
from epoch to epoch, as far as the memory budget goes; tol = 0 (stop after the epoch in which the model changed by no more,
relatively); jitter = false; seed; test (a DataSet: step.test_scores follows every block);
checkpoint (help "checkpoint").
step.residual: |Y - (K + n lambda I) alpha| / |Y| over the epoch's blocks, each before its step. step.model:fitted() is of
each row as of the last visit of its block.
for step in full_kernel(X, Y, o) do … step.epoch, step.block, step.epoch_end, step.change, step.model[1]:predict(Xtest) end]]

-- How many blocks are begun at a time: one for each thread of all ranks, as far as their centres, which a block holds twice,
-- take no more than a quarter of the memory budget.
local function blocks_ahead(X, b)
  local count = kbcd.size() * kbcd.threads()
  if X.sparse then return count end
  local bytes = 2 * b * X.d * (X.dtype == "f32" and 4 or 8)
  return math.max(1, kbcd.allreduce_min(math.min(count, math.floor(kbcd.memory_budget() / 4 / bytes))))
end

return function(X, Y, given)
  Y = targets("full_kernel", X, Y)
  local o = options.algorithm("full_kernel", given, X.n, "n", "fresh", {
    kernel = { options.kernel }, form = { options.one_of("half", "plain"), "half" },
  })
  local n, k, L, half = X.n, Y.ncols, #o.lambdas, o.form == "half"
  -- α, l, what a product takes or gives, and a copy in f32 of what it takes; of a fixed partition `solved`, too.
  local spread = o.partition == "fixed" and 5 or 4
  require_room("full_kernel", X, o, { columns = k * L, count = n, spread = spread, same = 0, systems = kbcd.threads() })
  o.order = half and o.partition == "fixed" and "fixed" or nil  -- so that what is later stays so, and T can be kept
  local alpha, l = Matrix.zeros(X.local_n, k * L), Matrix.zeros(X.local_n, k * L)
  local missed, size = Matrix.zeros(1, L), Matrix.zeros(1, 1)     -- squares of residuals and targets of this epoch
  -- Of a fixed partition: (K(I,I) + nλ I) α_I, the right-hand sides of the last visits.
  local solved = o.partition == "fixed" and Matrix.zeros(X.local_n, k * L) or nil

  local panels = kept_blocks(o, function(block, keep)
    local rows = Index.range(1, n):without(half and block.so_far() or block.I)
    keep = keep or half and block.epoch == 1 and "none" or nil  -- multiplied once: α_later = 0
    return kbcd.KernelBlock(X, block.I, o.kernel, { rows = rows, keep = keep }), X:local_rows(rows)
  end)
  local factors = new_factors{
    lambdas = o.lambdas, k = k, jitter = o.jitter, keep = o.partition == "fixed" and o.epochs > 1,
    ahead = blocks_ahead(X, o.b), side_by_side = true,
    begin = function(block, root)
      local T = panels.get(block)
      local K_bb = root == kbcd.rank() and T:square() or nil
      return function() return K_bb end
    end,
    system = function(K_bb, lambda) return K_bb:to("f64"):add_diagonal(n * lambda) end,
  }

  local function update(block)
    if block.done == 1 then l:fill(0) missed:fill(0) size:fill(0) end
    local T, here = panels.get(block)
    local S_b = kbcd.Selector(n, block.I)
    local first = half and block.epoch == 1  -- then α_later = 0
    local R = first and Matrix.zeros(#block.I, k * L) or T:t() * alpha:take(here)
    local l_b, Y_b, alpha_b, solved_b
    R, l_b, Y_b, alpha_b, solved_b = kbcd.allreduce(unpack{
      R, S_b:t() * l, S_b:t() * Y, S_b:t() * alpha, solved and S_b:t() * solved,
    })
    local right = repeat_columns(Y_b, L):sub(R):sub(l_b)
    local new, squares = factors.solve(block, right, not solved and alpha_b)
    local Delta, residual = new - alpha_b, {}
    alpha:add(S_b * Delta)
    if solved then
      right:sub(solved_b)  -- (K(I,I) + nλ I) Δ
      solved:add(S_b * right)
      squares = Matrix.zeros(1, L)
      for i = 1, L do squares:set(1, i, right:cols((i - 1) * k + 1, i * k):norm() ^ 2) end
    end
    if half then l:add_rows(here, T * new) end
    panels.done(block)
    missed:add(squares)
    size:set(1, 1, size(1, 1) + Y_b:norm() ^ 2)
    for i = 1, L do residual[i] = math.sqrt(missed(1, i) / size(1, 1)) end
    return Delta, alpha_b, residual
  end

  -- A block's own equations hold after its visit: (Kα)_b = Y_b − nλ α_b.
  local function fitted()
    local F = alpha:clone()
    for i, lambda in ipairs(o.lambdas) do F:cols((i - 1) * k + 1, i * k):scale(-n * lambda):add(Y) end
    return F
  end

  -- f(x) = K(x, [n]) α
  return steps("full_kernel", o, n, update, path{
    lambdas = o.lambdas, k = k, d = X.d, coefficients = alpha, count = n, b = o.b, test = o.test, fitted = fitted,
    options = o,
    block = function(Z, I, keep) return kbcd.KernelBlock(Z, I, o.kernel, { centers = X, keep = keep }) end,
    rows = function(C, I) return kbcd.allreduce(kbcd.Selector(n, I):t() * C) end,
    check = {
      X = X, Y = Y, rows = function(block) return block.I end,
      exact = function(Z, I)
        return kbcd.KernelBlock(Z, Index.range(1, #I), o.kernel, { centers = X:subset(I):to("f64") })
      end,
    },
  }, { spread = { alpha = alpha, l = l, solved = solved }, same = { missed = missed, size = size } })
end
