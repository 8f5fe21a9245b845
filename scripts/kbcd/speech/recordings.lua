-- recordings(options): the sound files of a corpus and their labels, for speech_corpus: a folder in the layout of
-- Festival's voices, whose frames are labelled, or a list of files with one label each.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local speech = kbcd.speech

runtime.docs.recordings = [[recordings(options)
A list of sound files, and the function labels(file, frames) of speech_corpus. options: folder (with wav/NAME.wav and
lab/NAME.lab; a frame has the name that its centre is in) or list (a file of lines sound<TAB>label, a label for each
recording); parts = 1 (of a name, as in speech.frame_labels); count (only so many files, evenly from all).]]

local function is_path(x) return type(x) ~= "string" and "a path" or nil end
local schema = {
  folder = { options.maybe(is_path), false }, list = { options.maybe(is_path), false }, parts = { options.count, 1 },
  count = { options.maybe(options.count), false },
}

-- The sounds of a list, and the label of each.
local function read_list(path)
  local files, label_of, number = {}, {}, 0
  local list, reason = io.open(path)
  if not list then error(("recordings: the list cannot be read (%s)"):format(reason), 0) end
  for line in list:lines() do
    local file, label = line:match("^([^\t]+)\t([^\r]+)\r?$")
    number = number + 1
    if not file or label_of[file] then
      error(("%s: line %d: sound<TAB>label expected, each sound once, got '%s'"):format(path, number, line), 0)
    end
    files[number], label_of[file] = file, label
  end
  list:close()
  return files, label_of
end

return function(given)
  local o = options.read("recordings", given, schema)
  if (o.folder == false) == (o.list == false) then error("recordings: either folder or list expected", 2) end
  local files, all, label_of = {}, o.folder and speech.files(o.folder .. "/wav", ".wav"), nil
  if o.list then all, label_of = read_list(o.list) end
  local count = math.min(o.count or #all, #all)
  for i = 1, count do files[i] = all[math.floor((i - 1) * #all / count) + 1] end
  return files, function(file, frames)
    if label_of then return label_of[file] end
    return speech.frame_labels(speech.read_lab((file:gsub("/wav/([^/]+)%.wav$", "/lab/%1.lab"))), frames, { parts = o.parts })
  end
end
