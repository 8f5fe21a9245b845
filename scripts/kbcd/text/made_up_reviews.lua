-- made_up_reviews(n, seed): writes a file of n made-up reviews, lines of stars<TAB>text, for examples and tests without a
-- download. The stars decide how often words of praise and of blame occur, among neutral words.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"

local praise = { "great", "lovely", "perfect", "soft", "flattering", "love it", "fits well", "so comfortable" }
local blame = { "poor", "itchy", "returned it", "too tight", "not worth it", "faded", "cheap", "did not fit" }
local filler = { "the dress", "this shirt", "i ordered", "my size", "the color", "was", "is", "and", "on me", "in summer" }

runtime.docs.made_up_reviews = [[made_up_reviews(n [, seed])
Writes n made-up reviews, lines of stars<TAB>text, to a temporary file and returns its name (for text.read with
format = "tsv"). All ranks call it; the caller removes the file.]]

return function(n, seed)
  local path = kbcd.bcast(kbcd.rank() == 0 and os.tmpname() or "")
  if kbcd.rank() == 0 then
    local file = assert(io.open(path, "w"))
    for i = 1, n do
      local draw, words, at = kbcd.Matrix.rand(1, 80, { seed = seed or 1, first_row = i }), {}, 0
      local function random(count)
        at = at + 1
        return math.ceil(count * draw(1, at))
      end
      local stars = random(5)
      for j = 1, 8 + random(20) do
        local list = random(3) > 1 and filler or random(4) < stars and praise or blame
        if at > 76 then break end
        words[j] = list[random(#list)]
      end
      file:write(stars, "\t", table.concat(words, " "), ".\n")
    end
    file:close()
  end
  kbcd.barrier()
  return path
end
