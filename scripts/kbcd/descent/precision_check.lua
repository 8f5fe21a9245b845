-- precision_check{…}: how far the scores that a run in f32 keeps are from those of the same model computed anew in f64.
--
-- An algorithm keeps its fitted values F (or the residual, Y − F) up to date by products with blocks in f32, or kept in f16.
-- Of a few training rows R it computes f(R) in f64 from the coefficients and compares,
--
--     loss = |F_R − f(R)| / |Y_R|,     misfit = |Y_R − f(R)| / |Y_R|
--
-- for each λ. Rounding is too much where it is more than a thousandth of the targets and more than a tenth of the misfit:
-- then it, and not the model, decides the numbers that are told.
--
-- owner, X, Y (this rank's targets), lambdas, k, rows (an Index: for these, F is up to date), fitted() (this rank's F, all λ
-- side by side), coefficients, count and b (the blocks I of 1..count), coefficient_rows(C, I) (on every rank), exact(Z, I)
-- (the block of f64 rows Z against part I of the model). Every rank calls it; rank 0 tells. Gives the losses and misfits.

local kbcd = require "kbcd"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local most_rows, least_loss, share_of_misfit = 64, 1e-3, 0.1

local function scores_in_f64(c, Z)
  local F = Matrix.zeros(Z.local_n, c.coefficients.ncols)
  for _, I in ipairs(Index.range(1, c.count):partition(c.b)) do
    F:add(c.exact(Z, I) * c.coefficient_rows(c.coefficients, I))
  end
  return F
end

local function tell(c, loss, misfit)
  local worst
  for l in ipairs(c.lambdas) do
    local much = loss[l] > math.max(least_loss, share_of_misfit * misfit[l])
    if much and not (worst and loss[worst] >= loss[l]) then worst = l end
  end
  if not worst or kbcd.rank() ~= 0 then return end
  io.stderr:write(("%s: %s is not enough for this run: with lambda = %g its scores of %d training rows are off by %.2g of " ..
    "the targets, beside a misfit of %.2g; use f64 (--precision f64, X:to \"f64\")%s, or a larger lambda\n"):format(c.owner,
    c.f16 and "f16" or "f32", c.lambdas[worst], math.min(most_rows, #c.rows), loss[worst], misfit[worst],
    c.f16 and " or --cache f32" or ""))
end

return function(c)
  local R = c.rows:slice(1, math.min(most_rows, #c.rows))
  local S, L, k = kbcd.Selector(c.X.n, R), #c.lambdas, c.k
  local kept, targets = kbcd.allreduce(S:t() * c.fitted(), S:t() * c.Y)
  local Z = c.X:subset(R):to("f64")
  local sums = Matrix.zeros(2, L + 1)
  if Z.local_n > 0 then
    kept, targets = kept:rows(Z.first, Z.first + Z.local_n - 1), targets:rows(Z.first, Z.first + Z.local_n - 1)
  end
  local anew = scores_in_f64(c, Z)  -- on every rank, also on one without rows
  for l = 1, Z.local_n > 0 and L or 0 do
    local f = anew:cols((l - 1) * k + 1, l * k)
    sums:set(1, l, (kept:cols((l - 1) * k + 1, l * k) - f):norm() ^ 2)
    sums:set(2, l, (targets - f):norm() ^ 2)
  end
  if Z.local_n > 0 then sums:set(1, L + 1, targets:norm() ^ 2) end
  kbcd.allreduce(sums)
  local size, loss, misfit = math.max(sums(1, L + 1), 1e-300), {}, {}
  for l = 1, L do loss[l], misfit[l] = math.sqrt(sums(1, l) / size), math.sqrt(sums(2, l) / size) end
  tell(c, loss, misfit)
  return loss, misfit
end
