-- The paper's four figures from the logs of runs (read_log.lua), and two of residuals: each { key, title, caption, script,
-- data } for gnuplot, or nil if the runs lack the data for it. A run with a λ path is drawn with its best λ.

local run_names = require "kbcd.reports.run_names"

local figures = {}

-- A colour and a mark for each method, in the order of the runs; readable on white and on black.
local palette = { "#4477aa", "#cc6677", "#228833", "#ee7733", "#aa3377", "#66ccee", "#ccbb44", "#777777", "#44aa99",
  "#aa7744", "#8877dd", "#88bb44" }
local marks = { 7, 5, 9, 13, 11, 6, 4, 8, 12, 10 }

-- Quoted for gnuplot: the text must not end the quotes or begin a command, and its braces are not markup.
local function quotable(text)
  return (text:gsub("[%c'\"`\\]", "_"):gsub("[{}]", { ["{"] = "(", ["}"] = ")" }):gsub("[_^@&~]", " "))
end

-- As run_names gives them: title is without p.
local function named(run)
  if not run.label then run_names{ run } end
  return run
end
local function title_of(run) return quotable(named(run).title) end
local function label_of(run) return quotable(named(run).label) end
figures.title_of = title_of

-- The colours of the methods by title, and the numbers of their marks.
local function colors_of(runs)
  local colors, types, count = {}, {}, 0
  for _, run in ipairs(runs) do
    local title = title_of(run)
    if not colors[title] then
      colors[title], types[title], count = palette[count % #palette + 1], marks[count % #marks + 1], count + 1
    end
  end
  return colors, types
end
figures.label_of, figures.colors_of = label_of, colors_of

-- The last block of which this is known, or nil.
local function last_with(run, what)
  for i = #run.blocks, 1, -1 do if run.blocks[i][what] then return run.blocks[i] end end
end
figures.last_with = last_with

-- The λ that was chosen at the end: by the method itself, by held-out rows where there were any, or else that with the
-- least test error.
local function best_of(run)
  local block, best = last_with(run, "test_error"), 1
  if not block then return nil end
  if run.result and run.result.best then return run.result.best end
  local own, held = last_with(run, "own_error"), last_with(run, "held_out_error")
  local last = own and own.own_error or held and held.held_out_error or block.test_error
  for l, e in ipairs(last) do if e < last[best] then best = l end end
  return best
end
figures.best_of = best_of

local function error_axis(runs)
  local s = runs[1].settings
  local loss = (s.loss or "squared") ~= "squared" and ("mean %s loss"):format(s.loss)
  return s.task == "regress" and (loss or "test RMSE") or "test error, %"
end

local function scaled(run, e) return run.settings.task == "regress" and e or 100 * e end

figures.error_axis, figures.scaled = error_axis, scaled

local function test_error(run, block, best)
  return block.test_error and scaled(run, block.test_error[best]) or nil
end

-- About a dozen of them.
local function thinned(points)
  local list, every = {}, math.ceil(#points / 12)
  for i = #points, 1, -every do table.insert(list, 1, points[i]) end
  return list
end

-- One curve a run: its points, with a mark at each epoch's end, at most a dozen. Runs of one method differ by their dashes.
-- y_of(run, block, best): nil where there is no point.
local function curves(runs, x_of, y_of, only_epochs)
  local data, plots, dashes, colors, types = {}, {}, {}, colors_of(runs)
  for i, run in ipairs(runs) do
    local best, any = best_of(run) or 1, false
    for _, block in ipairs(run.blocks) do any = any or y_of(run, block, best) ~= nil end
    if any then
      local method = title_of(run)
      local line, mark = {}, {}
      dashes[method] = (dashes[method] or 0) + 1
      for _, block in ipairs(run.blocks) do
        local y = y_of(run, block, best)
        local point = y and ("%.6g %.6g"):format(x_of(block), y)
        if point and (block.epoch_end or not only_epochs) then line[#line + 1] = point end
        if point and block.epoch_end then mark[#mark + 1] = point end
      end
      data["line" .. i], data["mark" .. i] = line, thinned(#mark > 0 and mark or line)
      local color = colors[method]
      plots[#plots + 1] = ("$line%d with lines linewidth 2 dashtype %d linecolor rgb '%s' notitle"):format(i,
        dashes[method], color)
      plots[#plots + 1] = ("$mark%d with points pointtype %d pointsize 0.7 linecolor rgb '%s' notitle"):format(i,
        types[method], color)
      plots[#plots + 1] = ("NaN with linespoints linewidth 2 dashtype %d pointtype %d linecolor rgb '%s' title '%s'")
        :format(dashes[method], types[method], color, label_of(run))
    end
  end
  local many = #plots > 3 * 6 and "set key maxcols 3 width 0 samplen 1.5 spacing 0.9\n" or ""
  return #plots > 0 and table.concat(plots, ", "), data, "set autoscale x noextend\n" .. many
end

-- Errors beyond twice the least one, such as those of the first iterations, are cut off: the others are what one looks for.
local function error_range(data)
  local least, largest = math.huge, 0
  for _, lines in pairs(data) do
    for _, line in ipairs(lines) do
      local y = tonumber(line:match("%S+$"))
      least, largest = math.min(least, y), math.max(largest, y)
    end
  end
  return largest > 2 * least and least > 0 and ("set yrange [*:%.6g]\n"):format(2 * least) or ""
end

local time_axis = "set logscale x\nset xlabel 'seconds'\nset xtics add (0.02, 0.05, 0.2, 0.5, 2, 5, 20, 50, 200, 500, 2000)\n"

-- Figure 1 of the paper.
function figures.time(runs)
  local plot, data, style = curves(runs, function(block) return block.seconds end, test_error)
  return plot and {
    key = "time", title = "Error against time",
    caption = "Test error after every block, up to twice the least; a mark at each epoch's end. Time in the algorithm " ..
      "alone, its preparations included.", data = data,
    script = ("%s%s%sset ylabel '%s'\nplot %s"):format(style, error_range(data), time_axis, error_axis(runs), plot),
  }
end

-- The residual against time, of the runs whose residual is that (settings.residual_of); nil without any.
local function residual_figure(runs, of, figure)
  local function y_of(run, block, best)
    local known = run.settings.residual_of == of and block.residual and block.residual[best]
    return known and known > 0 and known or nil
  end
  local plot, data, style = curves(runs, function(block) return block.seconds end, y_of)
  figure.data = data
  figure.script = ("%s%sset ylabel '%s'\n%splot %s"):format(style, time_axis, figure.axis,
    of == "equations" and "set logscale y\nset format y '10^{%T}'\n" or "", plot or "")
  return plot and figure
end

function figures.residual(runs)
  return residual_figure(runs, "equations", { key = "residual", title = "Residual against time",
    axis = "|Y - (K + nλI) α| / |Y|",
    caption = "What is left of the equations of the exact kernel machine; where a method does not keep it, estimated from " ..
      "some rows at each epoch's end." })
end

function figures.fit(runs)
  return residual_figure(runs, "targets", { key = "fit", title = "Training misfit against time", axis = "|Y - f(X)| / |Y|",
    caption = "What methods of centres or features leave of the targets: it need not go to 0." })
end

-- Figure 2: the last error of each run against its p; that of a run without p as a level.
function figures.features(runs)
  local points, order, levels, data, plots, colors, types = {}, {}, {}, {}, {}, colors_of(runs)
  for _, run in ipairs(runs) do
    local best, title, p = best_of(run), title_of(run), run.settings.p
    local e = best and test_error(run, last_with(run, "test_error"), best)
    if e and type(p) == "number" then
      if not points[title] then points[title], order[#order + 1] = {}, title end
      for _, block in ipairs(run.blocks) do  -- a run that adds centres has a point for each p
        if block.p and block.test_error then table.insert(points[title], { block.p, test_error(run, block, best) }) end
      end
      if not run.blocks[1].p then table.insert(points[title], { p, e }) end
    elseif e then
      levels[#levels + 1] = { title, e }
    end
  end
  local several = false
  for i, title in ipairs(order) do
    several = several or #points[title] > 1
    table.sort(points[title], function(a, b) return a[1] < b[1] end)
    local name = "points" .. i
    data[name] = {}
    for j, point in ipairs(points[title]) do data[name][j] = ("%d %.6g"):format(point[1], point[2]) end
    plots[#plots + 1] = ("$%s with linespoints linewidth 2 pointtype %d linecolor rgb '%s' title '%s'"):format(name,
      types[title], colors[title], title)
  end
  if not several then return nil end
  for _, level in ipairs(levels) do
    plots[#plots + 1] = ("%.6g linewidth 2 linecolor rgb '%s' title '%s'"):format(level[2], colors[level[1]], level[1])
  end
  return {
    key = "features", title = "Error against the number of features",
    caption = "The last test error of runs with different p.", data = data,
    script = ("set logscale x 2\nset xlabel 'p'\nset ylabel '%s'\nplot %s"):format(error_axis(runs),
      table.concat(plots, ", ")),
  }
end

-- What a primitive is part of, from the bottom of a bar to its top.
local parts = {
  { "generate", "KernelBlock", "RandomFeaturesBlock" }, { "gram", "block:gram" },
  { "products", "block:t()*A", "block*D" }, { "solve", "chol", "solve" },
  { "communication", "allreduce", "gather_rows", "gather", "bcast", "barrier", "iallreduce:wait" },
}

-- Seconds of each part in the mean block. The first product of a block contains its generation.
local function breakdown(run)
  local sums = {}
  for _, block in ipairs(run.blocks) do
    for name, seconds in pairs(block.primitives or {}) do sums[name] = (sums[name] or 0) + seconds / #run.blocks end
  end
  if next(sums) == nil then return nil end
  local row = {}
  for i, part in ipairs(parts) do
    row[i] = 0
    for j = 2, #part do row[i] = row[i] + (sums[part[j]] or 0) end
  end
  local generated = row[1]
  for _, i in ipairs{ 3, 2 } do  -- the first product of a block generates it
    local inside = math.min(generated, row[i])
    row[i], generated = row[i] - inside, generated - inside
  end
  return row
end

-- Figure 3: a bar a method, of its run with the most features.
function figures.breakdown(runs)
  local rows, plots, largest = {}, {}, {}
  for _, run in ipairs(runs) do
    local method = title_of(run)
    if not largest[method] or (run.settings.p or 0) > (largest[method].settings.p or 0) then largest[method] = run end
  end
  local longest = 0
  for _, run in pairs(largest) do longest = math.max(longest, #label_of(run)) end
  local slanted = #runs > 5 or longest > 26
  for _, run in ipairs(runs) do
    local row = largest[title_of(run)] == run and breakdown(run)
    if row then
      for i, value in ipairs(row) do row[i] = ("%.6g"):format(value) end
      rows[#rows + 1] = ('"%s" %s'):format(label_of(run):gsub(", ", slanted and " " or "\\n"), table.concat(row, " "))
    end
  end
  if #rows == 0 then return nil end
  local shades = { "#4477aa", "#66ccee", "#228833", "#ccbb44", "#aa3377" }
  for i, part in ipairs(parts) do
    plots[i] = ("$rows using %d%s title '%s' linecolor rgb '%s'"):format(i + 1, i == 1 and ":xtic(1)" or "", part[1],
      shades[i])
  end
  return {
    key = "breakdown", title = "Time of one block",
    caption = "Seconds of the mean block by what they went into.", data = { rows = rows },
    script = "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.6\nset style fill solid\n" ..
      "set ylabel 'seconds a block'\nset yrange [0:*]\n" ..
      "set key width 0 maxcols 5\n" ..
      (slanted and "set xtics rotate by -40\nset bmargin 12\nset rmargin 14\nplot " or "set bmargin 7\nplot ") ..
      table.concat(plots, ", "),
  }
end

-- Figure 4.
function figures.epochs(runs)
  local longest = 0
  for _, run in ipairs(runs) do longest = math.max(longest, run.blocks[#run.blocks].epoch) end
  local plot, data, style = curves(runs, function(block) return block.epoch end, test_error, true)
  return longest > 1 and plot and {
    key = "epochs", title = "Convergence over epochs", caption = "Test error at each epoch's end.", data = data,
    script = ("%s%sset xlabel 'epoch'\nset xtics %d\nset xrange [0.8:%g]\nset ylabel '%s'\nplot %s"):format(style,
      error_range(data), math.ceil(longest / 10), longest + 0.2, error_axis(runs), plot),
  }
end

figures.all = { "time", "residual", "fit", "features", "breakdown", "epochs" }

return figures
