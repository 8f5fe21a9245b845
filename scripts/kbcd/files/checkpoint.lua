-- checkpoint(path, options): saves the state of a run to a file, now and then, so that it can resume after it was stopped.
--
-- A state is { distributed = { name = Matrix }, replicated = { name = Matrix } }: each rank holds its own rows of the
-- first, and all of the second. The settings, { name = text, number or list of numbers }, are saved with it, and a run that
-- resumes must have the same: they give the same numbers, to the bit on the same number of ranks.
--
-- The file is HDF5: attributes of / are format, version and checksum (over all the rest), /settings has the lines
-- `name = value`, /distributed and /replicated the tables, rows in their global order, so that any number of ranks can
-- read them. It is written under another name, synced to the disk and renamed; the file that it replaces becomes
-- path.previous. A damaged file is reported, and the previous one is used. path.lock keeps a second job away while this
-- one runs.

local kbcd = require "kbcd"
local run_settings = require "kbcd.descent.run_settings"
local without_places = require "kbcd.support.without_places"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local from_root = require "kbcd.support.from_root"
local Matrix, DataSet, Index = kbcd.Matrix, kbcd.DataSet, kbcd.Index

local checkpoint = { format = "kbcd checkpoint", version = 2 }
local methods = {}

local groups, piece = { "replicated", "distributed" }, 4096  -- rows that are sent to rank 0 at a time

runtime.docs.checkpoint = [[checkpoint(path [, options])
Saves the state of a run to a file, so that the run can resume. options: every = 60 (seconds between two saves; 0: after
every block), every_blocks (save after so many blocks; then not by the clock, unless `every` is given, too), resume = false
(true: resume from the file, if there is one), settings ({ name = value }: more settings that must be the same), data
({ name = DataSet }: the data as it was read, which must be the same; for runs that resume on another number of ranks, where
X, Y and test were computed from it and differ by rounding). Pass it to an algorithm as the option `checkpoint`, and remove
it at the end:
  local c = checkpoint("run.checkpoint", { resume = true })
  for step in nystrom(X, Y, { …, checkpoint = c }) do … end
  c:remove()
  c.resumed is { epoch, block }, after which the run resumed. One SIGTERM, SIGINT or SIGUSR1 saves after the block and
exits. A loop that is no algorithm (help "algorithm") calls c:take_up(settings, state) at its start, which fills the
matrices of a state, { distributed = { name = this rank's rows }, replicated = { name = Matrix } }, and returns whether it
did, and c:keep(settings, state) after each step.]]

-- This rank's share of the rows of a matrix that every rank has.
local function share_of(A)
  local first, last = DataSet.share(A.nrows)
  return last >= first and A:rows(first, last) or Matrix.zeros(0, A.ncols, A.dtype)
end

-- The tables of a state in order, { path in the file, rows as a DataSet }. All ranks call it.
local function tables_of(state)
  local tables = {}
  for _, group in ipairs(groups) do
    for _, name in ipairs(kbcd.sorted_keys(state[group] or {})) do
      local A = state[group][name]
      local rows = group == "distributed" and DataSet.local_part(kbcd.allreduce(A.nrows), A) or
        DataSet.local_part(A.nrows, share_of(A))
      tables[#tables + 1] = { path = ("/%s/%s"):format(group, name), rows = rows }
    end
  end
  return tables
end

-- All ranks call it.
local function checksum_of(lines, tables)
  local parts = { unpack(lines) }
  for _, t in ipairs(tables) do
    parts[#parts + 1] = ("%s %dx%d %s"):format(t.path, t.rows.n, t.rows.d, t.rows:fingerprint())
  end
  return runtime.files.checksum(table.concat(parts, "\n"))
end

local function read_tables(file, group)
  local tables = {}
  for _, name in ipairs(file:has("/" .. group) and file:members("/" .. group) or {}) do
    local path = ("/%s/%s"):format(group, name)
    local shape = file:shape(path)
    if #shape ~= 2 or shape[1] < 1 or shape[2] < 1 then error(("%s: %s: a table expected"):format(file.path, path), 0) end
    local first, last = 1, shape[1]
    if group == "distributed" then first, last = DataSet.share(shape[1]) end
    tables[name] = last >= first and file:read(path, first, last) or Matrix.zeros(0, shape[2])
  end
  return tables
end

-- The settings and the state in a file, or an error, on all ranks alike.
local function read_here(path)
  local lines, state, expected = nil, {}, nil
  kbcd.together(function()
    local file = kbcd.h5.open(path, true)
    local good, message = pcall(function()
      local marked, format = pcall(file.get, file, "/", "format")
      if not marked or format ~= checkpoint.format then error(path .. ": no kbcd checkpoint", 0) end
      local version = file:get("/", "version")
      if version ~= checkpoint.version then
        error(("%s: a checkpoint of format version %s; this kbcd reads version %d"):format(path, tostring(version),
          checkpoint.version), 0)
      end
      lines, expected = file:texts("/settings"), file:get("/", "checksum")
      for _, group in ipairs(groups) do state[group] = read_tables(file, group) end
    end)
    file:close()
    if not good then error(message, 0) end
  end)
  if checksum_of(lines, tables_of(state)) ~= expected then error(path .. ": its checksum is wrong", 0) end
  local settings = {}
  for _, line in ipairs(lines) do
    local name, value = line:match("^(.-) = (.*)$")
    if name then settings[name] = value end
  end
  return settings, state
end

local function read(path) return from_root(path, read_here) end

local function there(path)
  local file = kbcd.rank() == 0 and io.open(path, "rb")
  if file then file:close() end
  return kbcd.bcast(file and 1 or 0) == 1
end

-- The settings and state of the newest undamaged file, and whether it is path itself; nothing if there is no file.
local function read_newest(path)
  local damage = {}
  for _, name in ipairs{ path, path .. ".previous" } do
    if there(name) then
      local good, settings, state = pcall(read, name)
      if good then
        if #damage > 0 and kbcd.rank() == 0 then
          io.stderr:write(("%s; resuming from %s\n"):format(damage[1], name))
        end
        return settings, state, name == path
      end
      damage[#damage + 1] = "damaged checkpoint: " .. without_places(settings)
    end
  end
  if #damage > 0 then
    error(("%s; there is no good one to resume from: remove %s to start again"):format(table.concat(damage, "; "), path), 0)
  end
end

-- A fingerprint of each data set. All ranks call it.
local function fingerprints_of(data)
  local texts = {}
  for _, name in ipairs(kbcd.sorted_keys(data)) do
    texts["fingerprint of " .. name] = ("%s %s"):format(data[name].dtype, data[name]:fingerprint())
  end
  return texts
end

-- One job at a time writes to a path.
local function lock(path)
  local free = kbcd.rank() ~= 0 or runtime.files.lock(path .. ".lock")
  if free then return end
  error(("%s: another job is at work on it (it holds %s.lock); let it end, or give this one another name"):format(path,
    path), 0)
end

local function new(_, path, given)
  local o = options.read("checkpoint", given or {}, {
    every = { options.maybe(options.not_negative), false }, every_blocks = { options.maybe(options.count), false },
    resume = { options.flag, false },
    settings = { function(x) return type(x) ~= "table" and "a table" or nil end, {} },
    data = { options.maybe(function(x) return type(x) ~= "table" and "a table of DataSets" or nil end), false },
  })
  local c = { path = path, settings = o.settings, saved_at = kbcd.now(), blocks = 0,  -- since the last save
    every_blocks = o.every_blocks or math.huge, every = o.every or o.every_blocks and math.huge or 60 }
  kbcd.together(function()
    kbcd.output_file.check(path)
    lock(path)
  end)
  c.given_fingerprints = o.data and fingerprints_of(o.data)
  if o.resume then
    c.saved_settings, c.saved_state, c.good = read_newest(path)
  elseif there(path) or there(path .. ".previous") then
    error(("%s: there is a checkpoint already; resume it, or remove it and %s.previous"):format(path, path), 0)
  end
  runtime.signals.note_stop_signals(true)
  return setmetatable(c, { __index = methods })
end

-- The algorithm's settings and the caller's.
local function lines_of(c, settings)
  local all, lines = {}, {}
  for _, from in ipairs{ settings, c.settings } do
    for name, value in pairs(from) do all[name] = run_settings.text(value) end
  end
  for i, name in ipairs(kbcd.sorted_keys(all)) do lines[i] = ("%s = %s"):format(name, all[name]) end
  return lines, all
end

-- sources: files whose checksums are settings, { path } by the name of the setting. Of another algorithm, they say nothing.
local function require_same_settings(c, settings, sources)
  local _, here = lines_of(c, settings)
  local saved, names, differences, changed = c.saved_settings, {}, {}, {}
  for _, from in ipairs{ saved, here } do for name in pairs(from) do names[name] = true end end
  for _, name in ipairs(kbcd.sorted_keys(names)) do
    local file = saved[name] and sources and sources[name]
    if saved[name] ~= here[name] and file and file.path then
      changed[#changed + 1] = file.path
    elseif saved[name] ~= here[name] then
      differences[#differences + 1] = ("%s = %s there, %s here"):format(name, saved[name] or "none", here[name] or "none")
    end
  end
  if #changed > 0 and saved.algorithm == here.algorithm then
    error(("%s: %s changed since the checkpoint was written: start again without --resume, or restore the file%s"):format(
      c.path, table.concat(changed, ", ") .. (#changed == 1 and " has" or " have"), #changed == 1 and "" or "s"), 0)
  end
  if #differences > 0 then
    error(("%s is of another run: %s"):format(c.path, table.concat(differences, "; ")), 0)
  end
end

-- Fingerprints of the data, { name = text }, to compare with those of the checkpoint: of the data as it was read, if the
-- checkpoint was given that, else of `data`, { name = DataSet }. All ranks call it.
function methods.fingerprints(c, data)
  return c.given_fingerprints or fingerprints_of(data)
end

function methods.take_up(c, settings, state, sources)
  if not c.saved_state then return false end
  require_same_settings(c, settings, sources)
  local function shape(A) return A and ("%dx%d"):format(A.nrows, A.ncols) or "missing" end
  for _, group in ipairs(groups) do
    local saved, here, names = c.saved_state[group], state[group] or {}, {}
    for _, from in ipairs{ saved, here } do for name in pairs(from) do names[name] = true end end
    for name in pairs(names) do
      if shape(saved[name]) ~= shape(here[name]) then
        error(("%s is of another run: %s is %s there, %s here (on rank %d)"):format(c.path, name, shape(saved[name]),
          shape(here[name]), kbcd.rank()), 0)
      end
      here[name]:copy(saved[name])
    end
  end
  c.saved_state = nil
  return true
end

function methods.save(c, settings, state)
  local lines, tables = lines_of(c, settings), tables_of(state)
  local checksum = checksum_of(lines, tables)
  kbcd.output_file.write(c.path, function(name)
    local file = kbcd.rank() == 0 and kbcd.h5.create(name)
    if file then
      file:set("/", "format", checkpoint.format)
      file:set("/", "version", checkpoint.version)
      file:set("/", "kbcd", kbcd.version():match("kbcd (%S+)"))
      file:set("/", "checksum", checksum)
      file:write_texts("/settings", lines)
      for _, group in ipairs(groups) do file:group("/" .. group) end
    end
    for _, t in ipairs(tables) do
      for first = 1, t.rows.n, piece do
        local part = t.rows:gather(Index.range(first, math.min(first + piece - 1, t.rows.n)))
        if file then file:append(t.path, part) end
      end
    end
    if file then file:close() end
  end, c.good and c.path .. ".previous")
  c.good, c.saved_at, c.blocks = true, kbcd.now(), 0
end

-- Saves if enough blocks are done, by rank 0's clock, or after a signal to any rank.
function methods.keep(c, settings, state, before_save)
  c.blocks = c.blocks + 1
  local signal = runtime.signals.stop_signal()
  local late = kbcd.rank() == 0 and kbcd.now() - c.saved_at >= c.every
  local due = (late or c.blocks >= c.every_blocks) and 0.5 or 0
  local wanted = kbcd.allreduce_max(math.max(signal, due))
  if wanted == 0 then return end
  if before_save then before_save() end
  c:save(settings, state)
  if wanted < 1 then return end
  kbcd.say("stopped by signal %d; %s has the run, to resume from", wanted, c.path)
  kbcd.barrier()
  os.exit(128 + wanted)
end

function methods.remove(c)
  runtime.signals.note_stop_signals(false)
  if kbcd.rank() == 0 then
    for _, name in ipairs{ c.path, c.path .. ".previous", kbcd.output_file.temporary_name(c.path) } do os.remove(name) end
    runtime.files.unlock(c.path .. ".lock")
  end
  kbcd.barrier()
end

runtime.docs["checkpoint.read"] = [[checkpoint.read(path)
The settings, { name = text }, and the state, { distributed = { name = this rank's rows }, replicated = { name = Matrix } },
in a checkpoint, after its checksum was compared. All ranks call it.]]
checkpoint.read = read

return setmetatable(checkpoint, { __call = new })
