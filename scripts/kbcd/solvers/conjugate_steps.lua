-- conjugate_steps(run, o): preconditioned conjugate gradients on A X = B as the iterations of an algorithm: the state is
-- declared to the run, so that it is saved and resumes. Every column has a step length of its own,
--
--     Q = A D,   a = ⟨D, R⟩ / ⟨D, Q⟩,   X ← X + D a,   R ← R − Q a,   Z = P⁻¹R,   D ← Z + D ⟨R, Z⟩ / ⟨R, Z⟩_before
--
-- where R is B − A X but for rounding, which grows from step to step: now and then a step gets R anew. Then ⟨R, Z⟩ may be far
-- above the one before, which was only rounding, and D takes at most one part of its last value.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local Matrix = kbcd.Matrix

runtime.docs.conjugate_steps = [[conjugate_steps(run, { x, times, precondition [, distributed] })
Preconditioned conjugate gradients on A X = B for an algorithm that iterates (conjugate_gradients needs no run). x: X, as
the run's model has it; times(D): A D; precondition(R): P^-1 R. distributed = true: X has this rank's rows, and dot products
are summed over the ranks. It declares the states R (B - A X), D and rz to the run. c.R is R; c.restart() begins anew from
what is in R; c.step([anew]) makes a step and returns its length for each column, 1 x k. anew: a function that gives R from
X, to be called instead of an update of R.]]

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
  function c.step(anew)
    local Q = o.times(D)
    local a = quotients(sums(D:dots(R), D:dots(Q)))
    x:add(D:clone():cmul(a))
    if anew then R:copy(anew()) else R:sub(Q:cmul(a)) end
    local Z = o.precondition(R)
    local now = sums(R:dots(Z))
    local part = quotients(now, rz)
    D:cmul(anew and part:clamp(0, 1) or part):add(Z)
    rz:copy(now)
    return a
  end
  return c
end
