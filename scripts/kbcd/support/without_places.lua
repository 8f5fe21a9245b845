-- without_places(message): an error message without its first `file.lua:12:`, for users who do not write Lua.

return function(message)
  local text, places = tostring(message), 1
  while places > 0 do text, places = text:gsub("^%S+%.lua:%d+: ", "") end
  return text
end
