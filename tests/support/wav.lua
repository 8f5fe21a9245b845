-- wav(samples, rate): the bytes of a sound file of one channel, 16 bits; samples: a list of whole numbers.

local function little(value, bytes)
  local text = {}
  for i = 1, bytes do
    text[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(text)
end

return function(samples, rate)
  local data = {}
  for i, x in ipairs(samples) do data[i] = little(x % 65536, 2) end
  return "RIFF" .. little(36 + 2 * #samples, 4) .. "WAVEfmt " .. little(16, 4) .. little(1, 2) .. little(1, 2)
    .. little(rate, 4) .. little(2 * rate, 4) .. little(2, 2) .. little(16, 2)
    .. "data" .. little(2 * #samples, 4) .. table.concat(data)
end
