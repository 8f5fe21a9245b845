-- Raw input of a model that has a pipeline: texts, pictures, recordings.
--
--     raw_input.add(parser)                      the option --text
--     raw_input.check(model, o)                  options that do not go with the model are errors
--     set = raw_input.read(model, path, o, labels)     the set of pipelines.apply; with labels, those of the input itself

local kbcd = require "kbcd"
local load_flags = require "kbcd.command.load_flags"
local without_places = require "kbcd.support.without_places"

local raw_input = {}

function raw_input.add(parser)
  parser:option("--text", "For a model of texts: the column of --x (a name or number), or the member of JSON, with the text.",
    nil, function(text) return tonumber(text) or text end):argname("COLUMN")
end

function raw_input.check(model, o)
  if not model.pipeline and o.text then error("--text is for models of texts, and this one takes rows of numbers", 0) end
  if not model.pipeline then return end
  local of_text = kbcd.pipelines.takes_stream(model.pipeline)
  if o.text and not of_text then error("--text is for models of texts, and this one is of " .. model.pipeline.kind, 0) end
  if o.label and not of_text then error("--label is for tables and texts, and the model is of " .. model.pipeline.kind, 0) end
  for _, option in ipairs(o.option or {}) do
    error(("--option %s is for tables of numbers, and the model is of %s"):format(option.name, model.pipeline.kind), 0)
  end
end

-- What is said goes to stderr: standard output may be the predictions.
local function warn(...)
  if kbcd.rank() == 0 then io.stderr:write((...):format(select(2, ...)), "\n") end
end

-- Standard input as a file, which f gets the name of.
local function with_stream(f)
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
  kbcd.together(function()
    if kbcd.rank() ~= 0 then return end
    local file = assert(io.open(path, "wb"))
    for piece in function() return io.stdin:read(2 ^ 20) end do file:write(piece) end
    file:close()
  end)
  local good, result = pcall(f, path)
  kbcd.barrier()
  if kbcd.rank() == 0 then os.remove(path) end
  if not good then error((tostring(result):gsub(path:gsub("%p", "%%%0"), "standard input")), 0) end
  return result
end

function raw_input.read(model, path, o, labels)
  local state = model.pipeline
  local about, expects, rows = kbcd.pipelines.about(state)
  local function refuse(message)
    error(("%s (%s is a model of %s; it expects %s)"):format(message, o.model, about, expects), 0)
  end
  local how = { labels = labels, text = o.text, label = o.label and o.label[1], header = load_flags.header(o),
    invalid = labels and "skip" or "error" }
  local function apply(from)
    local good, set = pcall(kbcd.pipelines.apply, state, from, how)
    if not good then refuse(without_places(set)) end
    return set
  end
  if path == "-" and not kbcd.pipelines.takes_stream(state) then refuse("--x -: a file expected") end
  local set
  if path == "-" then
    how.format = "tsv"
    set = with_stream(apply)
  else
    set = apply(path)
  end
  local invalid = set.documents and set.documents.invalid or 0
  if invalid > 0 then warn("%s: %d lines that cannot be read are left out", path, invalid) end
  if rows == "frames" then warn("%s: a row for each of %d frames of %d recordings", path, set.n, #set.corpus.files) end
  return set
end

return raw_input
