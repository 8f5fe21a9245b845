-- run_names(runs): gives each run of a page run.title and run.label, which tell it from the others: the method's title, p,
-- and where runs have both in common, the settings in which they differ (kernel, map, loss …), at last the name of the log.

local settings = { "kernel", "map", "metric", "loss", "centers", "lambda", "b", "partition", "epochs", "seed", "precision",
  "data", "ranks" }

local function text_of(value)
  if type(value) == "table" then
    local texts = {}
    for i, part in ipairs(value) do texts[i] = tostring(part) end
    return table.concat(texts, " ")
  end
  return value ~= nil and tostring(value) or nil
end

-- "rbf (sigma=5)" of rbf{gamma=0.02, sigma=5}; "b = 100".
local function shown(key, text)
  if not text then return "no " .. key end
  if key == "kernel" or key == "map" then
    return (text:gsub("gamma=[%d.e+-]+, (sigma=)", "%1"):gsub("(%d%.%d%d%d)%d+", "%1"):gsub("{(.-)}", " (%1)"))
  end
  return ("%s = %s"):format(key, text)
end

local function grouped(runs, key_of)
  local groups, order = {}, {}
  for _, run in ipairs(runs) do
    local key = key_of(run)
    if not groups[key] then groups[key], order[#order + 1] = {}, key end
    table.insert(groups[key], run)
  end
  return groups, order
end

-- The settings in which runs differ that have title and p in common.
local function differing(runs)
  local found, keys = {}, {}
  local groups, order = grouped(runs, function(run) return tostring(run.settings.p) end)
  for _, p in ipairs(order) do
    for _, key in ipairs(settings) do
      for _, run in ipairs(groups[p]) do
        if text_of(run.settings[key]) ~= text_of(groups[p][1].settings[key]) then found[key] = true end
      end
    end
  end
  for _, key in ipairs(settings) do if found[key] then keys[#keys + 1] = key end end
  return keys
end

return function(runs)
  for _, run in ipairs(runs) do
    local title = run.settings.title or run.settings.method
    run.title = type(title) == "string" and title or run.name
  end
  local groups, order = grouped(runs, function(run) return run.title end)
  for _, title in ipairs(order) do
    local keys = differing(groups[title])
    for _, run in ipairs(groups[title]) do
      for _, key in ipairs(keys) do run.title = run.title .. ", " .. shown(key, text_of(run.settings[key])) end
    end
  end
  local seen = {}
  for _, run in ipairs(runs) do
    local p = run.settings.p
    run.label = run.title .. (type(p) == "number" and (", p = %d"):format(p) or "")
    seen[run.label] = (seen[run.label] or 0) + 1
  end
  for _, run in ipairs(runs) do
    if seen[run.label] > 1 then run.title, run.label = run.title .. ", " .. run.name, run.label .. ", " .. run.name end
  end
end
