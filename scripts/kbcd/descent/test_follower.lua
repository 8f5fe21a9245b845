-- test_follower(run, option, test): the scores of rows `test`, of this option (test or held_out), kept up to date: after a
-- step that changed rows I of the coefficients by Δ, T ← T + K(test, I) Δ; where a step may change all of them, T = f(test)
-- at the end of an epoch. The blocks of a fixed partition, of tiles, or of a method that iterates, are kept like those of the
-- training rows.

local kbcd = require "kbcd"

return function(run, option, rows)
  local model, o, lambda, held = run.model, run.o, run.lambda, {}
  if rows.d ~= model.d then
    error(("%s: option %s: rows of %d numbers expected, as in X, got rows of %d"):format(run.owner, option, model.d,
      rows.d), 0)
  end
  local test = model:prepared(rows)
  local T = run.own("distributed", option .. "_scores", kbcd.Matrix.zeros(test.local_n, run.columns))
  local kept = o.partition ~= "fresh" and o.epochs > 1 and o.keep ~= "none"
  local known = true  -- whether T belongs to the current model
  if o.start then T:copy(model:scores(test, model.coefficients)) end

  -- f(test), by blocks that are kept like those of a fixed partition.
  local function score_all()
    if model.learned then  -- the metric changes
      T:copy(model:scores(model:prepared(o.test), model.coefficients))
      return
    end
    T:fill(0)
    for i, I in ipairs(kbcd.Index.range(1, model.count):partition(o.b or math.min(2048, model.count))) do
      local K_b = held[i] or model:block_of(test, I, kept and o.keep or "none")
      T:add(K_b * model:rows(I))
      if kept then held[i] = K_b end
    end
  end

  -- T += K(test, I) Δ. number: where the block is kept, if it comes again.
  local function add(number, I, Delta)
    local K_b = held[number] or model:block_of(test, I, kept and o.keep or "none")
    T:add(K_b * Delta)
    if kept and type(number) == "number" then held[number] = K_b end
  end

  local follow = {}

  function follow.after(block, Delta, at_end)
    known = Delta ~= nil or at_end
    if Delta and block.tiles then
      local first = 1
      for i = 1, #block.tiles do
        local I = model.triangle:tile(block.tiles[i])
        add(block.tiles[i], I, Delta:rows(first, first + #I - 1))
        first = first + #I
      end
    elseif Delta then
      add(block.number, block.I, Delta)
    elseif at_end then
      score_all()
    end
  end

  function follow.scores() return known and lambda:split(T) or nil end

  return follow
end
