-- random.lua: numbers that depend on a seed and on how many were drawn alone, the same on every rank (xorshift of 32 bits).
-- Keeps its own copies of what it needs: the fuzzer replaces globals.

local bxor, lshift, rshift, tobit = bit.bxor, bit.lshift, bit.rshift, bit.tobit

local random = {}
local state = 1

-- Starts the sequence of call number `call` of a run with this seed.
function random.start(seed, call)
  state = tobit(seed * 747796405 + call * 277803737 + 12345)
  if state == 0 then state = 1 end
  for _ = 1, 4 do random.whole(2) end
end

-- A whole number from 1 to n.
function random.whole(n)
  state = bxor(state, lshift(state, 13))
  state = bxor(state, rshift(state, 17))
  state = bxor(state, lshift(state, 5))
  return (state % 2147483648) % n + 1
end

function random.one_of(list) return list[random.whole(#list)] end

-- True in so many of a hundred cases.
function random.percent(chance) return random.whole(100) <= chance end

return random
