-- kbcd predict: predicts classes, targets or scores of new rows with a model file, and writes them to .npy or CSV.

local kbcd = require "kbcd"
local choose_lambda = require "kbcd.command.choose_lambda"
local load_flags = require "kbcd.command.load_flags"
local load_model = require "kbcd.command.load_model"
local raw_input = require "kbcd.command.raw_input"
local table_flags = require "kbcd.command.table_flags"
local csv_rows = require "kbcd.data.csv_rows"
local read_data = require "kbcd.data.read_data"
local read_rows = require "kbcd.data.read_rows"
local table_rows = require "kbcd.data.table_rows"

local parser = kbcd.arguments("predict", "Predicts rows with a model of `kbcd train`.")
parser:option("--model", "The model file."):argname("FILE"):count(1)
parser:option("--x", "The rows, or the texts, pictures or recordings that the model is for; - reads CSV, or texts, from " ..
  "standard input."):argname("FILE"):count(1)
parser:option("--out", "Where to: a .npy or .csv file; - is CSV on standard output."):argname("FILE"):count(1)
parser:option("--label", "Columns of --x (CSV) that are no features, by name or number: labels.", nil,
  kbcd.argument_types.columns)
parser:option("--lambda", "Which of the model's lambdas (the best).", nil, kbcd.argument_types.positive)
parser:option("--with", "A Lua file that returns the model's kernel or feature map, where that is written in Lua.")
  :argname("FILE")
parser:mutex(
  parser:flag("--scores", "The scores of every class instead of the class; in CSV, with their names in the first line."),
  parser:flag("--probabilities", "The probabilities of every class; in CSV, with their names in the first line."))
raw_input.add(parser)
load_flags.add(parser)
local o = parser:parse(arg)
require("kbcd.support.from_root").files(o)

if o.label and o.x == "-" then parser:error("--label is for files; cut the column out of standard input") end
if o.x == "-" and #(o.option or {}) > 0 then parser:error("--option is for files; standard input takes --header") end

local function main()
  local format = o.out == "-" and "csv" or o.out:match("%.(npy)$") or o.out:match("%.(csv)$")
  if not format then parser:error(("--out: a name that ends in .npy or .csv expected, or -, got '%s'"):format(o.out)) end
  kbcd.output_file.check_command({ ["--model"] = o.model, ["--with"] = o.with, ["--x"] = o.x ~= "-" and o.x or nil },
    { ["--out"] = o.out ~= "-" and o.out or nil })

  local model = load_model(o.model, o.with)
  local l = choose_lambda(model, o.lambda)
  raw_input.check(model, o)
  if o.x ~= "-" and not model.pipeline then load_flags.check(parser, o, { o.x }) end

  -- Classes as the whole numbers or the texts that the labels were.
  local names, whole = model.names, true
  for _, name in ipairs(names or {}) do whole = whole and name:match("^%-?%d+$") ~= nil and #name < 16 end
  local as_scores = model.task == "regress" or o.scores or o.probabilities
  if o.probabilities then model:probabilities_of(l, kbcd.Matrix.zeros(0, model.k)) end  -- an error if there are none
  local kind = as_scores and "f8" or whole and "i8" or "text"

  local rows_before = 0  -- in pieces of standard input that were predicted already
  local function predicted(X, set)
    local S = model[l]:predict(X)
    kbcd.scoring.require_finite(S, rows_before + X.first, "--x")
    rows_before = rows_before + X.n
    if set then S = kbcd.pipelines.result(set, S) end
    if o.probabilities then return model:probabilities_of(l, S) end
    if as_scores then return S end
    return S.nrows > 0 and S:argmax(2) or kbcd.Matrix.zeros(0, 1)
  end

  local function run(name)
    local out = kbcd.row_writer(name, format, kind, as_scores and model.k or 1, kind ~= "f8" and names or nil,
      (o.probabilities or o.scores) and names or nil)
    local function put(X, set)
      local P = kbcd.DataSet.local_part(set and set.n or X.n, predicted(X, set))
      for _, I in ipairs(kbcd.Index.range(1, P.n):partition(4096)) do out:write(P:gather(I)) end
    end
    if model.pipeline then
      local set = raw_input.read(model, o.x, o)
      put(set.X, set)
    elseif o.x == "-" then
      local rows, header = model.table and table_rows or csv_rows, load_flags.header(o)
      for X in rows(io.stdin, "standard input", model.table or model.d, header) do put(X) end
    else
      local options = load_flags.make(o, o.x)
      options.dtype, options.label = model.reading_precision, o.label
      put((read_rows(o.x, options, read_data.like_model(model), table_flags.apply(model.table, { labels = false }))))
    end
    out:close()
  end

  if o.out == "-" then run("-") else kbcd.output_file.write(o.out, run) end
end

kbcd.command("predict", main)
