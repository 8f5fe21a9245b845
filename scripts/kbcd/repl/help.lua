-- help(), help(name) and help(word): the texts that document the API (runtime.docs: name -> "heading\ntext").

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local docs = runtime.docs

local introduction = [[
kbcd: kernel least squares by distributed block coordinate descent.
help "Matrix" or help(nystrom) explains a name and its members; help "cholesky" searches for a word.
]]

-- Families of functions and types of the runtime: what their members have in common.
local families = {
  kernel = "The kernels: kernel.NAME{ parameters } makes one, kernel.custom{ … } one from a Lua function.",
  features = "The feature maps: features.NAME{ kernel, p, … } makes one, features.custom{ … } one from a Lua function.",
  Kernel = "A kernel, as kernel.NAME{ … } makes it.",
  FeatureMap = "A feature map, as features.NAME{ … } makes it.",
  Factor = "A Cholesky factor H = L L', as chol makes it.",
  Request = "A sum over the ranks that is under way, as iallreduce begins it.",
  Images = "Pictures, distributed over the ranks, as vision.load gives them.",
  Documents = "Texts, distributed over the ranks, as text.read gives them.",
  Vocabulary = "The n-grams that are columns of a matrix, as text.vocabulary gives them.",
  H5File = "An HDF5 file, as h5.open and h5.create give it.",
  h5 = "HDF5 files: h5.open reads one, h5.create writes one.",
  text = "Texts: read documents, count or hash their n-grams, make sparse rows of them.",
  vision = "Pictures: load, crop, whiten patches, convolve with filters, pool.",
  speech = "Recordings of speech: read sounds and labels, cut frames, compute their features.",
}

-- The groups of the overview, in order. A name of the library is in the group of its folder, a name of the runtime in the
-- group that lists it here.
local groups = {
  { "algorithms", folders = { "algorithms" } },
  { "to write one", "step", "run", "lambda", "choose", "algorithm options", folders = { "descent", "solvers", "centers" } },
  { "matrices", "Matrix", "Matrix operators", "Index", "Selector", "chol", "chol_all", "local_solve", "Factor",
    "sparse_sign" },
  { "kernels", "kernel", "features", "KernelBlock", "RandomFeaturesBlock", "Block", "kernel_diagonal", "Kernel",
    "FeatureMap" },
  { "data", "load", "DataSet", "Csr", folders = { "data" } },
  { "ranks", "rank", "size", "allreduce", "allreduce_max", "allreduce_min", "iallreduce", "ireduce_symmetric", "Request",
    "bcast", "gather", "barrier", "together" },
  { "files", "h5", "H5File", folders = { "files" } },
  { "text", "text", "Documents", "Vocabulary", folders = { "text" } },
  { "vision", "vision", "Images", folders = { "vision" } },
  { "speech", "speech", folders = { "speech" } },
  { "reports", folders = { "reports" } },
  { "commands", folders = { "command" } },
  { "theory", folders = { "theory" } },
  { "program", folders = { "repl", "support" } },  -- and what no other group has
}

-- The text of an algorithm: what it does, and its options as it declares them.
local function algorithm_text(a)
  local lines = { ("%s(X, Y, options)\n%s. Gives an iterator of steps (help \"step\"). Options of its own:"):format(a.name,
    a.about) }
  for _, name in ipairs(a.own) do
    local entry = a.schema[name]
    local default = type(entry[2]) == "function" and "chosen by the data" or entry[2] ~= nil and tostring(entry[2])
    lines[#lines + 1] = ("  %s: %s%s"):format(name, entry.about ~= "" and entry.about or "a " .. entry.kind,
      default and (" (%s)"):format(default) or "")
  end
  local common = {}
  for _, name in ipairs(kbcd.sorted_keys(a.schema)) do
    local is_own = false
    for _, own in ipairs(a.own) do is_own = is_own or own == name end
    if not is_own then common[#common + 1] = name end
  end
  lines[#lines + 1] = ("  Those of every algorithm (help \"algorithm options\"): %s."):format(table.concat(common, ", "))
  return table.concat(lines, "\n")
end

runtime.docs.step = [[step
What an algorithm's iterator gives: epoch, epochs, block (how many of this epoch are done), blocks, epoch_end, seconds (in
the algorithm alone), model (help "Model"); for each lambda residual (|E| / |Y|) and change (|Delta| / |alpha| of the blocks
of this epoch so far), where they are known; test_scores (a Matrix of this rank's rows for each lambda) with the option
test.]]

-- Every file of the library adds its texts when it is loaded.
local function load_all()
  for name in pairs(runtime.library.public) do
    local value = kbcd[name]
    if not docs[name] and type(value) == "table" and value.schema and value.setup then docs[name] = algorithm_text(value) end
  end
  for name, text in pairs(families) do docs[name] = docs[name] or name .. "\n" .. text end
end

-- The name under which a value is found in kbcd, or the name of its type.
local function name_of(value)
  for owner, member in pairs(kbcd) do
    if member == value then return owner end
    if type(member) == "table" then
      for name, inner in pairs(member) do
        if inner == value then return owner .. "." .. tostring(name) end
      end
    end
  end
  return type(value) == "userdata" and kbcd.type(value) or nil
end

-- The words of a text in lines of at most 96 columns, each after `indent`.
local function fill(text, indent)
  local lines, line = {}, indent
  for word in text:gmatch("%S+") do
    if #line + #word > 95 and line ~= indent then lines[#lines + 1], line = line, indent end
    line = line .. (line == indent and "" or " ") .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- The heading, then the text, in which a line that begins with blanks stays one, as far to the right.
local function entry(text)
  local heading, body = text:match("^([^\n]*)\n?(.*)$")
  local lines, part, indent = { heading }, {}, ""
  local function finish() lines[#lines + 1] = fill(table.concat(part, " "), "    " .. indent) end
  for line in (body .. "\n"):gmatch("(.-)\n") do
    local blanks = line:match("^  +")
    if blanks and not (indent ~= "" and #blanks > #indent) then  -- a deeper one continues the line above
      finish()
      part, indent = {}, blanks
    end
    part[#part + 1] = line
  end
  finish()
  return table.concat(lines, "\n")
end

-- The names that have a text of their own, without those of members such as Matrix:rows.
local function top_names()
  local names = {}
  for name in pairs(docs) do if not name:find("[.:]") then names[name] = true end end
  return names
end

local function overview()
  local left, lines = top_names(), { introduction }
  for i, group in ipairs(groups) do
    local names = {}
    local function add(name)
      if left[name] then left[name], names[#names + 1] = nil, name end
    end
    for j = 2, #group do add(group[j]) end
    for _, folder in ipairs(group.folders or {}) do
      for _, name in ipairs(kbcd.sorted_keys(runtime.library.public)) do
        if runtime.library.public[name] == folder then add(name) end
      end
    end
    if i == #groups then for _, name in ipairs(kbcd.sorted_keys(left)) do add(name) end end
    local text = fill(table.concat(names, ", "), (" "):rep(15))
    lines[#lines + 1] = ("  %-12s "):format(group[1]) .. text:sub(16)
  end
  return table.concat(lines, "\n")
end

-- The first sentence of a text, or the beginning of a long one.
local function first_sentence(text)
  local body = (text:match("^[^\n]*\n(.*)$") or text):gsub("%s+", " ")
  local sentence = body:match("^(.-)%. ") or body:gsub("%.$", "")
  return #sentence <= 160 and sentence or sentence:sub(1, 160):match("^(.*) ") .. " …"
end

-- The names whose text has every one of the words, those that have them in their name first; with their first sentences.
local function search(words)
  local by_name, by_text = {}, {}
  for _, name in ipairs(kbcd.sorted_keys(docs)) do
    local in_name, in_text = true, true
    for word in words:lower():gmatch("%S+") do
      in_name = in_name and name:lower():find(word, 1, true) ~= nil
      in_text = in_text and (name .. "\n" .. docs[name]):lower():find(word, 1, true) ~= nil
    end
    if in_name then by_name[#by_name + 1] = name elseif in_text then by_text[#by_text + 1] = name end
  end
  for _, name in ipairs(by_text) do by_name[#by_name + 1] = name end
  return by_name
end

local function search_text(words)
  local names = search(words)
  if #names == 0 then return ("no help for '%s'; help() lists what there is"):format(words) end
  local lines = { ("'%s' is no name; %d text%s mention%s it:"):format(words, #names, #names == 1 and "" or "s",
    #names == 1 and "s" or "") }
  for _, name in ipairs(names) do
    local sentence = fill(first_sentence(docs[name]), (" "):rep(28))
    lines[#lines + 1] = #name <= 25 and ("  %-26s"):format(name) .. sentence:sub(29) or "  " .. name .. "\n" .. sentence
  end
  return table.concat(lines, "\n")
end

local help = {}

runtime.docs.help = [[help([name])
Without a name, what there is. With a name ("Matrix:rows") or a value, what it does. With any other word or words, the names
whose texts mention them.]]

-- The text for a name or a value: its own entry, then those of its members; for a word that is no name, what mentions it.
function help.text(subject)
  load_all()
  if subject == nil then return overview() end
  local name = type(subject) == "string" and subject:gsub("^kbcd%.", "") or name_of(subject)
  if not name then return "no help for this " .. type(subject) .. "; help() lists what there is" end
  local parts, member = {}, "^" .. name:gsub("%W", "%%%0") .. "[.: ]"
  if docs[name] then parts[1] = docs[name] end
  for _, other in ipairs(kbcd.sorted_keys(docs)) do
    if other:find(member) or other:match("[.:]([%w_]+)$") == name then parts[#parts + 1] = docs[other] end
  end
  if #parts == 0 then return name:find("%S") and search_text(name) or overview() end
  for i, part in ipairs(parts) do parts[i] = entry(part) end
  return table.concat(parts, "\n")
end

return setmetatable(help, {
  __call = function(_, subject)
    if kbcd.rank() == 0 then print(help.text(subject)) end
  end,
  __tostring = function() return 'help() lists what there is, help "Matrix:rows" explains a name' end,
})
