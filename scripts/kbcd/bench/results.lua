-- results(): the list of figures, printed a line each as they come, and written as JSON.
--
-- An entry: group, name, value, unit; bar and at_most (whether the bar is an upper one), from which comes ok; seconds; for
-- rates flop, rate and peak in GFLOP/s, and value = rate / peak; entries_rate (of a block, a second); note (a text).

local kbcd = require "kbcd"

local function number(x)
  local size = math.abs(x)
  return (size >= 1000 and "%.0f" or size >= 100 and "%.1f" or "%.3g"):format(x)
end

local function json()
  local found, cjson = pcall(require, "cjson")
  if not found then error("bench needs lua-cjson; on Debian: apt-get install lua-cjson", 0) end
  return cjson
end

local columns = "%s %8s %-14s %9s %-6s %10s  %s"

local function pad(text) return text .. (" "):rep(48 - select(2, text:gsub("[^\128-\191]", ""))) end  -- by letters

-- A line of the table, without blanks at its end.
local function say(name, ...) kbcd.say("%s", (columns:format(pad(name), ...):gsub(" +$", ""))) end

return function()
  local results, cjson = { list = {} }, json()

  function results.heading(group)
    kbcd.say("")
    say(group, "figure", "", "bar", "", "seconds", "")
  end

  function results.add(entry)
    if entry.bar then
      entry.ok = entry.at_most and entry.value ~= nil and entry.value <= entry.bar
        or not entry.at_most and entry.value ~= nil and entry.value >= entry.bar
    end
    local note = entry.note or ""
    if entry.rate then note = ("%s of %s GFLOP/s"):format(number(entry.rate), number(entry.peak)) end
    if entry.entries_rate then note = ("%s, %s M entries/s"):format(note, number(entry.entries_rate / 1e6)) end
    say("  " .. entry.name, entry.value and number(entry.value) or "-", entry.unit,
      entry.bar and (entry.at_most and "<= " or ">= ") .. number(entry.bar) or "", entry.bar and
      (entry.ok and "ok" or entry.at_most and "above" or "below") or "", entry.seconds and number(entry.seconds) or "", note)
    results.list[#results.list + 1] = entry
  end

  -- The median round of an item, as a share of the peak.
  function results.rate(group, item, round)
    results.add{ group = group, name = item.name, value = round.ratio, unit = "of sgemm", bar = item.bar,
      seconds = round.seconds, flop = item.flop, rate = round.rate, peak = round.peak,
      entries_rate = item.made and item.made / round.seconds }
  end

  -- The file holds `about` (a table) and the list.
  function results.write(path, about)
    local text = kbcd.rank() == 0 and cjson.encode{ about = about, results = results.list }
    kbcd.output_file.write(path, function(name)
      if kbcd.rank() ~= 0 then return end
      local file = assert(io.open(name, "w"))
      assert(file:write(text, "\n"))
      assert(file:close())
    end)
  end

  return results
end
