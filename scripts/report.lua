-- kbcd report: one self-contained HTML page from the logs of runs; or the figures alone, for papers.

local kbcd = require "kbcd"

local parser = kbcd.arguments("report", "One self-contained HTML page from the logs that train and compare write.")
parser:argument("logs", "Logs, one a run (run.jsonl)."):args("+")
parser:option("-o --output", "The page.", "report.html")
parser:option("--title", "Its title.", "kbcd report")
parser:option("--svg", "Also each figure as PREFIX-<name>.svg."):argname("PREFIX")
parser:option("--png", "Also each figure as PREFIX-<name>.png."):argname("PREFIX")
local o = parser:parse(arg)

kbcd.command("report", function()
  local inputs = {}
  for i, path in ipairs(o.logs) do inputs["log " .. i] = path end
  kbcd.output_file.check_command(inputs, { ["--output"] = o.output })
  if kbcd.rank() == 0 then kbcd.write_report(o.logs, o) end
  kbcd.barrier()
end)
