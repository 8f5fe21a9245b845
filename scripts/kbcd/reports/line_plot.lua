-- line_plot(path, axes, curves): a PNG of some curves by gnuplot, drawn by rank 0; path = nil draws nothing.

local kbcd = require "kbcd"
local gnuplot = require "kbcd.reports.gnuplot"
local runtime = require "kbcd.runtime"

local colors = { "#cc6677", "#228833", "#4477aa", "#aa7744", "#aa3377", "#66ccee" }

runtime.docs.line_plot = [[line_plot(path, axes, curves)
Draws curves to a PNG at path (nil or false: nothing). axes: lines for gnuplot, such as "set logscale x". A curve is a
table: x and y (lists of numbers), title (nil: not in the key), color (1, 2, …) and dash (1: a full line; 2, 3, …:
dashed).]]

return function(path, axes, curves)
  if not path or kbcd.rank() ~= 0 then return end
  local data, plots = {}, {}
  for i, curve in ipairs(curves) do
    local points, color = {}, colors[((curve.color or i) - 1) % #colors + 1]
    for j, x in ipairs(curve.x) do points[j] = ("%.6g %.6g"):format(x, curve.y[j]) end
    data["curve" .. i] = points
    plots[i] = ("$curve%d with lines linewidth 2 linecolor rgb '%s' dashtype %d %s"):format(i, color, curve.dash or 1,
      curve.title and ("title '%s'"):format(curve.title:gsub("'", "''")) or "notitle")
  end
  gnuplot("set key width 0\n" .. axes .. "\nplot " .. table.concat(plots, ", "), data, "png", path)
end
