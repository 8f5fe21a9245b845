-- train_command(o, words, best): the `kbcd train` command line that uses what `kbcd tune` found. words: the flags of
-- method and kernel that were given; best: { settings, lambda, width (the name of the kernel's width and its value) }.

local function quoted(value)
  local text = type(value) == "table" and table.concat(value, ",") or tostring(value)
  return text:match("^[%w%./:_%-=+,]+$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

local loss_flags = require "kbcd.command.loss_flags"

local data_flags = { "data", "label", "x", "y", "drop", "columns", "categories", "test_data", "test_x", "test_y", "hold_out",
  "task", "weights", "balance", "precision", "seed" }

return function(o, words, best)
  local parts, named = { "kbcd train" }, {}
  local function add(flag, value)
    if value == nil or value == false or named[flag] then return end
    named[flag] = true
    parts[#parts + 1] = value == true and flag or ("%s %s"):format(flag, quoted(value))
  end
  for _, name in ipairs(data_flags) do add("--" .. name:gsub("_", "-"), o[name]) end
  for _, option in ipairs(o.option or {}) do
    parts[#parts + 1] = "--option " .. quoted(option.name .. "=" .. option.value)
  end
  if o.preprocess then add("--" .. o.preprocess, true) end
  add("--shuffle", o.shuffle)
  local s = best.settings
  add("--method", o.method or s.method)
  add("--lambda", ("%g"):format(best.lambda))
  if best.width then add("--" .. best.width[1], best.width[2]) end
  add("--epochs", s.epochs_taken or s.options.epochs)
  add("--p", s.p)
  add("--b", not o.folds and s.b or s.given_b)
  for _, word in ipairs(loss_flags.given(o)) do add(word[1], word[2]) end
  for _, word in ipairs(words) do add(word[1], word[2]) end
  add("--jitter", s.options.jitter and true)
  return table.concat(parts, " ") .. " --model model.h5"
end
