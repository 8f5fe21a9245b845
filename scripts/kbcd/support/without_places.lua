-- without_places(message): an error message without the `file.lua:12:` that it begins with, for who does not write Lua.

return function(message)
  local text, places = tostring(message), 1
  while places > 0 do text, places = text:gsub("^%S+%.lua:%d+: ", "") end
  return text
end
