-- train_command(o, best): the `kbcd train` command line that uses what `kbcd tune` found.

local function quoted(value)
  local text = type(value) == "table" and table.concat(value, ",") or tostring(value)
  return text:match("^[%w%./:_%-=+,]+$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

local taken_over = { "data", "label", "x", "y", "test_data", "test_x", "test_y", "hold_out", "task", "kernel", "nu", "degree",
  "c", "map", "nystrom_gamma", "tol", "partition", "cache", "form", "precision", "seed" }

return function(o, best)
  local parts = { "kbcd train" }
  local function add(name, value)
    if value ~= nil and value ~= false then parts[#parts + 1] = ("--%s %s"):format(name:gsub("_", "-"), quoted(value)) end
  end
  for _, name in ipairs(taken_over) do add(name, o[name]) end
  local s = best.settings
  add("method", s.method)
  add("features", s.p)
  add("block", not o.folds and s.b or o.block)
  add("epochs", s.epochs)
  add("sigma", best.sigma)
  add("lambda", ("%g"):format(best.lambda))
  if o.preprocess then parts[#parts + 1] = "--" .. o.preprocess end
  if o.shuffle then parts[#parts + 1] = "--shuffle" end
  return table.concat(parts, " ") .. " --jitter --model model.h5"
end
