-- warm_start(run, model): a run starts from the coefficients of another model. Of a feature map: those of the features that
-- both have; of a kernel: those of the centres that are equal rows in both, at any position, so that the data may have grown.
-- Each λ takes the coefficients of the nearest λ of that model.

local kbcd = require "kbcd"
local streams = require "kbcd.support.streams"
local Index = kbcd.Index

local piece = 4096  -- rows at a time

-- For each λ of the run, the place of the nearest of another path.
local function nearest(lambda, others)
  local places = {}
  for l, value in ipairs(lambda.values) do
    places[l] = 1
    for i, other in ipairs(others) do
      if math.abs(math.log(other / value)) < math.abs(math.log(others[places[l]] / value)) then places[l] = i end
    end
  end
  return places
end

local function refuse(run, text, ...) error(("%s: option start: " .. text):format(run.owner, ...), 0) end

-- The rows of a model's centres, as a DataSet.
local function center_rows(m) return m.centers and m.X:subset(m.centers) or m.X end

-- f(I, places): I centres of the other model that are rows `places` of X; the others are skipped.
local function each_found(run, m, f)
  local found, total = run.X:find(center_rows(m):to(run.X.dtype)), 0
  for first = 1, m.count, piece do
    local mine, places = {}, {}
    for i = first, math.min(first + piece - 1, m.count) do
      if found(i, 1) > 0 then mine[#mine + 1], places[#places + 1] = i, found(i, 1) end
    end
    if #mine > 0 then f(Index(mine), Index(places)) end
    total = total + #mine
  end
  return total
end

-- p rows of X, those that are centres of m first.
local function centers(run, m, p)
  if m.form ~= "kernel" then refuse(run, "a model of a kernel expected, got one of a feature map") end
  local list, taken = {}, {}
  each_found(run, m, function(_, places)
    for i = 1, #places do
      if #list < p and not taken[places[i]] then list[#list + 1], taken[places[i]] = places[i], true end
    end
  end)
  local order, i = Index.permutation(run.X.n, { seed = run.o.seed, stream = streams.centers }), 0
  while #list < p do
    i = i + 1
    if not taken[order[i]] then list[#list + 1] = order[i] end
  end
  return Index(list)
end

local function start(_, run, m)
  local model, lambda = run.model, run.lambda
  if m.form ~= model.form then refuse(run, "a model of form %s expected, got %s", model.form, m.form) end
  if m.lambda.k ~= lambda.k then refuse(run, "a model of %d targets expected, got %d", lambda.k, m.lambda.k) end
  local from = nearest(lambda, m.lambdas)
  -- The columns for each λ of the run, of rows of the other model.
  local function columns(rows)
    local list = {}
    for l = 1, lambda.count do list[l] = m.lambda:columns(rows, from[l]) end
    return kbcd.Matrix.hcat(list)
  end
  if m.map then
    local same = m.map.name == model.map.name and m.map.seed == model.map.seed
    if not same then refuse(run, "the feature map %s expected, got %s", tostring(model.map), tostring(m.map)) end
    local I = Index.range(1, math.min(m.count, model.count))
    model:add_rows(I, columns(m:rows(I)))
    return
  end
  local place_of = {}  -- of a row of X among the centres of this run
  for i = 1, model.centers and #model.centers or 0 do place_of[model.centers[i]] = i end
  local total = each_found(run, m, function(mine, places)
    local rows = columns(m:rows(mine))
    if not model.centers then return model:add_rows(places, rows) end
    local here, own = {}, {}
    for i = 1, #places do
      if place_of[places[i]] then here[#here + 1], own[#own + 1] = i, place_of[places[i]] end
    end
    if #own > 0 then model:add_rows(Index(own), rows:take(Index(here))) end
  end)
  if total == 0 then refuse(run, "none of its %d centres is a row of the data", m.count) end
  if total < m.count and kbcd.rank() == 0 then
    io.stderr:write(("%s: %d of the %d centres of the model to start from are not in the data\n"):format(run.owner,
      m.count - total, m.count))
  end
end

return setmetatable({ centers = centers }, { __call = start })
