-- Files that are complete or not there: written under a temporary name in the same folder, brought to the disk, renamed.

local ffi = require "ffi"
local kbcd = require "kbcd"

ffi.cdef[[
int kbcd_getpid(void) __asm__("getpid");
int kbcd_open(const char*, int, ...) __asm__("open");
int kbcd_fsync(int) __asm__("fsync");
int kbcd_close(int) __asm__("close");
int kbcd_link(const char*, const char*) __asm__("link");
]]

local output_file = {}

local function temporary_name(path) return ("%s.%d.part"):format(path, ffi.C.kbcd_getpid()) end

local function refuse(path, reason) error(("%s: cannot be written (%s)"):format(path, reason), 0) end

-- What was written to a file, or to the list of a folder, is on the disk.
local function sync(path)
  local descriptor = ffi.C.kbcd_open(path, 0)
  if descriptor < 0 then return false end
  local good = ffi.C.kbcd_fsync(descriptor) == 0
  return ffi.C.kbcd_close(descriptor) == 0 and good
end

kbcd.system.docs["output_file.check"] = [[output_file.check(path)
Fails now, rather than after hours, when a file of that name could not be written.]]
function output_file.check(path)
  if kbcd.rank() ~= 0 then return end
  local folder = io.open(path .. "/.")
  if folder then folder:close(); refuse(path, "it is a folder") end
  local name = temporary_name(path)
  local file, reason = io.open(name, "wb")
  if not file then refuse(path, reason) end
  file:close()
  os.remove(name)
end

-- Gives path a second name, so that it is there all the time; where files have but one, path loses it for a moment.
local function keep_as(path, previous)
  os.remove(previous)
  if ffi.C.kbcd_link(path, previous) == 0 then return true end
  return os.rename(path, previous)
end

local function write(path, name, previous, f)
  local good, message = xpcall(f, function(e) return e end, name)
  if kbcd.rank() == 0 then
    if good and not sync(name) then good, message = false, path .. ": cannot be brought to the disk" end
    if good and previous then good, message = keep_as(path, previous) end
    if good then good, message = os.rename(name, path) end
    if not good then
      os.remove(name)
      error(message, 0)
    end
    sync(path:match("^(.*/)[^/]*$") or ".")
  elseif not good then
    error(message, 0)
  end
  kbcd.barrier()
end

kbcd.system.docs["output_file.write"] = [[output_file.write(path, f)
f(name) writes a file of a temporary name, which then takes the place of path; all ranks call it, rank 0 is to write. When
f fails, path stays as it was.]]
function output_file.write(path, f) write(path, temporary_name(path), nil, f) end

kbcd.system.docs["output_file.replace"] = [[output_file.replace(path, previous, f)
The same for a file that is written again and again: the temporary name is always path.part, so that a run that was killed
leaves but one, and the file that was there takes the name `previous` (nil or false: it goes).]]
function output_file.replace(path, previous, f) write(path, path .. ".part", previous, f) end

return output_file
