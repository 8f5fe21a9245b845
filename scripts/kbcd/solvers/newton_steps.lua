-- newton_steps(run, o): Newton's method for min (1/n) Σ ℓ(f_i, y_i) + λ⟨α, Mα⟩, f = Kα, as the iterations of an algorithm;
-- M is that of the norm, ‖f‖² = ⟨α, Mα⟩. With W the second derivatives of ℓ at each row, a step solves
--
--     H D = −G,     G = Kᵀ ∂ℓ/∂f + 2nλ Mα,     H D = Kᵀ (W (K D)) + 2nλ M D
--
-- by preconditioned conjugate gradients, to a tenth of G or by o.inner iterations, and goes α ← α + θD with the first θ =
-- 1, ½, ¼ … that lowers the objective enough (Armijo). K D is the sum of what the inner iterations computed, so that trials
-- of θ cost no product with K. All k columns of a model are one system, since W couples the classes; each λ has its own
-- lengths and θ.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix

local forcing, armijo, most_halvings = 0.1, 1e-4, 40

-- o: x (α, on every rank), Y, times(D) = K D, t_times(A) = KᵀA over all ranks, metric(D) = M D, precondition(R) = P⁻¹R with
-- P ≈ H, and inner.
return function(run, o)
  local X, lambda, loss, alpha, Y = run.X, run.lambda, run.loss, o.x, o.Y
  local nl2, L = 2 * X.n * lambda, lambda.count
  local F = run.distributed("F", Matrix.zeros(X.local_n, run.columns))    -- K α
  local first = run.replicated("first", Matrix.zeros(1, L))               -- |G| at α = 0

  local function each_model(f)
    local list = {}
    for l = 1, L do list[l] = f(l) end
    return list
  end
  local function dots(A, B)                                               -- of each model
    local row = A:dots(B)
    return each_model(function(l) return lambda:columns(row, l):sum() end)
  end
  local function add_each(A, B, factors)                                  -- A + B, each model's columns times its number
    for l = 1, L do lambda:columns(A, l):add(lambda:columns(B, l), factors[l]) end
    return A
  end
  -- f(l) of each model, side by side.
  local function side_by_side(f) return Matrix.hcat(each_model(f)) end
  local function ratios(a, b) return each_model(function(l) return b[l] > 0 and a[l] / b[l] or 0 end) end

  -- D and K D of a Newton step with gradient G.
  local function direction(G)
    local W = each_model(function(l) return loss.hessian(lambda:columns(F, l), Y) end)
    local D, KD = Matrix.zeros(alpha.nrows, alpha.ncols), Matrix.zeros(F.nrows, F.ncols)
    local R = -1 * G
    local Z = o.precondition(R)
    local S, rz = Z:clone(), dots(R, Z)
    local goal = each_model(function(l) return forcing ^ 2 * rz[l] end)
    for _ = 1, o.inner do
      local V = o.times(S)
      local Q = o.t_times(side_by_side(function(l) return W[l](lambda:columns(V, l)) end)):add(nl2 * o.metric(S))
      local a = ratios(rz, dots(S, Q))
      add_each(D, S, a)
      add_each(KD, V, a)
      add_each(R, Q, each_model(function(l) return -a[l] end))
      Z = o.precondition(R)
      local now, left = dots(R, Z), 0
      for l = 1, L do left = math.max(left, now[l] - goal[l]) end
      if kbcd.allreduce_max(left) <= 0 then break end
      S = add_each(Z:clone(), S, ratios(now, rz))
      rz = now
    end
    return D, KD
  end

  -- Σ ℓ of each model, over all ranks.
  local function losses(A)
    local sums = Matrix.zeros(1, L)
    for l = 1, L do sums:set(1, l, loss.value(lambda:columns(A, l), Y)) end
    return kbcd.allreduce(sums)
  end

  -- θ of each model. slopes: ⟨G, D⟩.
  local function lengths(D, KD, slopes)
    local MD, before = o.metric(D), losses(F)
    local linear, quadratic = dots(alpha, MD), dots(D, MD)
    local theta = each_model(function() return 1 end)
    for _ = 1, most_halvings do
      local after = losses(add_each(F:clone(), KD, theta))
      local done = true
      for l = 1, L do
        local change = after(1, l) - before(1, l) + X.n * lambda[l] * (2 * theta[l] * linear[l] + theta[l] ^ 2 * quadratic[l])
        local noise = 1e-14 * math.abs(before(1, l))                      -- of the sums
        local enough = change <= armijo * theta[l] * slopes[l] + noise    -- false for NaN, too
        if not enough then theta[l], done = theta[l] / 2, false end
      end
      if kbcd.allreduce_min(done and 1 or 0) == 1 then return theta end
    end
    return theta
  end

  local newton, relative = {}, nil

  local function gradient_of(A)
    return o.t_times(side_by_side(function(l) return loss.gradient(lambda:columns(A, l), Y) end))
  end
  local function norms(G) return each_model(function(l) return lambda:columns(G, l):norm() end) end

  -- Of the start, if one was given.
  function newton.begin()
    if run.o.start then F:copy(o.times(alpha)) end
    for l, size in ipairs(norms(gradient_of(F * 0))) do first:set(1, l, size) end
  end

  function newton.step()
    local G = gradient_of(F):add(nl2 * o.metric(alpha))
    relative = each_model(function(l) return lambda:columns(G, l):norm() / math.max(first(1, l), 1e-300) end)
    local D, KD = direction(G)
    local theta = lengths(D, KD, dots(G, D))
    add_each(alpha, D, theta)
    add_each(F, KD, theta)
  end

  -- |G| of each model before the last step, over that at α = 0.
  function newton.progress() return relative end
  function newton.fitted() return F:clone() end
  return newton
end
