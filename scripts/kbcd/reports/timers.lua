-- Where the time went: seconds and calls of every primitive on every rank, and counts of what was computed.
-- All ranks call these functions.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local timers = {}

runtime.docs.timers = [[timers
Where the time went: seconds and calls of every primitive on every rank, and counts of what was computed. All ranks call
these functions.]]

-- Names may differ from rank to rank: the union of all, sorted.
local function all_names(own)
  local mine, seen, names = {}, {}, {}
  for name in pairs(own) do mine[#mine + 1] = name end
  for root = 0, kbcd.size() - 1 do
    for name in kbcd.bcast(table.concat(mine, "\n"), root):gmatch("[^\n]+") do
      if not seen[name] then seen[name], names[#names + 1] = true, name end
    end
  end
  table.sort(names)
  return names
end

runtime.docs["timers.collect"] = [[timers.collect()
A list of { name, calls, min, mean, max (of seconds over the ranks), operations (floating-point ones of products, Grams,
factors and solves), bytes (that were sent), of all ranks }, the longest first. Timers nest: products of a block that is not
yet in memory contain the time of computing it, which is also listed on its own.]]
function timers.collect()
  local own, list = runtime.timing.timers(), {}
  for _, name in ipairs(all_names(own)) do
    local entry = own[name] or { seconds = 0, calls = 0, operations = 0, bytes = 0 }
    list[#list + 1] = {
      name = name, calls = kbcd.allreduce_max(entry.calls), min = kbcd.allreduce_min(entry.seconds),
      mean = kbcd.allreduce(entry.seconds) / kbcd.size(), max = kbcd.allreduce_max(entry.seconds),
      operations = kbcd.allreduce(entry.operations), bytes = kbcd.allreduce(entry.bytes),
    }
  end
  table.sort(list, function(a, b) return a.max > b.max end)
  return list
end

runtime.docs["timers.count"] = [[timers.count(name)
How many were computed over all ranks: "kernel entries" or "feature entries".]]
function timers.count(name)
  return kbcd.allreduce(runtime.timing.counters()[name] or 0)
end

runtime.docs["timers.report"] = [[timers.report()
Prints the timers as a table, and the counters. "in none": the time since the reset that no timer counts.]]
function timers.report()
  kbcd.say("%-22s %8s %10s %10s %10s", "seconds in", "calls", "min", "mean", "max")
  for _, t in ipairs(timers.collect()) do
    kbcd.say("%-22s %8d %10.3f %10.3f %10.3f", t.name, t.calls, t.min, t.mean, t.max)
  end
  local none = runtime.timing.in_none()
  local mean = kbcd.allreduce(none) / kbcd.size()
  kbcd.say("%-22s %8s %10.3f %10.3f %10.3f", "in none", "", kbcd.allreduce_min(none), mean, kbcd.allreduce_max(none))
  for _, name in ipairs(all_names(runtime.timing.counters())) do
    kbcd.say("%-22s %.6g", name, timers.count(name))
  end
end

runtime.docs["timers.reset"] = [[timers.reset()
Sets every timer and counter to 0.]]
function timers.reset() runtime.timing.reset() end

return timers
