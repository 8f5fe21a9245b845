-- cuts.NAME: ways to cut a text into grams, by name, for the pipeline of grams. Each has `words`, how text.read reads the
-- words; raw = true where cut gets the text as it is in the file; and cut(text, count), which calls count(gram).

local cuts = {}

-- Words as they are written (Go is a language).
cuts.written = { words = {}, raw = true, cut = function(text, count)
  for word in text:gmatch("%S+") do count(word) end
end }

-- Stemmed English words and marks, and pairs of these that follow each other.
cuts.english_pairs = { words = { stem = "english", marks = true }, cut = function(text, count)
  local last
  for word in text:gmatch("%S+") do
    count(word)
    if last then count(last .. " " .. word) end
    last = word
  end
end }

-- n-grams of 2 to 5 letters (bytes) of each word, with blanks around it.
cuts.letters = { words = {}, cut = function(text, count)
  for word in text:gmatch("%S+") do
    local padded = " " .. word .. " "
    for size = 2, 5 do
      for i = 1, #padded - size + 1 do count(padded:sub(i, i + size - 1)) end
    end
  end
end }

return cuts
