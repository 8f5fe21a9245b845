-- pad(text, width): the text padded with blanks to `width` letters (not bytes: UTF-8); on the left for a width below 0.

local function length(text) return select(2, text:gsub("[^\128-\191]", "")) end

return setmetatable({ length = length }, { __call = function(_, text, width)
  local blanks = (" "):rep(math.abs(width) - length(text))
  return width < 0 and blanks .. text or text .. blanks
end })
