-- kbcd compare: runs several methods on the same data and draws the paper's four figures of them.
--
-- A method that has p (centres or features) is run for several p, once for all of them if it takes `sizes`. Writes a log for
-- each run, and one page.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local padded = require "kbcd.support.pad"
local arguments = require "kbcd.command.training_arguments"
local loss_flags = require "kbcd.command.loss_flags"
local log_details = require "kbcd.reports.log_details"

local parser = kbcd.arguments("compare", "Runs methods on the same data and draws the paper's pictures of them.")
arguments.add_data(parser)
arguments.add_follow(parser)
parser:option("-o --output", "Folder for the logs and the page, report.html.", "compare")
parser:option("--title", "Title of the page.", "kbcd compare")
arguments.add_methods(parser)
local o = parser:parse(arg)
require("kbcd.support.from_root").files(o)
arguments.check(parser, o)
o.method = true  -- they are named

local methods, flags = arguments.candidates, arguments.flags
local sizes = o.p or { 1024, 2048, 4096 }
table.sort(sizes)

-- The p of a method's runs: { false } for one that has none, or that takes all of them in one run.
local function sizes_of(algorithm)
  if algorithm.schema.sizes then return { false } end
  for name, entry in pairs(algorithm.schema) do
    if name == "p" or entry.kind == "map" then return sizes, entry.kind == "map" end
  end
  return { false }
end

local function read_data()
  local data = kbcd.training_data(o)
  if not data.test then error("a test set or a held-out share is needed to compare by; raise --hold-out", 0) end
  return kbcd.training_data.prepare(data, o.preprocess)
end

local function pad(text) return padded(text, 26) end

local function log_path(method, p) return ("%s/%s%s.jsonl"):format(o.output, method, p and "-" .. p or "") end

local function check_files()
  local outputs = { ["the page"] = o.output .. "/report.html" }
  for _, algorithm in ipairs(methods) do
    for _, p in ipairs(sizes_of(algorithm)) do
      local path = log_path(algorithm.name, p)
      outputs["the log " .. path] = path
    end
  end
  kbcd.output_file.check_command(arguments.files(o), outputs)
end

-- Runs one method: its log, error and time.
local function run(data, algorithm, p)
  local given = flags.given(o, algorithm)
  given.p = p or nil
  if algorithm.schema.sizes and not given.sizes then
    given.sizes = {}
    for _, size in ipairs(sizes) do if size <= data.X.n then table.insert(given.sizes, size) end end
    if #given.sizes == 0 then given.sizes = { data.X.n } end
  end
  if given.b then given.b = math.min(given.b, p or data.X.n) end
  local s = kbcd.choices(o, data, algorithm, given)
  local label = algorithm.title .. (p and (", p = %d"):format(p) or "")
  local path, last, details = log_path(algorithm.name, p), nil, log_details()
  s.log, s.follow = path, o.follow
  for step in kbcd.progress(kbcd.fit(data, s)) do
    last = step
    details.step(step)
  end
  kbcd.fit.score_test(data, s, last)
  local best = kbcd.scoring.best(last.own_error or last.held_out_error or last.test_error)
  local least, scores = last.test_error[best], last.held_out_scores
  if data.task == "classify" and scores and not last.model.loss.probabilities then  -- as train does
    last.model.calibration = kbcd.calibration(scores, data.held.y, data.held.weights)
  end
  details.write(path, data, last.model, best, last.test_scores and last.test_scores[best], data.test,
    data.test == data.held and "held-out" or "test")
  kbcd.say("%s %6d %12s %9.1f", pad(label), last.epoch, kbcd.scoring.show(data.task, { least }), last.seconds)
  return { log = path, label = label, error = least, seconds = last.seconds }
end

-- Why a method cannot be among those that are compared, or nil: without --methods, one whose loss is not for the task, or
-- that does not take weights of rows.
local function misfit(algorithm, data)
  if o.methods then return nil end
  if data.weights and algorithm.weights == false then return "it takes no weights of rows" end
  local good, why = pcall(loss_flags.make, o, algorithm, data.task)
  if good then return nil end
  if o.loss then error(why, 0) end
  return why
end

local function run_all(data)
  local results = {}
  for _, algorithm in ipairs(methods) do
    local list, of_map = sizes_of(algorithm)
    local why = misfit(algorithm, data)
    if why then kbcd.say("%s skipped: %s", pad(algorithm.title), why) end
    for _, p in ipairs(why and {} or list) do
      if p and not of_map and p > data.X.n then
        kbcd.say("%s skipped: there are only %d rows", pad(("%s, p = %d"):format(algorithm.title, p)), data.X.n)
      else
        results[#results + 1] = run(data, algorithm, p or nil)
      end
    end
  end
  if #results == 0 then error(("--p: at most the %d training rows expected for centres"):format(data.X.n), 0) end
  return results
end

local function main()
  local data = read_data()
  kbcd.together(function() if kbcd.rank() == 0 then runtime.files.make_folder(o.output) end end)
  check_files()
  kbcd.say("%s: %d rows of %d numbers to train on, %d to test", data.source, data.X.n, data.X.d, data.test.X.n)
  kbcd.say("\n%s %6s %12s %9s", pad("method"), "epochs", "test error", "seconds")
  local results, logs = run_all(data), {}
  for i, result in ipairs(results) do logs[i] = result.log end

  table.sort(results, function(a, b) return a.error < b.error end)
  local function show(r) return ("%s, %s in %.1f s"):format(r.label, kbcd.scoring.show(data.task, { r.error }), r.seconds) end
  kbcd.say("\nLeast error: %s%s.", show(results[1]), #results > 1 and "; most: " .. show(results[#results]) or "")
  if kbcd.rank() == 0 then kbcd.write_report(logs, { output = o.output .. "/report.html", title = o.title }) end
  kbcd.barrier()
end

kbcd.command("compare", main)
