-- recordings(options): the sound files of a corpus and their labels, for speech_corpus: a folder in the layout of
-- Festival's voices, whose frames are labelled, a list of files with one label each or without, a folder of sounds, a sound.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local speech = kbcd.speech

runtime.docs.recordings = [[recordings(options)
A list of sound files, and the function labels(file, frames) of speech_corpus, or nil where there are none. options: folder
(with wav/NAME.wav and lab/NAME.lab; a frame has the name that its centre is in), or list (a file of lines sound<TAB>label, a
label for each recording), or path (one of these by its look, where lines of a list may have no label; a folder of .wav files;
or a sound file); parts = 1 (of a name, as in speech.frame_labels), length and step (of frames, as there); count (only so many
files, evenly from all).]]

local function is_path(x) return type(x) ~= "string" and "a path" or nil end
local maybe_path = { options.maybe(is_path), false }
local schema = {
  folder = maybe_path, list = maybe_path, path = maybe_path, parts = { options.count, 1 },
  length = { options.positive, 0.025 }, step = { options.positive, 0.010 }, count = { options.maybe(options.count), false },
}

-- The sounds of a list, and the label of each; nil, where no line has one and that is allowed.
local function read_list(path, may_lack)
  local files, label_of, number, labelled = {}, {}, 0, not may_lack
  local list, reason = io.open(path)
  if not list then error(("recordings: the list cannot be read (%s)"):format(reason), 0) end
  for line in list:lines() do
    local file, label = line:match("^([^\t\r]+)\t([^\r]+)\r?$")
    if not file and may_lack then file, label = line:match("^([^\t\r]+)\r?$"), false end  -- without a label
    number = number + 1
    if number == 1 and may_lack then labelled = label and true end
    if not file or label_of[file] ~= nil or labelled ~= (label and true) then
      error(("%s: line %d: sound<TAB>label expected%s, each sound once, got '%s'"):format(path, number,
        may_lack and ", or sound on every line" or "", line), 0)
    end
    files[number], label_of[file] = file, label
  end
  list:close()
  if number == 0 then error(path .. ": a list of recordings expected, there is none", 0) end
  return files, labelled and label_of or nil
end

-- Which of the options folder and list a path stands for, else its files.
local function look(path)
  if runtime.files.is_folder(path .. "/wav") then return { folder = path } end
  if runtime.files.is_folder(path) then return { files = speech.files(path, ".wav") } end
  local ending = path:lower():match("%.(%w+)$")
  if ending == "tsv" or ending == "txt" or ending == "list" or ending == "lst" then return { list = path } end
  return { files = { path } }
end

return function(given)
  local o = options.read("recordings", given, schema)
  local ways = 0
  for _, name in ipairs{ "folder", "list", "path" } do if o[name] then ways = ways + 1 end end
  if ways ~= 1 then error("recordings: one of folder, list and path expected", 2) end
  local from = o.path and look(o.path) or o
  local files, all, label_of = {}, from.folder and speech.files(from.folder .. "/wav", ".wav") or from.files, nil
  if from.list then all, label_of = read_list(from.list, o.path) end
  local count = math.min(o.count or #all, #all)
  for i = 1, count do files[i] = all[math.floor((i - 1) * #all / count) + 1] end
  if label_of then return files, function(file) return label_of[file] end end
  if not from.folder or o.path and not runtime.files.is_folder(from.folder .. "/lab") then return files end
  return files, function(file, frames)
    return speech.frame_labels(speech.read_lab((file:gsub("/wav/([^/]+)%.wav$", "/lab/%1.lab"))), frames,
      { parts = o.parts, length = o.length, step = o.step })
  end
end
