-- package_synopses(options, use): writes a file of lines section<TAB>synopsis from `apt-cache dumpavail`: texts that every
-- Debian machine has. The packages of a tenth of the sources come last, as the test set: packages of one source have
-- similar synopses, so a source must not be in both sets.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"

runtime.docs.package_synopses = [[package_synopses(options, use)
Writes the section and the one-line synopsis of every package that apt-cache lists, a line each with a tab between, those of
a tenth of the sources last, and returns the result of use(path, n), where n is the number of lines before those. options:
every = 1 (only every so many-th source), path (else a temporary file, which is removed when use is done or fails). Fails,
and writes nothing, where apt-cache lists fewer than 100 packages. All ranks call it.]]

-- The packages as tables of their fields.
local function packages()
  local pipe = assert(io.popen("apt-cache dumpavail 2>/dev/null"))
  return function()
    local of
    for line in pipe:lines() do
      if line == "" then return of or {} end
      local name, value = line:match("^(%a+): (.*)$")
      of = of or {}
      if name then of[name] = value end
    end
    pipe:close()
  end
end

-- Writes the file on rank 0; returns how many of its lines are for training.
local function write(path, every)
  local count = 0
  kbcd.together(function()
    if kbcd.rank() ~= 0 then return end
    local train, test, murmur3 = {}, {}, kbcd.hash.murmur3
    for of in packages() do
      local source = (of.Source or of.Package or ""):match("^%S+")  -- behind it may be a version
      if source and of.Section and of.Description and murmur3(source, 1) % every == 0 then
        local part = murmur3(source) % 10 == 0 and test or train
        part[#part + 1] = of.Section .. "\t" .. of.Description:gsub("\t", " ") .. "\n"
      end
    end
    count = #train
    if count < 100 then
      error(("apt-cache lists only %d packages; apt-get update fetches the lists"):format(count + #test), 0)
    end
    kbcd.output_file.write_text(path, table.concat(train) .. table.concat(test))
  end)
  return kbcd.bcast(count)
end

local function is_path(x) return type(x) ~= "string" and "the name of a file" or nil end

return function(given, use)
  local o = options.read("package_synopses", given, {
    every = { options.count, 1 }, path = { options.maybe(is_path), false },
  })
  if type(use) ~= "function" then error("package_synopses: a function use(path, n) expected, got " .. type(use), 2) end
  local path = o.path or kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
  local results = { pcall(function() return use(path, write(path, o.every)) end) }
  if not o.path and kbcd.rank() == 0 then os.remove(path) end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end
