-- Files that are complete or missing: written under a temporary name in the same folder, synced to the disk and renamed.
-- The new file gets the mode of the one that it replaces; if the path is a link, its target is replaced.

local kbcd = require "kbcd"
local read_data = require "kbcd.data.read_data"
local runtime = require "kbcd.runtime"
local files = runtime.files

local output_file = {}

runtime.docs.output_file = [[output_file
Writes a file under a temporary name and renames it, so that it is complete or missing.]]

runtime.docs["output_file.temporary_name"] = [[output_file.temporary_name(path)
The temporary name of the file that then replaces path. Always the same, so that a run that was killed leaves only one.]]
function output_file.temporary_name(path) return files.real_path(path) .. ".kbcd.part" end

local function refuse(path, reason) error(("%s: cannot be written (%s)"):format(path, reason), 0) end

-- Renaming would replace a device or a pipe instead of writing to it.
local function require_replaceable(path)
  if not files.is_replaceable(path) then refuse(path, "it is no regular file") end
end

runtime.docs["output_file.check"] = [[output_file.check(path)
Fails if a file of that name cannot be written: now, rather than at the end of a long run.]]
function output_file.check(path)
  if kbcd.rank() ~= 0 then return end
  local folder = io.open(path .. "/.")
  if folder then folder:close(); refuse(path, "it is a folder") end
  require_replaceable(path)
  local reason = files.obstacle(path)
  if reason then refuse(path, reason) end
end

runtime.docs["output_file.check_command"] = [[output_file.check_command(inputs, outputs)
Checks the files that a command writes, { option = path }: each must be writable, and differ from the files that it reads
and from the others that it writes.]]
function output_file.check_command(inputs, outputs)
  local options = kbcd.sorted_keys(outputs)
  for i, option in ipairs(options) do
    local path = outputs[option]
    local function refuse_same(other, other_path, fate)
      if files.same_file(path, other_path) then
        error(("%s %s: this is the file of %s, which %s; give another name"):format(option, path, other, fate), 0)
      end
    end
    for _, input in ipairs(kbcd.sorted_keys(inputs)) do
      refuse_same(input, read_data.file_of(inputs[input]), "would be lost")
    end
    for j = 1, i - 1 do refuse_same(options[j], outputs[options[j]], "is written, too") end
    output_file.check(path)
  end
end

-- Gives the file a second name, so that path always exists; without hard links, path is missing for a moment.
local function keep_as(path, previous)
  os.remove(previous)
  if files.link(path, previous) then return true end
  return os.rename(path, previous)
end

-- f(name) writes a file of that name, which then replaces path.
local function put(path, previous, f)
  local target, name = files.real_path(path), output_file.temporary_name(path)
  require_replaceable(path)
  os.remove(name)
  local good, message = xpcall(f, function(e) return e end, name)
  if good then files.copy_mode(target, name) end
  if good and not files.sync(name) then good, message = false, path .. ": cannot be synced to the disk" end
  if good and previous then good, message = keep_as(target, previous) end
  if good then good, message = os.rename(name, target) end
  if not good then
    os.remove(name)
    error(message, 0)
  end
  files.sync(target:match("^(.*/)[^/]*$") or ".")
end

runtime.docs["output_file.write_text"] = [[output_file.write_text(path, text)
The same as output_file.write with a text, by the one rank that calls it.]]
function output_file.write_text(path, text)
  put(path, nil, function(name)
    local file, reason = io.open(name, "wb")
    local good = file
    if file then good, reason = file:write(text) end
    if good then good, reason = file:flush() end
    if file then file:close() end
    if not good then refuse(path, reason) end
  end)
end

runtime.docs["output_file.write"] = [[output_file.write(path, f [, previous])
f(name) writes a file under a temporary name, which then replaces path. All ranks call it, and rank 0 writes. If f fails,
path is unchanged. previous: a name under which the old file is kept (it is removed unless given).]]
function output_file.write(path, f, previous)
  if kbcd.rank() == 0 then put(path, previous, f) else f(output_file.temporary_name(path)) end
  kbcd.barrier()
end

return output_file
