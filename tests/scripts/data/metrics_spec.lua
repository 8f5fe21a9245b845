-- ranks: 1 3
-- metrics: against numbers by hand, and against plain loops over all pairs of rows.

local kbcd = require "kbcd"
local spec = require "spec"
local test, equal, close = spec.test, spec.equal, spec.close
local Matrix, DataSet, metrics = kbcd.Matrix, kbcd.DataSet, kbcd.metrics

local function mine(A) return DataSet(A).rows end  -- this rank's rows

test("regression by hand", function()
  local y = DataSet(Matrix{ { 1, 7 }, { 5, 7 }, { 3, 7 }, { 3, 7 } })
  local m = metrics.regression(mine(Matrix{ { 2, 7 }, { 5, 8 }, { 1, 7 }, { 3, 6 } }), y)
  -- Squares of target 1: 1 + 4 of a spread of 4 + 4; of target 2 there is no spread.
  close(m.targets[1].r2, 1 - 5 / 8, 1e-14)
  equal(m.targets[2].r2, nil)
  close(m.r2, 1 - 5 / 8, 1e-14)
  close(m.targets[1].mae, 3 / 4, 1e-15)
  close(m.targets[2].mae, 2 / 4, 1e-15)
  close(m.mae, 5 / 8, 1e-15)
  close(m.rmse, math.sqrt(7 / 8), 1e-14)
  -- A row of weight 2 is two rows, one of weight 0 is none.
  local w = DataSet(Matrix{ { 2 }, { 1 }, { 1 }, { 0 } })
  local two = metrics.regression(mine(Matrix{ { 2, 7 }, { 2, 7 }, { 5, 8 }, { 1, 7 } }),
    DataSet(Matrix{ { 1, 7 }, { 1, 7 }, { 5, 7 }, { 3, 7 } }))
  local one = metrics.regression(mine(Matrix{ { 2, 7 }, { 5, 8 }, { 1, 7 }, { 3, 6 } }), y, w)
  for _, name in ipairs{ "rmse", "mae", "r2" } do close(one[name], two[name], 1e-14, name) end
end)

-- n rows of k classes with scores that have ties, and weights; the same on every rank.
local function made_up(n, k, seed)
  local S, noise = Matrix.zeros(n, k), Matrix.rand(n, k + 2, { seed = seed })
  local classes, weights = Matrix.zeros(n, 1), Matrix.zeros(n, 1)
  for i = 1, n do
    local class = math.min(k, 1 + math.floor(noise(i, k + 1) * k))
    classes:set(i, 1, class)
    weights:set(i, 1, math.floor(noise(i, k + 2) * 4))
    for c = 1, k do S:set(i, c, math.floor(8 * noise(i, c) + (c == class and 3 or 0)) / 4) end
  end
  return S, classes, weights
end

-- Σ over pairs of a row of the class and another one.
local function auc_by_pairs(s, is, w)
  local right, all = 0, 0
  for i = 1, #s do
    for j = 1, #s do
      if is[i] and not is[j] then
        local both = w[i] * w[j]
        all, right = all + both, right + both * (s[i] > s[j] and 1 or s[i] == s[j] and 0.5 or 0)
      end
    end
  end
  return right / all
end

test("AUC, by all pairs", function()
  -- By hand: positives 3, 2, 1; negatives 2, 0. Pairs in order: 2 + (1/2 + 1) + 1 of 6.
  local S = mine(Matrix{ { 0, 3 }, { 0, 2 }, { 0, 1 }, { 0, 2 }, { 0, 0 } })
  close((metrics.auc(S, DataSet(Matrix{ { 2 }, { 2 }, { 2 }, { 1 }, { 1 } }))), 4.5 / 6, 1e-15)
  equal((metrics.auc(S, DataSet(Matrix{ { 2 }, { 2 }, { 2 }, { 2 }, { 2 } }))), nil)
  for k = 2, 4 do
    local A, classes, weights = made_up(90, k, k)
    for _, weighted in ipairs{ false, true } do
      local mean, list = metrics.auc(mine(A), DataSet(classes:clone()), weighted and DataSet(weights:clone()) or nil)
      local sum = 0
      for c = 1, k do
        local s, is, w = {}, {}, {}
        for i = 1, 90 do
          s[i] = k == 2 and (A(i, 2) - A(i, 1)) * (c == 2 and 1 or -1) or A(i, c)
          is[i], w[i] = classes(i, 1) == c, weighted and weights(i, 1) or 1
        end
        close(list[c], auc_by_pairs(s, is, w), 1e-12, ("class %d of %d"):format(c, k))
        sum = sum + list[c]
      end
      close(mean, sum / k, 1e-12)
    end
  end
end)

test("F1, log-loss, Brier score and calibration by loops", function()
  for k = 2, 7 do
    local A, classes, weights = made_up(80, k, 10 + k)
    for _, weighted in ipairs{ false, true } do
      local w, P, best, n = {}, {}, {}, 0
      local log_loss, brier, wrong, top5 = 0, 0, 0, 0
      for i = 1, 80 do
        local z, row, class = 0, {}, classes(i, 1)
        w[i] = weighted and weights(i, 1) or 1
        n = n + w[i]
        for c = 1, k do z = z + math.exp(A(i, c)) end
        best[i] = 1
        for c = 1, k do
          row[c] = math.exp(A(i, c)) / z
          if A(i, c) > A(i, best[i]) then best[i] = c end
          brier = brier + w[i] * (row[c] - (c == class and 1 or 0)) ^ 2
        end
        P[i], log_loss = row, log_loss - w[i] * math.log(row[class])
        local above = 0
        for c = 1, k do if A(i, c) > A(i, class) then above = above + 1 end end
        if best[i] ~= class then wrong = wrong + w[i] end
        if best[i] ~= class and above >= 5 then top5 = top5 + w[i] end
      end
      local m = metrics.classification(mine(A), DataSet(classes:clone()), mine(Matrix(P)),
        weighted and DataSet(weights:clone()) or nil)
      close(m.log_loss, log_loss / n, 1e-12, "log-loss")
      close(m.brier, brier / n / (k == 2 and 2 or 1), 1e-12, "Brier")
      close(m.error, wrong / n, 1e-12, "error")
      if k > 5 then close(m.top5_error, top5 / n, 1e-12, "top 5") end
      local f1 = 0
      for c = 1, k do
        local tp, fp, fn = 0, 0, 0
        for i = 1, 80 do
          local is, guess = classes(i, 1) == c, best[i] == c
          if is and guess then tp = tp + w[i] elseif guess then fp = fp + w[i] elseif is then fn = fn + w[i] end
        end
        close(m.classes[c].f1, 2 * tp / (2 * tp + fp + fn), 1e-12, "F1")
        close(m.classes[c].precision, tp / (tp + fp), 1e-12, "precision")
        close(m.classes[c].recall, tp / (tp + fn), 1e-12, "recall")
        f1 = f1 + m.classes[c].f1 / k
      end
      close(m.f1_macro, f1, 1e-12, "macro F1")
      equal(m.f1, k == 2 and m.classes[2].f1 or nil)
      local off = 0
      for b = 1, 15 do
        local confidence, right = 0, 0
        for i = 1, 80 do
          local p = P[i][best[i]]
          if p > (b - 1) / 15 and p <= b / 15 then
            confidence, right = confidence + w[i] * p, right + (best[i] == classes(i, 1) and w[i] or 0)
          end
        end
        off = off + math.abs(confidence - right) / n
      end
      close(m.calibration_error, off, 1e-12, "calibration error")
    end
  end
end)

test("calibration by hand", function()
  -- Two rows at 0.9, one of them right; two at 0.6, both right.
  local P = Matrix{ { 0.9, 0.1 }, { 0.1, 0.9 }, { 0.6, 0.4 }, { 0.4, 0.6 } }
  local y = DataSet(Matrix{ { 1 }, { 1 }, { 1 }, { 2 } })
  local off, bins = metrics.calibration(mine(P), y)
  close(off, 0.5 * 0.4 + 0.5 * 0.4, 1e-14)
  equal(#bins, 2)
  close(bins[1].confidence, 0.6, 1e-14)
  close(bins[1].accuracy, 1, 1e-14)
  close(bins[2].accuracy, 0.5, 1e-14)
  close(metrics.brier(mine(P), y), (0.01 + 0.81 + 0.16 + 0.16) / 4, 1e-14)
end)

spec.finish()
