-- precision_check(run, method, block): how far the scores that a run in f32 keeps differ from those of the same model
-- computed in f64, at its end, after the step of `block`.
--
-- An algorithm keeps its fitted values F (or the residual, Y − F) up to date by products with blocks in f32, or kept in
-- f16. Of a few training rows R it computes f(R) in f64 from the coefficients and compares,
--
--     loss = |F_R − f(R)| / |Y_R|,     misfit = |Y_R − f(R)| / |Y_R|
--
-- for each λ. Rounding errors are too large if they exceed a thousandth of the targets and a tenth of the misfit: then they,
-- and not the model, decide the numbers that are reported. Every rank calls it; rank 0 reports. Returns the losses and the
-- misfits, or nothing for a run in f64.

local kbcd = require "kbcd"
local streams = require "kbcd.support.streams"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local most_rows, least_loss, share_of_misfit = 64, 1e-3, 0.1

local function report(run, f16, rows, loss, misfit)
  local worst
  for l in ipairs(loss) do
    local much = loss[l] > math.max(least_loss, share_of_misfit * misfit[l])
    if much and not (worst and loss[worst] >= loss[l]) then worst = l end
  end
  if not worst or kbcd.rank() ~= 0 then return end
  io.stderr:write(("%s: %s is not enough for this run: with lambda = %g its scores of %d training rows are off by %.2g of " ..
    "the targets, beside a misfit of %.2g; use f64 (--precision f64, X:to \"f64\")%s, or a larger lambda\n"):format(run.owner,
    f16 and "f16" or "f32", run.lambda[worst], rows, loss[worst], misfit[worst], f16 and " or --keep exact" or ""))
end

return function(run, method, block)
  local X, o, model, lambda = run.X, run.o, run.model, run.lambda
  local f16 = o.keep == "f16" and (not run.blocks or o.partition == "fixed" and o.epochs > 1)
  if X.dtype == "f64" and not f16 or not method.fitted then return nil end
  -- Without a residual, fitted values are right for the rows of the last block alone.
  local R = method.residual and Index.sample(X.n, math.min(most_rows, X.n), { seed = o.seed, stream = streams.precision }) or
    block.I
  R = R:slice(1, math.min(most_rows, #R))
  local S, L = kbcd.Selector(X.n, R), lambda.count
  local kept, targets = kbcd.allreduce(S:t() * run.fitted(), S:t() * run.targets())
  local Z = X:subset(R):to("f64")
  local sums = Matrix.zeros(2, L + 1)
  if Z.local_n > 0 then
    kept, targets = kept:rows(Z.first, Z.first + Z.local_n - 1), targets:rows(Z.first, Z.first + Z.local_n - 1)
  end
  local anew = model:scores(Z, model.coefficients, model.exact_block_of)  -- on every rank, also on one without rows
  for l = 1, Z.local_n > 0 and L or 0 do
    local f = lambda:columns(anew, l)
    sums:set(1, l, (lambda:columns(kept, l) - f):norm() ^ 2)
    sums:set(2, l, (targets - f):norm() ^ 2)
  end
  if Z.local_n > 0 then sums:set(1, L + 1, targets:norm() ^ 2) end
  kbcd.allreduce(sums)
  local size, loss, misfit = math.max(sums(1, L + 1), 1e-300), {}, {}
  for l = 1, L do loss[l], misfit[l] = math.sqrt(sums(1, l) / size), math.sqrt(sums(2, l) / size) end
  report(run, f16, #R, loss, misfit)
  return loss, misfit
end
