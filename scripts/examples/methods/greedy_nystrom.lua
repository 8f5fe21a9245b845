-- A variant of a shipped method, for `--method`: Nyström that visits the block with the largest gradient next
-- (Gauss–Southwell) and adds momentum to each block's own step, Δ ← H⁻¹g + β Δ_last. Everything else is Nyström's, whose
-- setup it calls.
--
--     kbcd train … --method scripts/examples/methods/greedy_nystrom.lua --beta 0.2

local kbcd = require "kbcd"
local nystrom = kbcd.nystrom

local options = {
  "greedy Nyström: Nyström with greedy blocks and momentum",
  beta = { "not_negative", "momentum", default = 0.2 },
}
for name, entry in pairs(nystrom.declared) do if type(name) == "string" then options[name] = entry end end

return kbcd.algorithm("greedy_nystrom", options, function(X, Y, o, run)
  local method = nystrom.setup(X, Y, o, run)
  local V = run.replicated("V", kbcd.Matrix.zeros(o.p, run.columns))  -- the last change of each block
  local step = method.step

  function method.step(B, K_b, solve, P)
    return step(B, K_b, function(g)
      local last = V:take(B)
      local Delta = solve(g) + o.beta * last
      V:add_rows(B, Delta - last)
      return Delta
    end, P)
  end

  -- Each block once first, then the one whose gradient is largest.
  function method.choose(c)
    local best, size = 1, -1
    for i = 1, #c.blocks do
      if c.size[i] == math.huge then return i end
      local norm = c:gradient(i):norm()
      if norm > size then best, size = i, norm end
    end
    return best
  end
  return method
end)
