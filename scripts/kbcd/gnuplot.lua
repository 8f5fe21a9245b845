-- gnuplot(script, data, format, path): a figure by gnuplot. `data` are named blocks of lines that the script plots as $name;
-- format is "svg" or "png". The figure goes to `path` (through a temporary name), or comes back as a text.

local terminals = {
  svg = 'set terminal svg size 680,460 dynamic enhanced font "sans-serif,16"\n',
  png = 'set terminal pngcairo size 1440,880 enhanced font "sans-serif,26" linewidth 2\n',
}

local style = [[
set key outside below horizontal samplen 2 width -3
set border 3 linecolor rgb "#888888"
set tics nomirror out
set grid ytics linetype 1 linewidth 0.5 linecolor rgb "#999999"
]]

return function(script, data, format, path)
  local name, out = os.tmpname(), path and path .. ".part" or os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write(terminals[format], ("set output '%s'\n"):format(out:gsub("'", "''")), style)
  for block, lines in pairs(data) do file:write("$", block, " << EOD\n", table.concat(lines, "\n"), "\nEOD\n") end
  file:write(script, "\n")
  file:close()
  local status = os.execute(("gnuplot '%s' 2> '%s.err'"):format(name, name))
  local errors = io.open(name .. ".err")
  local message = errors and errors:read("*a") or ""
  if errors then errors:close() end
  os.remove(name)
  os.remove(name .. ".err")
  if status ~= 0 and status ~= true then
    os.remove(out)
    error("gnuplot failed (on Debian: apt-get install gnuplot-nox): " .. message, 0)
  end
  if path then
    assert(os.rename(out, path))
    return path
  end
  local figure = assert(io.open(out))
  local text = figure:read("*a")
  figure:close()
  os.remove(out)
  return text
end
