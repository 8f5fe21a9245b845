-- pictures: figures of the last line of a log (log_details.lua), each { key, title, caption, script, data } for
-- gnuplot or { key, title, caption, svg }, or nil if the runs lack the data for it: error against λ, training and test error
-- against epochs, calibration, residuals, confusion.

local figures = require "kbcd.reports.figures"

local pictures = {}

local function is_list(x) return type(x) == "table" and #x > 0 end

-- Whether details have a list of tables of this name.
local function has(details, name)
  local list = details and details[name]
  for _, entry in ipairs(is_list(list) and list or {}) do if type(entry) ~= "table" then return false end end
  return is_list(list)
end

-- The runs that have it.
local function with(runs, name)
  local list = {}
  for _, run in ipairs(runs) do if has(run.details, name) then list[#list + 1] = run end end
  return list
end

-- The one with the least error; those of details, or the first.
local function best_run(runs)
  local best, least
  for _, run in ipairs(runs) do
    local m = type(run.details.metrics) == "table" and run.details.metrics or {}
    local e = tonumber(m.rmse or m.error) or math.huge
    if not best or e < least then best, least = run, e end
  end
  return best
end

local function line(name, color, dash, title)
  return ("$%s with linespoints linewidth 2 pointsize 0.6 pointtype 7 dashtype %d linecolor rgb '%s' %s"):format(name, dash,
    color, title and ("title '%s'"):format(title) or "notitle")
end

-- The dashes of a run: 1, 2, … among those of its title.
local function dashes(runs)
  local count, of = {}, {}
  for _, run in ipairs(runs) do
    count[run.title] = (count[run.title] or 0) + 1
    of[run] = count[run.title]
  end
  return of
end

-- Error against λ: of held-out rows where there are any, or else of test rows.
function pictures.path(runs)
  local data, plots, dash, colors = {}, {}, dashes(runs), figures.colors_of(runs)
  for i, run in ipairs(runs) do
    local lambda = run.settings.lambda or run.settings.lambdas
    local block = figures.last_with(run, "held_out_error") or figures.last_with(run, "test_error")
    local errors = block and (block.held_out_error or block.test_error)
    if is_list(lambda) and is_list(errors) and #lambda > 1 and #lambda == #errors then
      local points = {}
      for l, value in ipairs(lambda) do points[l] = { value, figures.scaled(run, errors[l]) } end
      table.sort(points, function(a, b) return a[1] < b[1] end)
      for l, point in ipairs(points) do points[l] = ("%.6g %.6g"):format(point[1], point[2]) end
      data["path" .. i] = points
      plots[#plots + 1] = line("path" .. i, colors[figures.title_of(run)], dash[run], figures.label_of(run))
    end
  end
  return #plots > 0 and { key = "path", title = "Error against λ", data = data,
    caption = "The error of held-out rows at the end of the run (of test rows where none are held out), for each λ.",
    script = ("set logscale x\nset format x '10^{%%T}'\nset xlabel 'λ'\nset ylabel '%s'\nplot %s"):format(
      figures.error_axis(runs):gsub("^test ", ""), table.concat(plots, ", ")) } or nil
end

-- Training error (dashed) and test or held-out error against epochs.
function pictures.curves(runs)
  local data, plots, colors = {}, {}, figures.colors_of(runs)
  for i, run in ipairs(with(runs, "curve")) do
    local best, train, test = figures.best_of(run) or 1, {}, {}
    for _, point in ipairs(run.details.curve) do
      local function put(list, errors)
        local e = type(errors) == "table" and tonumber(errors[best])
        if e and tonumber(point.epoch) then list[#list + 1] = ("%d %.6g"):format(point.epoch, figures.scaled(run, e)) end
      end
      put(train, point.train_error)
      put(test, point.test_error or point.held_out_error)
    end
    local color = colors[figures.title_of(run)]
    if #train > 1 then
      data["train" .. i] = train
      plots[#plots + 1] = line("train" .. i, color, 2, #test <= 1 and figures.label_of(run) or nil)
      if #test > 1 then
        data["test" .. i] = test
        plots[#plots + 1] = line("test" .. i, color, 1, figures.label_of(run))
      end
    end
  end
  return #plots > 0 and { key = "curves", title = "Training and test error", data = data,
    caption = "At each epoch's end: of test or held-out rows (solid), and of the training rows (dashed).",
    script = ("set xlabel 'epoch'\nset ylabel '%s'\nplot %s"):format(figures.error_axis(runs):gsub("^test ", ""),
      table.concat(plots, ", ")) } or nil
end

function pictures.calibration(runs)
  local data, plots, colors = { even = { "0 0", "1 1" } }, {}, figures.colors_of(runs)
  local dash = dashes(runs)
  for i, run in ipairs(with(runs, "calibration")) do
    local points = {}
    for _, bin in ipairs(run.details.calibration) do
      if tonumber(bin.confidence) and tonumber(bin.accuracy) then
        points[#points + 1] = ("%.6g %.6g"):format(bin.confidence, bin.accuracy)
      end
    end
    data["bins" .. i] = points
    if #points > 0 then
      plots[#plots + 1] = line("bins" .. i, colors[figures.title_of(run)], dash[run], figures.label_of(run))
    end
  end
  return #plots > 0 and { key = "calibration", title = "Calibration", data = data,
    caption = "How often the predicted class is right, against its probability (the mean of each of 15 bins). On the grey " ..
      "line the two are the same.",
    script = ("set xrange [0:1]\nset yrange [0:1]\nset xlabel 'probability of the predicted class'\n" ..
      "set ylabel 'share that is right'\nplot $even with lines linecolor rgb '#999999' notitle, %s"):format(
      table.concat(plots, ", ")) } or nil
end

-- Target minus prediction against the prediction, of the run with the least error.
function pictures.residuals(runs)
  local run, points = best_run(with(runs, "residuals")), {}
  for _, pair in ipairs(run and run.details.residuals or {}) do
    local f, y = tonumber(pair[1]), tonumber(pair[2])
    if f and y then points[#points + 1] = ("%.6g %.6g"):format(f, y - f) end
  end
  return #points > 0 and { key = "residuals", title = "Residuals: " .. figures.label_of(run), data = { points = points },
    caption = ("Target minus prediction against the prediction, of %d %s rows%s."):format(#points,
      tostring(run.details.rows_of), #with(runs, "residuals") > 1 and ", by the run with the least error" or ""),
    script = "set xlabel 'prediction'\nset ylabel 'target - prediction'\nset xzeroaxis linecolor rgb '#999999'\n" ..
      "plot $points with points pointtype 7 pointsize 0.4 linecolor rgb '#4477aa' notitle" } or nil
end

-- One cell a pair of classes: darker, the larger its share of the class's rows.
local function confusion_svg(counts, names, escape)
  local k = #counts
  local label = 0
  for i = 1, k do label = math.max(label, math.min(12, #tostring(names[i] or i))) end
  local cell, left = math.max(14, math.min(56, 360 / k)), 12 + 7.5 * label
  local size, parts = left + k * cell + 4, {}
  local function add(text, ...) parts[#parts + 1] = text:format(...) end
  add('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">', size,
    4 + k * cell + 14 + 6 * label)
  for i = 1, k do
    local name, sum = escape(tostring(names[i] or i):sub(1, 12)), 0
    local at = 4 + (i - 0.5) * cell
    for j = 1, k do sum = sum + (tonumber(counts[i][j]) or 0) end
    add('<text x="%.1f" y="%.1f" text-anchor="end" dominant-baseline="central">%s</text>', left - 5, at, name)
    add('<text x="%.1f" y="%.1f" text-anchor="end" transform="rotate(-45 %.1f %.1f)">%s</text>', left + (i - 0.5) * cell + 4,
      12 + k * cell, left + (i - 0.5) * cell + 4, 12 + k * cell, name)
    for j = 1, k do
      local count = tonumber(counts[i][j]) or 0
      local share = sum > 0 and count / sum or 0
      local x = left + (j - 1) * cell
      add('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="%.3f" stroke="#888"/>', x,
        4 + (i - 1) * cell, cell, cell, i == j and "#4477aa" or "#cc6677", count > 0 and 0.08 + 0.92 * share ^ 0.7 or 0)
      if cell >= 20 and count > 0 then
        add('<text x="%.1f" y="%.1f" text-anchor="middle" dominant-baseline="central" font-size="%.0f"%s>%.6g</text>',
          x + cell / 2, at, math.min(12, cell / 2.6), share > 0.5 and ' class="on"' or "", count)
      end
    end
  end
  return table.concat(parts, "\n") .. "</svg>"
end

-- Of the run with the least error.
function pictures.confusion(runs, escape)
  local run = best_run(with(runs, "confusion"))
  local counts = run and run.details.confusion
  for _, row in ipairs(counts or {}) do if not is_list(row) or #row ~= #counts then return nil end end
  return counts and { key = "confusion", title = "Confusion: " .. figures.label_of(run),
    caption = ("Rows: the class, columns: the prediction, of the %s rows%s. The colour is the share of the class; blue is " ..
      "right, red is wrong."):format(tostring(run.details.rows_of), #with(runs, "confusion") > 1 and
      ", by the run with the least error" or ""),
    svg = confusion_svg(counts, is_list(run.details.names) and run.details.names or {}, escape) } or nil
end

pictures.all = { "curves", "path", "confusion", "residuals", "calibration" }

return pictures
