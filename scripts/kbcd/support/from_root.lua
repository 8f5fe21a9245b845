-- from_root(path, read): read(path), on every rank, of the file that rank 0's host has under this path. Where another host
-- has no such file, or one of other content, read gets the path of a copy, which is removed when all ranks have read it.
-- All ranks call it. from_root.chunk(path) is loadfile(path) of that file. from_root.files(o) is for the files of data that
-- the options of a command name: with --from-root they are replaced by copies, which from_root.forget() removes; without it,
-- each host must have the same ones.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local without_places = require "kbcd.support.without_places"

local from_root = { texts = {} }  -- of the files that chunk has loaded, by path
local data_options, copies = { "data", "x", "y", "test_data", "test_x", "test_y", "weights" }, {}

local function finish(path, copy, good, ...)
  local message = not good and tostring((...)) or nil
  local agreed, reason = pcall(kbcd.together, function() if message then error(message, 0) end end)
  runtime.files.forget(copy)
  if not agreed then error((tostring(reason):gsub(copy:gsub("%p", "%%%0"), (path:gsub("%%", "%%%%")))), 0) end
  return ...
end

function from_root.chunk(path)
  if not runtime.files.several_hosts() then return loadfile(path) end
  local text, reason
  if kbcd.rank() == 0 then
    local file
    file, reason = io.open(path, "rb")
    if file then
      text = file:read("*a")
      file:close()
    end
  end
  text = runtime.files.text_of_root(text or "")
  if text == "" then return nil, reason or path .. ": rank 0's host has no such file" end
  from_root.texts[path] = text
  return loadstring(text:gsub("^#", "--#", 1), "@" .. path)
end

-- FILE or FILE:PART, whichever rank 0 has.
local function of_root(name)
  local file, part = name, nil
  if kbcd.rank() == 0 then file, part = require("kbcd.data.read_data").file_of(name) end
  return runtime.files.text_of_root(file), runtime.files.text_of_root(part or "")
end

local function copy_of(name)
  local file, part = of_root(name)
  local copy = runtime.files.fetch(file)
  if copy ~= file then copies[#copies + 1] = copy end
  return part == "" and copy or copy .. ":" .. part
end

local function prepare(o)
  for _, name in ipairs(data_options) do
    local given = o[name] ~= "-" and o[name]
    if given and o.from_root then o[name] = copy_of(given) end
    if given and not o.from_root then runtime.files.require_same((of_root(given))) end
  end
end

function from_root.files(o)
  if not runtime.files.several_hosts() then return end
  local good, message = pcall(prepare, o)
  if not good then runtime.job.abort(runtime.job.who() .. without_places(message)) end
end

function from_root.forget()
  for _, copy in ipairs(copies) do runtime.files.forget(copy) end
  copies = {}
end

return setmetatable(from_root, { __call = function(_, path, read)
  local copy = runtime.files.fetch(path)
  if copy == path then return read(path) end
  return finish(path, copy, pcall(read, copy))
end })
