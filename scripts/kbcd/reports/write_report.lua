-- write_report(logs, options): the HTML page of some logs, written to options.output through a temporary name; with
-- options.svg or options.png (prefixes), also each figure as a separate file. On one rank.

local kbcd = require "kbcd"
local gnuplot = require "kbcd.reports.gnuplot"
local report_page = require "kbcd.reports.report_page"
local runtime = require "kbcd.runtime"
local run_names = require "kbcd.reports.run_names"

runtime.docs.write_report = [[write_report(logs, options)
One HTML page from a list of log files. options: output, title, svg and png (prefixes of files for the figures alone).]]

return function(logs, o)
  local runs = {}
  for i, path in ipairs(logs) do runs[i] = kbcd.read_log(path) end
  run_names(runs)
  -- Methods without p first; those of one method together.
  local function key(run)
    return run.settings.p and 1 or 0, run.title, tonumber(run.settings.p) or 0
  end
  table.sort(runs, function(a, b)
    local has_a, title_a, p_a = key(a)
    local has_b, title_b, p_b = key(b)
    if has_a ~= has_b then return has_a < has_b end
    if title_a ~= title_b then return title_a < title_b end
    return p_a < p_b
  end)
  local page = report_page(runs, o.title or "kbcd report", function(figure)
    return figure.svg or gnuplot(figure.script, figure.data, "svg")
  end)
  kbcd.output_file.write_text(o.output, page)
  print("wrote " .. o.output)
  for _, format in ipairs{ "svg", "png" } do
    for _, figure in ipairs(o[format] and report_page.figures(runs) or {}) do
      local path = ("%s-%s.%s"):format(o[format], figure.key, format)
      if not figure.svg then
        print("wrote " .. gnuplot(figure.script, figure.data, format, path))
      elseif format == "svg" then
        kbcd.output_file.write_text(path, figure.svg)
        print("wrote " .. path)
      end
    end
  end
end
