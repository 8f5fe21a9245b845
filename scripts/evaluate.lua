-- kbcd evaluate: tests a model file on labelled rows: errors, a table of classes, the confusion matrix.

local kbcd = require "kbcd"
local choose_lambda = require "kbcd.command.choose_lambda"
local load_flags = require "kbcd.command.load_flags"
local load_model = require "kbcd.command.load_model"
local pad = require "kbcd.support.pad"

local parser = kbcd.arguments("evaluate", "Tests a model of `kbcd train` on labelled rows.")
parser:option("--model", "The model file."):argname("FILE"):count(1)
parser:option("--x", "The rows."):argname("FILE")
parser:option("--y", "Their labels or targets."):argname("FILE")
parser:option("--data", "Rows and labels in one file, instead of --x and --y."):argname("FILE")
parser:option("--label", "The columns of --data (CSV) that hold the labels, by name or number.", nil,
  kbcd.argument_types.columns)
parser:option("--lambda", "Which of the model's lambdas (the best).", nil, kbcd.argument_types.positive)
parser:option("--with", "A Lua file that returns the model's kernel or feature map, where that is written in Lua.")
  :argname("FILE")
load_flags.add(parser)
local o = parser:parse(arg)
if o.data and (o.x or o.y) then parser:error("--data holds rows and labels; it does not go with --x or --y") end
if o.label and not o.data then parser:error("--label names columns of --data, which is not given") end
if not o.data and not (o.x and o.y) then parser:error("--x and --y expected, or --data") end
load_flags.check(parser, o, { o.data or o.x })

local function main()
  local model = load_model(o.model, o.with)
  local l = choose_lambda(model, o.lambda)
  local X, y, y_names = kbcd.training_data.read_pair(o.data, o.x, o.y, model.reading_precision, o, model.d)
  local scoring, say = kbcd.scoring, kbcd.say
  local S = model[l]:predict(X)
  scoring.require_finite(S, X.first, o.data or o.x)
  say("%s: %s, %s, lambda = %g; %d rows", o.model, model.method, tostring(model.map or model.kernel), model.lambdas[l], X.n)

  local function widest(names)
    local width = 5
    for _, name in ipairs(names) do width = math.max(width, pad.length(name)) end
    return width
  end

  local function regress()
    if y.d ~= model.k then error(("y: %d columns expected, got %d"):format(model.k, y.d), 0) end
    local all, columns = scoring.rmse(S, y)
    say("RMSE %.6g", all)
    if model.loss.name ~= "squared" then
      say("mean %s loss %.6g", tostring(model.loss), scoring.errors("regress", { S }, y, "y", model.loss)[1])
    end
    if #columns > 1 then
      for j, e in ipairs(columns) do say("  target %d: %.6g", j, e) end
    end
  end

  local function class_table(counts)
    local width = widest(model.names)
    say("\n%s %8s %10s %8s", pad("class", width), "rows", "precision", "recall")
    for i, name in ipairs(model.names) do
      local rows, guesses, right = counts:rows(i):sum(), counts:cols(i):sum(), counts(i, i)
      local function share(of) return of > 0 and ("%.2f%%"):format(100 * right / of) or "-" end
      say("%s %8d %10s %8s", pad(name, width), rows, share(guesses), share(rows))
    end
  end

  local function confusion_table(counts)
    local width, head = math.max(7, widest(model.names)), {}
    for j, name in ipairs(model.names) do head[j] = pad(name, -width) end
    say("\nconfusion (rows: the class, columns: the prediction)\n%s %s", (" "):rep(width), table.concat(head, " "))
    for i, name in ipairs(model.names) do
      local cells = {}
      for j = 1, model.k do cells[j] = ("%" .. width .. "d"):format(counts(i, j)) end
      say("%s %s", pad(name, width), table.concat(cells, " "))
    end
  end

  local function classify()
    local numbers = kbcd.classes.of_names(y, y_names, model.names)
    say("top-1 error %.2f%%", 100 * scoring.wrong(S, numbers))
    if model:has_probabilities() then
      say("log-loss %.4f", scoring.log_loss(model:probabilities_of(l, S), numbers))
    end
    if model.k > 5 then say("top-5 error %.2f%%", 100 * scoring.wrong(S, numbers, 5)) end
    if model.loss.name == "squared" then
      local targets = kbcd.labels.one_vs_all(numbers, { classes = model.k, first = 1 })
      say("RMSE of the scores %.6g", (scoring.rmse(S, kbcd.DataSet.local_part(numbers.n, targets))))
    end
    local counts = scoring.confusion(S, numbers)
    class_table(counts)
    if model.k <= 30 then confusion_table(counts) end
  end

  if model.task == "classify" then classify() else regress() end
end

kbcd.command("evaluate", main)
