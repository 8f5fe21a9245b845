-- describe: what a file of kbcd holds, as lines for people. All ranks call these functions.
--
--     describe.model(path, size), describe.checkpoint(path, size), describe.log(path, size)     lists of lines

local kbcd = require "kbcd"
local read_model = require "kbcd.files.model_reader"
local column_table = require "kbcd.reports.column_table"
local pad = require "kbcd.support.pad"

local describe = {}

local most_names = 20

local function bytes(size)
  for _, unit in ipairs{ { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } } do
    if size >= unit[1] then return ("%.3g %s"):format(size / unit[1], unit[2]) end
  end
  return size .. " bytes"
end

local function list_text(list)
  local texts = {}
  for i = 1, math.min(#list, most_names) do
    texts[i] = type(list[i]) == "number" and ("%.6g"):format(list[i]) or tostring(list[i])
  end
  return table.concat(texts, ", ") .. (#list > most_names and (", … (%d)"):format(#list) or "")
end

local function value_text(value)
  if type(value) == "table" then return list_text(value) end
  return type(value) == "number" and ("%.10g"):format(value) or tostring(value)
end

-- Lines "name    value" of those that have one.
local function adder(lines)
  return function(name, value, ...)
    if value == nil or value == false then return end
    lines[#lines + 1] = ("%s %s"):format(pad(name, 14), select("#", ...) > 0 and value:format(...) or value_text(value))
  end
end

-- The λ path: a line for each, with what was measured for it; the best is marked.
local function path_table(lines, m)
  local measures = {}
  for _, name in ipairs(kbcd.sorted_keys(m.metrics)) do
    local list = m.metrics[name]
    if type(list) == "number" and #m.lambdas == 1 and name ~= "seconds" then list = { list } end
    if type(list) == "table" and #list == #m.lambdas then measures[#measures + 1] = { name = name, list = list } end
  end
  local head = { pad("lambda", -12) }
  for i, measure in ipairs(measures) do head[i + 1] = pad(measure.name:gsub("_", " "), -20) end
  lines[#lines + 1] = ""
  lines[#lines + 1] = table.concat(head, " ")
  for l, lambda in ipairs(m.lambdas) do
    local cells = { ("%12g"):format(lambda) }
    for i, measure in ipairs(measures) do
      local percent = m.task == "classify" and measure.name:find("error") and measure.name ~= "own_error"
      local value = measure.list[l]
      cells[i + 1] = ("%20s"):format(percent and ("%.2f%%"):format(100 * value) or ("%.5g"):format(value))
    end
    lines[#lines + 1] = table.concat(cells, " ") .. (l == m.best and "  best" or "")
  end
end

local function settings_lines(lines, settings)
  local longest = 0
  for name in pairs(settings) do longest = math.max(longest, pad.length(tostring(name))) end
  for _, name in ipairs(kbcd.sorted_keys(settings)) do
    lines[#lines + 1] = ("  %s  %s"):format(pad(tostring(name), longest), value_text(settings[name]))
  end
end

local function preprocess_text(p)
  if not p then return "none" end
  local texts = {}
  if p.kind then texts[1] = p.kind end
  if p.shuffle then texts[#texts + 1] = ("rows shuffled with the seed %d"):format(p.shuffle) end
  return table.concat(texts, ", ")
end

function describe.model(path, size)
  local m = read_model(path, read_model.unsupplied)
  local lines = {}
  local add = adder(lines)
  local stored = m.map and ("%d features"):format(m.map.p) or
    ("%d centres%s"):format(m.centers.n, m.centers.sparse and ", sparse" or "")
  add("file", "%s: a model of kbcd, %s", path, bytes(size))
  add("method", m.method)
  add("task", m.task)
  add("trained on", "%d rows of %d numbers, %s", m.n, m.d, m.precision)
  add(m.task == "classify" and "classes" or "targets", "%d%s", m.k, m.names and ": " .. list_text(m.names) or "")
  add("pipeline", m.pipeline and (kbcd.pipelines.about(m.pipeline)))
  add("raw input", m.pipeline and (select(2, kbcd.pipelines.about(m.pipeline))))
  add("kernel", m.kernel and tostring(m.kernel))
  add("feature map", m.map and tostring(m.map))
  add("stored", stored)
  add("loss", tostring(m.loss))
  add("preprocessing", preprocess_text(m.preprocess))
  add("metric", m.metric and ("%d x %d"):format(m.metric.nrows, m.metric.ncols))
  add("offset", m.offset and m.offset:totable()[1])
  add("probabilities", m.task == "classify" and (m.loss.probabilities and "the softmax of the scores" or
    m.calibration and "calibrated: softmax(a s + b)" or "none"))
  if m.calibration then
    add("calibration", "of the best lambda (a, b_1 …): %s", list_text(m.calibration:totable()[m.best]))
  end
  add("seconds", m.metrics.seconds)
  path_table(lines, m)
  lines[#lines + 1] = "\noptions"
  settings_lines(lines, m.options)
  if m.metric then lines[#lines + 1] = "\n" .. column_table.text(m.metric) end
  return lines
end

function describe.checkpoint(path, size)
  local settings, state = kbcd.checkpoint.read(path)
  local lines = {}
  local add, at = adder(lines), state.replicated["kbcd at"]
  add("file", "%s: a checkpoint of kbcd, %s; its checksum is right", path, bytes(size))
  add("algorithm", settings.algorithm)
  if at and at.ncols >= 3 then
    add("saved", "after block %d of epoch %d, %.1f seconds", at(1, 2), at(1, 1), at(1, 3))
  end
  for _, group in ipairs{ "distributed", "replicated" } do
    for _, name in ipairs(kbcd.sorted_keys(state[group])) do
      local A = state[group][name]
      local rows = group == "distributed" and kbcd.allreduce(A.nrows) or A.nrows
      add(group, "%s, %d x %d", name, rows, A.ncols)
    end
  end
  lines[#lines + 1] = "\nsettings"
  settings_lines(lines, settings)
  return lines
end

function describe.log(path, size)
  local log, lines = kbcd.read_log(path), {}
  local add, last, settings = adder(lines), log.blocks[#log.blocks], {}
  local function errors(name, list)
    if type(list) == "table" and #list > 0 then add(name, kbcd.scoring.show(log.settings.task, list)) end
  end
  add("file", "%s: the log of a run, %s, %d blocks", path, bytes(size), #log.blocks)
  add("method", log.settings.title or log.settings.method)
  add("state", log.result and "ended" or "has not ended: it was stopped, or goes on")
  add("last", "block %s of %s in epoch %s, %.1f seconds", tostring(last.block), tostring(last.blocks), tostring(last.epoch),
    last.seconds)
  for _, name in ipairs{ "test_error", "held_out_error", "own_error" } do
    errors(name:gsub("_", " "), last[name] or log.result and log.result[name])
  end
  if log.result and log.result.best then add("best lambda", (log.settings.lambda or {})[log.result.best]) end
  for name, value in pairs(log.settings) do if name ~= "type" then settings[name] = value end end
  lines[#lines + 1] = "\nsettings"
  settings_lines(lines, settings)
  return lines
end

return describe
