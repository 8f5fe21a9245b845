-- pipelines.KIND: what turns raw input (texts, pictures, recordings) into rows, as a part of a model. Each kind is a file of
-- this folder, which returns
--
--     expects                     what raw input is, for messages
--     schema                      what a state holds, as options.read takes it: name = { check, default }
--     fit(raw, settings)          a state and a set, of the training input
--     apply(state, raw, how)      a set, of other input; how: { labels, text, label, header, invalid, classes, skip }
--     columns(state)              how many numbers a row has; an error where the state contradicts itself
--     describe(state)             a line for people
--     rows                        what a row of the result is of, for messages; or a function of the state
--     streams                     true: raw input is text, with columns, and may be standard input
--
-- A state is a flat table of numbers, texts, flags, lists of texts and matrices, so that a model file stores it as it is
-- (files/pipeline_group.lua); state.kind is the name of the kind. A set has X, the rows before preprocessing; y and y_names,
-- its labels as data.classes has them, or nil; n, the number of results; and result(S), which makes results of the scores of
-- the rows of X, or nil where they are the same. All ranks call these functions.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local without_places = require "kbcd.support.without_places"

runtime.docs.pipelines = [[pipelines
What turns raw input into rows, as a part of a model file: text, grams (texts), pictures, speech. state, set =
pipelines.fit(kind, raw, settings) for the training input, set = pipelines.apply(state, raw [, how]) for other input;
model:save takes pipeline = state. A set has X (before preprocessing), y and y_names (labels, or nil), n, and result(S),
which makes n results of the scores of the rows of X. A file NAME.lua in kbcd/pipelines of the script path adds a kind.]]

local pipelines, kinds, names = {}, {}, {}
for _, module in ipairs(runtime.library.modules()) do
  local name = module:match("^pipelines%.([%w_]+)$")
  if name and name ~= "pipelines" then names[#names + 1], kinds[name] = name, true end
end

-- The file of a kind.
local function of(kind)
  if not kinds[kind] then
    error(("the kind of pipeline '%s' is not known here; known: %s"):format(tostring(kind), table.concat(names, ", ")), 0)
  end
  return require("kbcd.pipelines." .. kind)
end

runtime.docs["pipelines.fit"] = [[pipelines.fit(kind, raw, settings)
A state and the set of the training input; scripts/kbcd/pipelines has the settings of each kind. All ranks call it.]]
function pipelines.fit(kind, raw, settings)
  local state, set = of(kind).fit(raw, settings or {})
  state.kind = kind
  return pipelines.checked(state), set
end

runtime.docs["pipelines.apply"] = [[pipelines.apply(state, raw [, how])
The set of raw input. how: labels = false (true: with its labels, where it has any), and options of a kind. All ranks call
it.]]
function pipelines.apply(state, raw, how) return of(state.kind).apply(state, raw, how or {}) end

runtime.docs["pipelines.result"] = [[pipelines.result(set, S)
This rank's rows of the results of a set, of the scores S of the rows of set.X.]]
function pipelines.result(set, S) return set.result and set.result(S) or S end

runtime.docs["pipelines.checked"] = [[pipelines.checked(state)
The state, complete, and how many columns its rows have; what no pipeline has is an error.]]
function pipelines.checked(state)
  local kind, own = of(state.kind), {}
  for name, value in pairs(state) do if name ~= "kind" then own[name] = value end end
  local good, checked, columns = pcall(function()
    local s = options.read(state.kind, own, kind.schema, 0)
    for name, value in pairs(s) do
      if kbcd.type(value) == "Matrix" and not value:finite() then error(name .. ": NaN or Inf in it", 0) end
    end
    return s, kind.columns(s)
  end)
  if not good then error(without_places(checked), 0) end
  checked.kind = state.kind
  return checked, columns
end

runtime.docs["pipelines.parts"] = [[pipelines.parts(state)
The names of what a state of its kind may hold, sorted.]]
function pipelines.parts(state) return kbcd.sorted_keys(of(state.kind).schema) end

runtime.docs["pipelines.about"] = [[pipelines.about(state)
Texts: the line that describes it, what raw input it expects, and what its results are of.]]
function pipelines.about(state)
  local kind = of(state.kind)
  return kind.describe(state), kind.expects, type(kind.rows) == "function" and kind.rows(state) or kind.rows
end

runtime.docs["pipelines.takes_stream"] = [[pipelines.takes_stream(state)
Whether raw input is text, which may come from standard input.]]
function pipelines.takes_stream(state) return of(state.kind).streams == true end

return pipelines
