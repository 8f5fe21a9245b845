-- resume(run): where the run begins: the epoch, the steps done in it and the seconds that they took, from the checkpoint
-- of a run that was stopped, or 0; and with a checkpoint a function that saves the state after a step. The settings of a
-- run, and the data, must be those of the one that was stopped, and the same on every rank.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local replicated_check = require "kbcd.descent.replicated_check"
local run_settings = require "kbcd.descent.run_settings"

-- Options that differ from rank to rank would give wrong numbers: an error says which do.
local function require_same_settings(owner, settings)
  if not runtime.job.checking() then return end
  for _, name in ipairs(kbcd.sorted_keys(settings)) do
    runtime.job.require_same("the start", ("%s with %s = %s"):format(owner, name, settings[name]))
  end
end

return function(run)
  local o, settings, at = run.o, run_settings(run), kbcd.Matrix.zeros(1, 3)
  require_same_settings(run.owner, settings)
  local checkpoint = o.checkpoint
  if not checkpoint then return 0, 0, 0 end
  settings.values = run_settings.values(run.model)
  local data = { X = run.X, Y = kbcd.DataSet.local_part(run.X.n, run.given_Y), test = o.test or nil,
    ["held out"] = o.held_out and o.held_out.rows or nil }
  for name, text in pairs(checkpoint:fingerprints(data)) do settings[name] = text end
  if run.scale and not settings["fingerprint of weights"] then
    settings["fingerprint of weights"] = kbcd.DataSet.local_part(run.X.n, run.scale):fingerprint()
  end
  run.own("replicated", "at", at)
  if o.targets or run.admm then run.own("distributed", "Y", run.Y) end
  run.resumed = checkpoint:take_up(settings, run.state, run_settings.sources(run))
  if run.resumed then checkpoint.resumed = { epoch = at(1, 1), block = at(1, 2) } end

  local function save(epoch, done, seconds)
    for i, value in ipairs{ epoch, done, seconds } do at:set(1, i, value) end
    checkpoint:keep(settings, run.state, function()
      replicated_check(run, ("before the checkpoint of block %d of epoch %d"):format(done, epoch))
      if run.before_save then run.before_save() end
    end)
  end
  return at(1, 1), at(1, 2), at(1, 3), save
end
