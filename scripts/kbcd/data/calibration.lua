-- calibration(list, y [, w]): probabilities from scores s of rows that the model was not trained on, for each λ of a path:
-- numbers a and b_1 … b_k such that softmax(a s + b) has the least log-loss, weighted by w. Newton's method, with the targets
--
--     q_c = 1 − ε + ε/k for the row's class, ε/k for the others,     ε = k / (n + k),
--
-- after Platt (1999): with few rows, or classes that the scores separate, a stays finite. b is 0 where there are fewer than
-- 20 rows a class. The result has a row (a, b_1 … b_k) for each λ.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local softmax = require "kbcd.data.softmax"
local Matrix = kbcd.Matrix

runtime.docs.calibration = [[calibration(list, y [, w])
Numbers that make probabilities, softmax(a s + b), of the scores s of a classifier: an L x (1 + k) Matrix, a row (a, b_1 …
b_k) for each Matrix of scores in the list (this rank's rows, one for each lambda). y: a DataSet of class numbers 1..k; w:
one of weights, or nil. The rows must not be those that the model was trained on: held out, or from leave_one_out.
model.calibration = calibration(…) gives a Model its probabilities, and model:save stores it. All ranks call it.
calibration.apply(row, S) gives the probabilities.]]

local most_steps, rows_a_class = 50, 20

local function apply(row, S) return softmax((row(1, 1) * S):add(row:cols(2, row.ncols))) end

-- The sum of −Σ_c q_c log p_c, its gradient and Hessian by (a, b), over all ranks.
local function derivatives(row, S, Q, w)
  local k = S.ncols
  local A = (row(1, 1) * S):add(row:cols(2, k + 1))
  local P = softmax(A)
  local G, H, value = Matrix.zeros(1, k + 1), Matrix.zeros(k + 1, k + 1), Matrix.zeros(1, 1)
  if S.nrows > 0 then
    value:set(1, 1, softmax.log_sum(A):cmul(w):sum() - A:cmul(w):dot(Q))
    local R, PS = (P - Q):cmul(w), P:clone():cmul(S)
    local PW = P:clone():cmul(w)
    local WS = (PS - P:clone():cmul(PS:sum(2))):cmul(w)                 -- w (diag(p) − p pᵀ) s
    G:set(1, 1, R:dot(S))
    G:cols(2, k + 1):copy(R:sum(1))
    H:set(1, 1, WS:dot(S))
    H:block(1, 1, 2, k + 1):copy(WS:sum(1))
    H:block(2, k + 1, 1, 1):copy(WS:sum(1):t())
    H:block(2, k + 1, 2, k + 1):copy(-1 * (P:t() * PW)):add_diagonal(PW:sum(1))
  end
  kbcd.allreduce(value, G, H)
  return value(1, 1), G, H
end

local function fit(S, Q, n, w)
  local k = S.ncols
  local row, biases = Matrix.zeros(1, k + 1), n >= rows_a_class * k
  row:set(1, 1, 1)
  local value, G, H = derivatives(row, S, Q, w)
  for _ = 1, most_steps do
    local step = Matrix.zeros(1, k + 1)
    if biases then
      local ridge = 1e-9 * (H:trace() / (k + 1) + 1e-300)               -- b + c is b: H is singular there
      step:copy(kbcd.chol(H:add_diagonal(ridge), { jitter = true }):solve(G:t()):t())
    else
      step:set(1, 1, G(1, 1) / math.max(H(1, 1), 1e-300))
    end
    local slope, theta, better = step:dot(G), 1, false
    for _ = 1, 30 do
      local trial = row - theta * step
      local at, G_at, H_at = derivatives(trial, S, Q, w)
      if at <= value - 1e-4 * theta * slope then
        row, value, G, H, better = trial, at, G_at, H_at, true
        break
      end
      theta = theta / 2
    end
    if not better or slope < 1e-12 * n then break end
  end
  local b = row:cols(2, k + 1)
  b:add(-b:mean())
  return row
end

local function each(_, list, y, weights)
  local rows, w = {}, weights and kbcd.row_weights.normalised(weights) or Matrix.full(y.local_n, 1, 1)
  for l, S in ipairs(list) do
    if kbcd.type(S) ~= "Matrix" or S.nrows ~= y.local_n then
      error(("calibration: scores %d: a Matrix of this rank's %d rows expected, got %s"):format(l, y.local_n, tostring(S)), 2)
    end
    kbcd.scoring.require_finite(S, y.first, "the scores")
    local epsilon = S.ncols / (y.n + S.ncols)
    local Q = Matrix.full(S.nrows, S.ncols, epsilon / S.ncols)
    for i = 1, S.nrows do Q:set(i, y.rows(i, 1), 1 - epsilon + epsilon / S.ncols) end
    rows[l] = fit(S, Q, y.n, w)
  end
  return Matrix.vcat(rows)
end

return setmetatable({ apply = apply }, { __call = each })
