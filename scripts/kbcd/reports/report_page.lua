-- report_page(runs, title, svg_of): one self-contained HTML page of runs: the figures inline, the final table, settings,
-- versions.

local figures = require "kbcd.reports.figures"
local pictures = require "kbcd.reports.pictures"

local style = [[
:root { color-scheme: light dark; --ink: #222; --paper: #fcfcfa; --soft: #667; --rule: #ddd; --card: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e0; --paper: #16181c; --soft: #9aa3ad; --rule: #333a42; --card: #1d2026; }
}
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
p.lead, figcaption, .soft { color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1rem;
  margin: 1.2rem 0; }
figure, section { margin: 0; padding: 1rem; background: var(--card); border: 1px solid var(--rule); border-radius: .6rem; }
section { margin-top: 1rem; overflow-x: auto; }
figure svg { width: 100%; height: auto; display: block; }
figure svg text { fill: var(--ink); } figure svg g[color="black"] { color: var(--ink); }
figcaption { font-size: .9rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } tr.best td { font-weight: 600; }
td.bar { width: 20rem; min-width: 4rem; } figure svg text.on { fill: #fff; } figure.confusion svg { max-height: 34rem; }
@media (max-width: 36rem) {
  body { padding: .8rem .5rem 2rem; } figure, section { padding: .7rem; } .wide { display: none; }
  table { width: 100%; font-size: .85rem; } th, td { padding: .3rem .4rem .3rem 0; }
  td:first-child { white-space: normal; overflow-wrap: break-word; }
  table.settings td { display: block; text-align: left; } table.settings td:first-child { border: 0; font-weight: 600; }
}
table.runs td:first-child { white-space: normal; } td.bar i { display: block; height: .8rem; background: #4477aa; }
td.own { text-align: left; white-space: normal; color: var(--soft); font-size: .85rem; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; color: var(--soft); }
]]

local function escape(text)
  return (tostring(text):gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

local function final_error(run)
  local best = figures.best_of(run)
  return best and figures.last_with(run, "test_error").test_error[best]
end

-- The last residual of the equations, of a run that solves them.
local function final_residual(run)
  local known = run.settings.residual_of == "equations" and figures.last_with(run, "residual")
  local residual = known and known.residual[figures.best_of(run) or 1]
  return residual and ("%.1e"):format(residual) or "–"
end

local function final_table(runs)
  local rows, least = {}, math.huge
  for _, run in ipairs(runs) do least = math.min(least, final_error(run) or math.huge) end
  for i, run in ipairs(runs) do
    local last, e = run.blocks[#run.blocks], final_error(run)
    local shown = not e and "–" or run.settings.task == "regress" and ("%.4g"):format(e) or ("%.2f%%"):format(100 * e)
    local best = figures.best_of(run)
    local lambda = best and (run.settings.lambda or run.settings.lambdas or {})[best]
    rows[i] = ("<tr%s><td>%s</td><td>%s</td><td>%s</td><td>%d</td><td class='wide'>%s</td><td>%.1f</td></tr>"):format(
      e == least and ' class="best"' or "", escape(run.label), shown,
      escape(tonumber(lambda) and ("%g"):format(lambda) or "–"), last.epoch, final_residual(run), last.seconds)
  end
  return "<table class='runs'><tr><th>run</th><th>error</th><th>λ</th><th>epochs</th><th class='wide'>residual</th>" ..
    "<th>seconds</th></tr>" ..
    table.concat(rows, "\n") .. "</table>"
end

-- The columns that count in the metric of each run that has one, with bars.
local function columns_section(runs)
  local parts = {}
  for _, run in ipairs(runs) do
    local rows = {}
    for i, column in ipairs(run.result and type(run.result.columns) == "table" and run.result.columns or {}) do
      local weight = math.max(0, math.min(1, tonumber(column.weight) or 0))
      rows[i] = ('<tr><td>%s</td><td>%.2g</td><td class="bar"><i style="width:%.1f%%"></i></td></tr>'):format(
        escape(column.name), weight, 100 * weight)
    end
    if #rows > 0 then
      parts[#parts + 1] = ("<section><h2>Columns that count: %s</h2><table class='columns'>%s</table>" ..
        "<p class='soft'>The diagonal of the metric M, relative to its largest entry.</p></section>"):format(
        escape(figures.label_of(run)), table.concat(rows, "\n"))
    end
  end
  return table.concat(parts, "\n")
end

local function settings_of(run)
  local lines = {}
  for key, value in pairs(run.settings) do
    if type(value) == "table" then value = table.concat(value, ", ") end
    if key ~= "type" and key ~= "versions" then lines[#lines + 1] = ("%s = %s"):format(key, tostring(value)) end
  end
  table.sort(lines)
  return lines
end

-- The settings that all runs share, then those in which they differ.
local function settings_section(runs)
  local count, common, parts = {}, {}, {}
  for _, run in ipairs(runs) do
    for _, line in ipairs(settings_of(run)) do count[line] = (count[line] or 0) + 1 end
  end
  for _, run in ipairs(runs) do
    local own = {}
    for _, line in ipairs(settings_of(run)) do
      table.insert(count[line] == #runs and common or own, line)
    end
    if #runs > 1 then
      parts[#parts + 1] = ("<tr><td>%s</td><td class='own'>%s</td></tr>"):format(escape(figures.label_of(run)),
        escape(table.concat(own, "   ")))
    end
  end
  local shared = {}
  for i = 1, #common / #runs do shared[i] = common[i] end
  return ("<h2>Settings</h2><pre>%s</pre><table class='settings'>%s</table>"):format(escape(table.concat(shared, "   ")),
    table.concat(parts, "\n"))
end

-- All that the runs have data for, in the order of the page.
local function all_figures(runs)
  local list = {}
  for _, from in ipairs{ figures, pictures } do
    for _, key in ipairs(from.all) do list[#list + 1] = from[key](runs, escape) or nil end
  end
  return list
end

local function page(_, runs, title, svg_of)
  local parts = {}
  for i, figure in ipairs(all_figures(runs)) do
    local svg = svg_of(figure):gsub("^.-(<svg)", "%1")
    parts[i] = ("<figure class='%s'><h2>%s</h2>%s<figcaption>%s</figcaption></figure>"):format(figure.key,
      escape(figure.title), svg, escape(figure.caption))
  end
  return ([[<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>%s</style></head><body>
<h1>%s</h1><p class="lead">%d run%s</p>
<section>%s</section>
<div class="figures">%s</div>
%s
<section>%s</section>
<section><h2>Versions</h2><pre>%s</pre></section>
</body></html>
]]):format(escape(title), style, escape(title), #runs, #runs == 1 and "" or "s", final_table(runs), table.concat(parts,
"\n"), columns_section(runs),     settings_section(runs), escape(runs[1].settings.versions or ""))
end

return setmetatable({ figures = all_figures }, { __call = page })
