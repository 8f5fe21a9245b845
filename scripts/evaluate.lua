-- kbcd evaluate: tests a model file on labelled rows: errors and other metrics (kbcd/data/metrics.lua), a table of classes or
-- targets, the confusion matrix; with --json, all of them in a file.

local kbcd = require "kbcd"
local choose_lambda = require "kbcd.command.choose_lambda"
local load_flags = require "kbcd.command.load_flags"
local load_model = require "kbcd.command.load_model"
local raw_input = require "kbcd.command.raw_input"
local table_flags = require "kbcd.command.table_flags"
local read_data = require "kbcd.data.read_data"
local row_weights = require "kbcd.data.row_weights"
local pad = require "kbcd.support.pad"
local baseline = require "kbcd.data.baseline"

local parser = kbcd.arguments("evaluate", "Tests a model of `kbcd train` on labelled rows.")
parser:option("--model", "The model file."):argname("FILE"):count(1)
parser:option("--x", "The rows; for a model of texts, pictures or recordings, these."):argname("FILE")
parser:option("--y", "Their labels or targets (texts, pictures and recordings may have them with them)."):argname("FILE")
parser:option("--data", "Rows and labels in one file, instead of --x and --y."):argname("FILE")
parser:option("--label", "The columns with the labels, by name or number: of --data (CSV), or of --x with texts.", nil,
  kbcd.argument_types.columns)
parser:option("--lambda", "Which of the model's lambdas (the best).", nil, kbcd.argument_types.positive)
parser:option("--with", "A Lua file that returns the model's kernel or feature map, where that is written in Lua.")
  :argname("FILE")
parser:option("--weights", "Weights of the rows: a file with a number >= 0 for each, or a column of --data, which is no " ..
  "feature then. Metrics are weighted means."):argname("FILE|COLUMN")
parser:option("--json", "Also write all metrics to this file, as a JSON object."):argname("FILE")
raw_input.add(parser)
load_flags.add(parser)
local o = parser:parse(arg)
require("kbcd.support.from_root").files(o)
if o.data and (o.x or o.y) then parser:error("--data holds rows and labels; it does not go with --x or --y") end
if not o.data and not o.x then parser:error("--x and --y expected, or --data") end

-- Lines of a table of texts: the first column to the left, the others to the right.
local function say_table(head, rows)
  local width = {}
  for _, row in ipairs{ head, unpack(rows) } do
    for j, text in ipairs(row) do width[j] = math.max(width[j] or 0, pad.length(text)) end
  end
  for _, row in ipairs{ head, unpack(rows) } do
    local cells = {}
    for j, text in ipairs(row) do cells[j] = pad(text, j == 1 and width[j] or -width[j]) end
    kbcd.say("%s", table.concat(cells, "  "))
  end
end

local function share(value) return value and ("%.2f%%"):format(100 * value) or "-" end
local function number(value) return value and ("%.4g"):format(value) or "-" end

-- A line, if the model is no better than one that knows no columns.
local function warn(model, error, y, weights)
  local text = model.loss.name == "squared" and not weights and baseline.warning(model.task, error, y)
  if text then kbcd.say("%s", text) end
end

local function regress(model, S, set)
  if set.y.d ~= model.k then error(("y: %d columns expected, got %d"):format(model.k, set.y.d), 0) end
  local m = kbcd.metrics.regression(S, set.y, set.weights)
  kbcd.say("RMSE %.6g\n%s", m.rmse, kbcd.metrics.text(m))
  warn(model, m.rmse, set.y, set.weights)
  if model.loss.name ~= "squared" then
    m.mean_loss = kbcd.scoring.errors("regress", { S }, set.y, "y", model.loss, set.weights)[1]
    kbcd.say("mean %s loss %.6g", tostring(model.loss), m.mean_loss)
  end
  local rows = {}
  for j, target in ipairs(m.targets) do
    target.name = model.names and model.names[j] or nil
    rows[j] = { target.name or ("target %d"):format(j), ("%.6g"):format(target.rmse), number(target.mae), number(target.r2) }
  end
  if #rows > 1 then say_table({ "", "RMSE", "MAE", "R2" }, rows) end
  return m
end

local function class_table(model, m)
  local rows = {}
  for i, class in ipairs(m.classes) do
    class.name = model.names[i]
    rows[i] = { class.name, ("%.8g"):format(class.rows), share(class.precision), share(class.recall), number(class.f1),
      number(class.auc) }
  end
  kbcd.say("")
  say_table({ "class", "rows", "precision", "recall", "F1", "AUC" }, rows)
end

local function confusion_table(model, counts)
  local head, rows = { (" "):rep(7), unpack(model.names) }, {}
  for i, name in ipairs(model.names) do
    rows[i] = { name }
    for j = 1, model.k do rows[i][j + 1] = ("%.8g"):format(counts(i, j)) end
  end
  kbcd.say("\nconfusion (rows: the class, columns: the prediction)")
  say_table(head, rows)
end

local function classify(model, l, S, set)
  local y = kbcd.classes.of_names(set.y, set.y_names, model.names)
  local P = model:has_probabilities() and model:probabilities_of(l, S) or nil
  local m, say = kbcd.metrics.classification(S, y, P, set.weights), kbcd.say
  say("top-1 error %.2f%%", 100 * m.error)
  warn(model, m.error, y, set.weights)
  if m.top5_error then say("top-5 error %.2f%%", 100 * m.top5_error) end
  say("%s", kbcd.metrics.text{ auc = m.auc, f1 = m.f1, f1_macro = m.f1_macro })
  if P then
    say("log-loss %.4f, %s", m.log_loss, kbcd.metrics.text{ brier = m.brier, calibration_error = m.calibration_error })
  end
  if model.loss.name == "squared" then
    local targets = kbcd.labels.one_vs_all(y, { classes = model.k, first = 1 })
    m.rmse = (kbcd.scoring.rmse(S, kbcd.DataSet.local_part(y.n, targets), set.weights))
    say("RMSE of the scores %.6g", m.rmse)
  end
  class_table(model, m)
  if model.k <= 30 then confusion_table(model, m.confusion) end
  m.confusion = m.confusion:totable()
  return m
end

local function write_json(model, l, set, m)
  local found, cjson = pcall(require, "cjson")
  if not found then error("--json needs lua-cjson; on Debian: apt-get install lua-cjson", 0) end
  m.model, m.data, m.rows = o.model, o.data or o.x, set.X.n
  m.task, m.method, m.lambda = model.task, model.method, model.lambdas[l]
  kbcd.together(function() if kbcd.rank() == 0 then kbcd.output_file.write_text(o.json, cjson.encode(m) .. "\n") end end)
end

-- The scores of the rows, and { X, y, y_names }; X has a row for each score.
local function scores(model, l)
  raw_input.check(model, o)
  local set, source = {}, o.data or o.x
  if model.pipeline then
    local raw = raw_input.read(model, source, o, true)
    set.y, set.y_names = raw.y, raw.y_names
    if o.y then set.y, set.y_names = kbcd.training_data.read_labels(o.y) end
    if model.task == "regress" and set.y_names then
      error(("%s: numbers expected as targets, got names such as '%s'"):format(o.y or source, set.y_names[1]), 0)
    end
    if not set.y then error(source .. ": no labels in it; give them with --y", 0) end
    if set.y.n ~= raw.n then error(("%s has %d results, %s has %d labels"):format(source, raw.n, o.y, set.y.n), 0) end
    set.X = set.y
    local S = model[l]:predict(raw.X)
    kbcd.scoring.require_finite(S, raw.X.first, source)
    return kbcd.pipelines.result(raw, S), set
  end
  if o.label and not o.data then parser:error("--label names columns of --data, which is not given") end
  if not o.data and not o.y then parser:error("--x and --y expected, or --data") end
  load_flags.check(parser, o, { source })
  set.X, set.y, set.y_names = kbcd.training_data.read_pair(o.data, o.x, o.y, model.reading_precision, o,
    read_data.like_model(model), table_flags.apply(model.table))
  local S = model[l]:predict(set.X)
  kbcd.scoring.require_finite(S, set.X.first, source)
  return S, set
end

local function main()
  local inputs = { ["--model"] = o.model, ["--with"] = o.with, ["--x"] = o.x, ["--y"] = o.y, ["--data"] = o.data }
  inputs["--weights"] = row_weights.is_file(o) and o.weights or nil
  kbcd.output_file.check_command(inputs, { ["--json"] = o.json })
  local model = load_model(o.model, o.with)
  local l = choose_lambda(model, o.lambda)
  local S, set = scores(model, l)
  row_weights.attach(set, o)
  kbcd.say("%s: %s, %s, lambda = %g; %d rows", o.model, model.method, tostring(model.map or model.kernel), model.lambdas[l],
    set.X.n)
  local m
  if model.task == "classify" then m = classify(model, l, S, set) else m = regress(model, S, set) end
  if o.json then write_json(model, l, set, m) end
end

kbcd.command("evaluate", main)
