-- gnuplot(script, data, format, path): a figure by gnuplot. `data` are named blocks of lines that the script plots as
-- $name; format is "svg" or "png". Returns the complete figure as a text; with `path`, writes it there.

local kbcd = require "kbcd"

local terminals = {
  svg = 'set terminal svg size 520,440 dynamic enhanced font "sans-serif,15"\n',
  png = 'set terminal pngcairo size 1440,960 enhanced font "sans-serif,26" linewidth 2\n',
}

local style = [[
set key outside below horizontal samplen 2 width -3
set xlabel offset 0,0.7
set border 3 linecolor rgb "#888888"
set tics nomirror out
set grid ytics linetype 1 linewidth 0.5 linecolor rgb "#999999"
]]

-- The end of a complete figure; gnuplot does not report a full disk.
local endings = { svg = "</svg>%s*$", png = "IEND....$" }

local function contents(name)
  local file = io.open(name, "rb")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

return function(script, data, format, path)
  local name, out = os.tmpname(), os.tmpname()
  local parts = { terminals[format], ("set output '%s'\n"):format(out:gsub("'", "''")), style }
  for block, lines in pairs(data) do
    parts[#parts + 1] = ("$%s << EOD\n%s\nEOD\n"):format(block, table.concat(lines, "\n"))
  end
  kbcd.output_file.write_text(name, table.concat(parts) .. script .. "\n")
  local status = os.execute(("gnuplot '%s' 2> '%s.err'"):format(name, name))
  local message, figure = contents(name .. ".err"), contents(out)
  for _, file in ipairs{ name, name .. ".err", out } do os.remove(file) end
  if status ~= 0 and status ~= true then
    error("gnuplot failed (on Debian: apt-get install gnuplot-nox): " .. message, 0)
  end
  if not figure:find(endings[format]) then
    error("gnuplot left half a figure in the folder of temporary files; is its disk full?", 0)
  end
  if not path then return figure end
  kbcd.output_file.write_text(path, figure)
  return path
end
