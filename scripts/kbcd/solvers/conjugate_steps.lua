-- conjugate_steps(run, o): preconditioned conjugate gradients on A X = B as the iterations of an algorithm: the state is
-- declared to the run, so that it is saved and resumes. Every column has a step length of its own,
--
--     Q = A D,   a = ⟨D, R⟩ / ⟨D, Q⟩,   X ← X + D a,   R ← R − Q a,   Z = P⁻¹R,   D ← Z + D ⟨R, Z⟩ / ⟨R, Z⟩_before
--
-- where R is B − A X but for rounding, which adds up. Now and then a step compares: a column of R that is off by more than a
-- tenth of what is left is replaced, and its directions begin anew. Other columns stay as they are: a slightly different R
-- would spoil the conjugate directions, and with them the speed at small λ, for nothing.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix = kbcd.Matrix

runtime.docs.conjugate_steps = [[conjugate_steps(run, { x, times, precondition [, distributed] })
Preconditioned conjugate gradients on A X = B for an algorithm that iterates (conjugate_gradients needs no run). x: X, as
the run's model has it; times(D): A D; precondition(R): P^-1 R. distributed = true: X has this rank's rows, and dot products
are summed over the ranks. It declares the states R (B - A X), D and rz to the run. c.R is R; c.restart() begins anew from
what is in R; c.step([true_residual]) makes a step and returns its length for each column, 1 x k. true_residual: a function
that computes B - A X, which replaces columns of R that rounding has led away from it.]]

-- a / b, and 0 where rounding left b no longer positive.
local function quotients(a, b)
  local q = Matrix.zeros(1, a.ncols)
  for j = 1, a.ncols do if b(1, j) > 0 then q:set(1, j, a(1, j) / b(1, j)) end end
  return q
end

return function(run, given)
  local is_function = options["function"]
  local o = options.read("conjugate_steps", given, { x = { options.matrix }, times = { is_function },
    precondition = { is_function }, distributed = { options.flag, false } })
  local declare = o.distributed and run.distributed or run.replicated
  local x = o.x
  local R, D = declare("R", Matrix.zeros(x.nrows, x.ncols)), declare("D", Matrix.zeros(x.nrows, x.ncols))
  local rz = run.replicated("rz", Matrix.zeros(1, x.ncols))
  local function sums(...)
    if o.distributed then kbcd.allreduce(...) end
    return ...
  end

  local c = { R = R }
  function c.restart()
    D:copy(o.precondition(R))
    rz:copy(sums(R:dots(D)))
  end
  -- Replaces columns of R that are off; 0 for them, 1 for the others.
  local function corrected(T)
    local C, parts = T - R, Matrix.ones(1, x.ncols)
    local off, size = sums(C:dots(C), T:dots(T))
    for j = 1, x.ncols do
      if off(1, j) > 0.01 * size(1, j) then
        R:cols(j):copy(T:cols(j))
        parts:set(1, j, 0)
      end
    end
    return parts
  end
  function c.step(true_residual)
    local Q = o.times(D)
    local a = quotients(sums(D:dots(R), D:dots(Q)))
    x:add(D:clone():cmul(a))
    R:sub(Q:cmul(a))
    local parts = true_residual and corrected(true_residual())
    local Z = o.precondition(R)
    local now = sums(R:dots(Z))
    D:cmul(quotients(now, rz))
    if parts then D:cmul(parts) end
    D:add(Z)
    rz:copy(now)
    return a
  end
  return c
end
