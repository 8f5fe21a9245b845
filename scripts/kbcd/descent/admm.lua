-- admm(run, loss, Y, s): another loss than the square over a method that solves least squares, by the alternating direction
-- method of multipliers. min (1/n) Σ ℓ(o_i, y_i) + λ‖f‖² subject to f = o has, with the penalty (s/n)‖f − o + u‖², the steps
--
--     f ← argmin (1/n)‖f − (o − u)‖² + (λ/s)‖f‖²     epochs of the method, with targets o − u and λ/s
--     o ← prox of ℓ/2s at f̂ + u,     u ← u + f̂ − o,     f̂ = 1.6 f − 0.6 o_before (over-relaxation).
--
-- The method's systems and factors stay as they are, and its model is the start of the next epoch. At the solution f = o and
-- 2s u = ∂ℓ/∂f, so a run begins with o = f and u = ∂ℓ/∂f / 2s of the model that it starts from. With weights w of the rows, ℓ
-- and the penalty of a row are times w, and the steps are the same.
--
-- The residual of a λ is the larger of |f − o| and |o − o_before|, over |o|. An epoch solves for f roughly: where it
-- changed the model by more than a share of the residual, another one follows before o and u change, since steps from an f
-- that is too far off may diverge. Each λ has its own o and u, side by side as the models, and its own such epochs: the
-- method's targets have k columns for each λ. o, u and the residuals are declared as state.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix

local relaxation, share = 1.6, 0.5
local unknown = 1e300  -- a residual

return function(run, loss, Y, s)
  local lambda, t = run.lambda, 1 / (2 * s)
  local O = run.own("distributed", "o", Matrix.zeros(Y.nrows, run.columns))
  local U = run.own("distributed", "u", Matrix.zeros(Y.nrows, run.columns))
  local residuals = run.own("replicated", "admm residuals", Matrix.full(1, lambda.count, unknown))
  local admm = { penalty = s }

  -- The targets of the method.
  function admm.targets() return O - U end

  -- Begins with fitted values F; 0 unless given.
  function admm.begin(F)
    if F then O:copy(F) end
    for l = 1, lambda.count do
      lambda:columns(U, l):copy(loss.gradient(lambda:columns(O, l), Y)):scale(t)
    end
  end

  -- The steps of o and u after an epoch that led to F and changed the model by so much, for each λ.
  function admm.update(F, change)
    local squares = Matrix.zeros(3, lambda.count)
    for l = 1, lambda.count do
      if change[l] <= share * residuals(1, l) then
        local f, o, u = lambda:columns(F, l), lambda:columns(O, l), lambda:columns(U, l)
        local V = (relaxation * f):add(o, 1 - relaxation):add(u)
        local new = loss.prox(V, Y, t, o)
        for i, size in ipairs{ (f - new):norm(), (new - o):norm(), new:norm() } do squares:set(i, l, size ^ 2) end
        o:copy(new)
        u:copy(V:sub(new))
      end
    end
    kbcd.allreduce(squares)
    for l = 1, lambda.count do
      if change[l] <= share * residuals(1, l) then
        residuals:set(1, l, math.sqrt(math.max(squares(1, l), squares(2, l)) / math.max(squares(3, l), 1e-300)))
      end
    end
  end

  -- For each λ, since its last update; nil before the first.
  function admm.residuals()
    local list = {}
    for l = 1, lambda.count do list[l] = residuals(1, l) end
    return list[1] < unknown and list or nil
  end

  admm.begin()
  return admm
end
