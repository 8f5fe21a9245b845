-- The paper's four figures from the logs of runs (read_log.lua): each { key, title, caption, script, data } for gnuplot, or
-- nil if the runs lack the data for it. A run with a λ path is drawn with its best λ.

local figures = {}

-- A colour for each method, in the order of the runs.
local palette = { "#4477aa", "#cc6677", "#228833", "#aa7744", "#aa3377", "#66ccee", "#ccbb44", "#777777" }

-- Quoted for gnuplot: the text must not end the quotes or begin a command.
local function quotable(text) return (text:gsub("[%c'\"`\\]", "_")) end

-- A method's title; of a log without one, its name.
local function title_of(run)
  local title = run.settings.title or run.settings.method
  return quotable(type(title) == "string" and title or run.name)
end

local function label_of(run)
  local p = run.settings.p
  return title_of(run) .. (type(p) == "number" and (", p = %d"):format(p) or "")
end

local function colors_of(runs)
  local colors, count = {}, 0
  for _, run in ipairs(runs) do
    local title = title_of(run)
    if not colors[title] then
      colors[title], count = palette[count % #palette + 1], count + 1
    end
  end
  return colors
end
figures.label_of = label_of

-- The λ with the least error at the end; by the method's own error, where it has one.
local function best_of(run)
  local block, best = run.blocks[#run.blocks], 1
  if not block.test_error then return nil end
  local last = block.own_error or block.test_error
  for l, e in ipairs(last) do if e < last[best] then best = l end end
  return best
end
figures.best_of = best_of

local function error_axis(runs)
  return runs[1].settings.task == "regress" and "test RMSE" or "test error, %"
end

local function scaled(run, e) return run.settings.task == "regress" and e or 100 * e end

-- One curve a run: its points, with a mark at each epoch's end. Runs of one method differ by their dashes.
local function curves(runs, x_of, only_epochs)
  local data, plots, dashes, colors = {}, {}, {}, colors_of(runs)
  for i, run in ipairs(runs) do
    local best = best_of(run)
    if best then
      local method = title_of(run)
      local line, mark = {}, {}
      dashes[method] = (dashes[method] or 0) + 1
      for _, block in ipairs(run.blocks) do
        local point = block.test_error and ("%.6g %.6g"):format(x_of(block), scaled(run, block.test_error[best]))
        if point and (block.epoch_end or not only_epochs) then line[#line + 1] = point end
        if point and block.epoch_end then mark[#mark + 1] = point end
      end
      data["line" .. i], data["mark" .. i] = line, #mark > 0 and mark or line
      local color = colors[method]
      plots[#plots + 1] = ("$line%d with lines linewidth 2 dashtype %d linecolor rgb '%s' title '%s'"):format(
        i, dashes[method], color, label_of(run))
      plots[#plots + 1] = ("$mark%d with points pointtype 7 pointsize 0.7 linecolor rgb '%s' notitle"):format(i, color)
    end
  end
  return #plots > 0 and table.concat(plots, ", "), data
end

-- Figure 1 of the paper.
function figures.time(runs)
  local plot, data = curves(runs, function(block) return block.seconds end)
  return plot and {
    key = "time", title = "Error against time",
    caption = "Test error after every block; a mark at each epoch's end. Time in the algorithm alone.", data = data,
    script = ("set logscale x\nset xlabel 'seconds'\nset ylabel '%s'\nplot %s"):format(error_axis(runs), plot),
  }
end

-- Figure 2: the last error of each run against its p; that of a run without p as a level.
function figures.features(runs)
  local points, order, levels, data, plots, colors = {}, {}, {}, {}, {}, colors_of(runs)
  for _, run in ipairs(runs) do
    local best, title, p = best_of(run), title_of(run), run.settings.p
    local e = best and scaled(run, run.blocks[#run.blocks].test_error[best])
    if e and type(p) == "number" then
      if not points[title] then points[title], order[#order + 1] = {}, title end
      table.insert(points[title], { p, e })
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
    plots[#plots + 1] = ("$%s with linespoints linewidth 2 pointtype 7 linecolor rgb '%s' title '%s'"):format(name,
      colors[title], title)
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
  for _, run in ipairs(runs) do
    local row = largest[title_of(run)] == run and breakdown(run)
    if row then
      for i, value in ipairs(row) do row[i] = ("%.6g"):format(value) end
      rows[#rows + 1] = ('"%s" %s'):format(label_of(run):gsub(", ", "\\n"), table.concat(row, " "))
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
      "set ylabel 'seconds a block'\nset yrange [0:*]\nset bmargin 7\nplot " .. table.concat(plots, ", "),
  }
end

-- Figure 4.
function figures.epochs(runs)
  local longest = 0
  for _, run in ipairs(runs) do longest = math.max(longest, run.blocks[#run.blocks].epoch) end
  local plot, data = curves(runs, function(block) return block.epoch end, true)
  return longest > 1 and plot and {
    key = "epochs", title = "Convergence over epochs", caption = "Test error at each epoch's end.", data = data,
    script = ("set xlabel 'epoch'\nset xtics %d\nset xrange [0.8:%g]\nset ylabel '%s'\nplot %s"):format(
      math.ceil(longest / 10), longest + 0.2, error_axis(runs), plot),
  }
end

figures.all = { "time", "features", "breakdown", "epochs" }

return figures
