-- precision_check(run, method, block): how far the scores that a run keeps differ from those of the same model computed in
-- f64. An algorithm keeps its fitted values F (or the residual, Y − F) up to date by products with blocks in f32, or kept in
-- f16. Of a few training rows R it computes f(R) in f64 from the coefficients and compares,
--
--     loss = |F_R − f(R)| / |Y_R|,     misfit = |Y_R − f(R)| / |Y_R|
--
-- for each λ. At the end of a run, after the step of `block`, rounding errors are too large if they exceed a thousandth of
-- the targets and a tenth of the misfit: then they, and not the model, decide the numbers that are reported. Rank 0 reports;
-- the result is the losses and the misfits, or nothing for a run in f64.
--
-- precision_check.bookkeeping(run, method): an error where the difference cannot come from rounding: then a step changes
-- the coefficients and not the residual, or the residual and not the coefficients. What rounding can do is measured: by the
-- same scores computed in f32, or for a run in f64, of coefficients rounded to f32. It is called after the first epoch of a
-- method that keeps a residual, in any precision.
--
-- Every rank calls both.

local kbcd = require "kbcd"
local streams = require "kbcd.support.streams"
local Matrix, Index = kbcd.Matrix, kbcd.Index

local most_rows, least_loss, share_of_misfit = 64, 1e-3, 0.1
local most_rounding = 1000  -- times that of one pass over the data
local epsilon = { f16 = 2 ^ -11, f32 = 2 ^ -24, f64 = 2 ^ -53 }

local precision_check = {}

local function f16_kept(run)
  local o = run.o
  return o.keep == "f16" and (not run.blocks or o.partition == "fixed" and o.epochs > 1)
end

-- Of rows R, an Index, for each λ: loss, misfit and, with `rounding`, how far scores in f32 are off, all over |Y_R|; with
-- `rounding`, over |f(R)| where that is larger.
local function measure(run, R, rounding)
  local X, model, lambda = run.model.X, run.model, run.lambda
  local S, L = kbcd.Selector(X.n, R), lambda.count
  local kept, targets = kbcd.allreduce(S:t() * run.fitted(), S:t() * run.targets())
  targets = lambda:each(targets)
  local Z = X:subset(R):to("f64")
  local sums = Matrix.zeros(5, L)
  if Z.local_n > 0 then
    kept, targets = kept:rows(Z.first, Z.first + Z.local_n - 1), targets:rows(Z.first, Z.first + Z.local_n - 1)
  end
  local anew = model:scores(Z, model.coefficients, model.exact_block_of)  -- on every rank, also on one without rows
  local rough
  if rounding and X.dtype == "f32" then
    rough = model:scores(Z:to("f32"), model.coefficients, model.exact_block_of)
  elseif rounding then
    rough = model:scores(Z, model.coefficients:to("f32"):to("f64"), model.exact_block_of)
  end
  for l = 1, Z.local_n > 0 and L or 0 do
    local f = lambda:columns(anew, l)
    sums:set(1, l, (lambda:columns(kept, l) - f):norm() ^ 2)
    sums:set(2, l, (lambda:columns(targets, l) - f):norm() ^ 2)
    sums:set(3, l, rough and (lambda:columns(rough, l) - f):norm() ^ 2 or 0)
    sums:set(4, l, rough and f:norm() ^ 2 or 0)
    sums:set(5, l, lambda:columns(targets, l):norm() ^ 2)
  end
  kbcd.allreduce(sums)
  local loss, misfit, off = {}, {}, {}
  for l = 1, L do
    local size = math.max(sums(5, l), sums(4, l), 1e-300)
    loss[l], misfit[l], off[l] = math.sqrt(sums(1, l) / size), math.sqrt(sums(2, l) / size), math.sqrt(sums(3, l) / size)
  end
  return loss, misfit, off
end

local function sample(run)
  return Index.sample(run.X.n, math.min(most_rows, run.X.n), { seed = run.o.seed, stream = streams.precision })
end

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

function precision_check.bookkeeping(run, method)
  if not method.residual then return end
  local R = sample(run)
  if math.max(unpack((measure(run, R)))) <= least_loss then return end
  local loss, _, off = measure(run, R, true)
  local ratio = epsilon[f16_kept(run) and "f16" or run.X.dtype] / epsilon.f32
  for l in ipairs(loss) do
    if loss[l] > least_loss and loss[l] > most_rounding * ratio * off[l] then
      error(("%s: the residual does not match the coefficients: after epoch %d, fitted(E) of %d training rows differs " ..
        "from the model's prediction by %.2g of the targets (lambda = %g), far more than by rounding. A step must change " ..
        "both: the rows B of the coefficients by Delta (alpha:add_rows(B, Delta)), and E in place by the same Delta " ..
        "(E:sub(K_b * Delta), not E = E - K_b * Delta, which makes another Matrix); and fitted(E) must belong to it (%s)")
        :format(run.owner, run.epoch, #R, loss[l], run.lambda[l], run.place), 0)
    end
  end
end

local function at_the_end(_, run, method, block)
  local f16 = f16_kept(run)
  if run.X.dtype == "f64" and not f16 or not method.fitted then return nil end
  -- Without a residual, fitted values of block methods are right for the rows of the last block alone.
  local R = (method.residual or method.iterate) and sample(run) or block.I:slice(1, math.min(most_rows, #block.I))
  local loss, misfit = measure(run, R)
  report(run, f16, #R, loss, misfit)
  return loss, misfit
end

return setmetatable(precision_check, { __call = at_the_end })
