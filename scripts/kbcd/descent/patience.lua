-- patience(run): for each λ, how many epochs ago the model last improved by more than noise: f(losses, sizes) after an epoch.
--
-- Rows that are held out judge the model (o.held_out: rows, and loss(scores), this rank's rows x L). With ℓ_i the loss of row
-- i now, and r_i that of the last model that was an improvement, this one is an improvement if
--
--     mean(r − ℓ) > s / √m,     s the standard deviation of r − ℓ over the m rows:
--
-- if its gain is larger than the noise of that gain. The rows are the same, so that what both models get wrong cancels. Small
-- gains add up, since r stays. Without held-out rows, sizes judge it (a number for each λ: the residual, or the change of the
-- model), and an improvement is one by 1%. r and the counts are state, so that a run that resumes stops in the same epoch.

local kbcd = require "kbcd"
local Matrix = kbcd.Matrix

local least_gain = 0.01

-- Of each λ: whether the losses are lower than those of the reference by more than noise.
local function gains(losses, reference, rows)
  local D, better = reference - losses, {}
  local sums = Matrix.vcat{ D.nrows > 0 and D:sum(1) or Matrix.zeros(1, D.ncols),
    D.nrows > 0 and D:clone():square():sum(1) or Matrix.zeros(1, D.ncols) }
  kbcd.allreduce(sums)
  for l = 1, D.ncols do
    local mean = sums(1, l) / rows.n
    local noise = math.sqrt(math.max(sums(2, l) / rows.n - mean ^ 2, 0) / rows.n)
    better[l] = mean > 0 and mean > noise
  end
  return better
end

return function(run)
  local o, L = run.o, run.lambda.count
  local rows = o.held_out and o.held_out.rows
  local waited = run.own("replicated", "waited", Matrix.full(1, L, -1))  -- -1: there is no reference yet
  local reference = rows and run.own("distributed", "reference", Matrix.zeros(rows.local_n, L))
    or run.own("replicated", "reference", Matrix.zeros(1, L))

  return function(losses, sizes)
    local now, better = losses, {}
    if not rows then
      now = Matrix.zeros(1, L)
      for l = 1, L do now:set(1, l, sizes[l]) end
      for l = 1, L do better[l] = now(1, l) < (1 - least_gain) * reference(1, l) end
    elseif waited(1, 1) >= 0 then
      better = gains(losses, reference, rows)
    end
    local list = {}
    for l = 1, L do
      if waited(1, l) < 0 or better[l] then
        waited:set(1, l, 0)
        reference:cols(l):copy(now:cols(l))
      else
        waited:set(1, l, waited(1, l) + 1)
      end
      list[l] = waited(1, l)
    end
    return list
  end
end
