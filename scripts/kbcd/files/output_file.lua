-- Files that are complete or not there: written under a temporary name in the same folder, brought to the disk, renamed. A
-- file that is replaced leaves its mode to the new one, and of a link the file behind it is replaced.

local kbcd = require "kbcd"
local read_data = require "kbcd.data.read_data"
local runtime = require "kbcd.runtime"
local files = runtime.files

local output_file = {}

runtime.docs.output_file = [[output_file
Writes a file under a temporary name and renames it, so that it is complete or not there.]]

runtime.docs["output_file.temporary_name"] = [[output_file.temporary_name(path)
Where the file is written that then takes the place of path. Always the same, so that a run that was killed leaves but
one.]] function output_file.temporary_name(path) return files.real_path(path) .. ".kbcd.part" end

local function refuse(path, reason) error(("%s: cannot be written (%s)"):format(path, reason), 0) end

-- A device or a pipe would not be written to, but replaced.
local function require_replaceable(path)
  if not files.is_replaceable(path) then refuse(path, "it is no regular file") end
end

runtime.docs["output_file.check"] = [[output_file.check(path)
Fails now, rather than after hours, when a file of that name could not be written.]]
function output_file.check(path)
  if kbcd.rank() ~= 0 then return end
  local folder = io.open(path .. "/.")
  if folder then folder:close(); refuse(path, "it is a folder") end
  require_replaceable(path)
  local reason = files.obstacle(path)
  if reason then refuse(path, reason) end
end

runtime.docs["output_file.check_command"] = [[output_file.check_command(inputs, outputs)
Checks the files that a command is to write, { option = path }: that each can be written, and is none of the files that it
reads, nor another one that it writes.]]
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

-- Gives path a second name, so that it is there all the time; where files have but one, path loses it for a moment.
local function keep_as(path, previous)
  os.remove(previous)
  if files.link(path, previous) then return true end
  return os.rename(path, previous)
end

-- f(name) writes the file of that name, which then takes the place of path.
local function put(path, previous, f)
  local target, name = files.real_path(path), output_file.temporary_name(path)
  require_replaceable(path)
  os.remove(name)
  local good, message = xpcall(f, function(e) return e end, name)
  if good then files.copy_mode(target, name) end
  if good and not files.sync(name) then good, message = false, path .. ": cannot be brought to the disk" end
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
f(name) writes a file of a temporary name, which then takes the place of path; all ranks call it, rank 0 is to
write. When f fails, path stays as it was. previous: a name that the file that was there takes (else it goes).]]
function output_file.write(path, f, previous)
  if kbcd.rank() == 0 then put(path, previous, f) else f(output_file.temporary_name(path)) end
  kbcd.barrier()
end

return output_file
