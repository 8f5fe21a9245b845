-- lambda_path: paths of λ that were not given, at whose edges the least error should not be.
--
--     lambda_path.choose(data, s)            of a run with leave-one-out errors: s.options.lambda becomes a path around the
--                                            best of all decades, and s.left_out its { errors, scores }
--     lambda_path.edge(list, best)           a text, if the best of a list is at an edge of it; else nil
--     lambda_path.beyond(list, best)         the next λ beyond that edge, or nil at a bound or within the list
--     lambda_path.further(list, errors, best)  a path from the best to some λ beyond that edge; nil where beyond is, or where
--                                            the error does not change at the edge
--     lambda_path.text(list, separator)      the numbers

local leave_one_out_errors = require "kbcd.command.leave_one_out_errors"
local scoring = require "kbcd.data.scoring"

local lambda_path = { least = 1e-12, most = 10 }

-- "smallest" or "largest", of the best of several.
local function edge_of(list, best)
  if #list < 2 then return nil end
  local smallest, largest = true, true
  for _, other in ipairs(list) do
    smallest, largest = smallest and list[best] <= other, largest and list[best] >= other
  end
  return smallest and "smallest" or largest and "largest" or nil
end

function lambda_path.beyond(list, best)
  local edge = edge_of(list, best)
  local next_one = edge and tonumber(("%.3g"):format(list[best] * (edge == "smallest" and 0.1 or 10)))
  if not edge or next_one < lambda_path.least or next_one > lambda_path.most then return nil end
  return next_one
end

local steps_beyond = 3

-- The largest first, as all paths are.
function lambda_path.further(list, errors, best)
  local next_one = lambda_path.beyond(list, best)
  if not next_one then return nil end
  local nearest, neighbour = math.huge, nil  -- the nearest λ within the path, and its error
  for l, lambda in ipairs(list) do
    local distance = math.abs(math.log(lambda / list[best]))
    if l ~= best and distance < nearest then nearest, neighbour = distance, errors[l] end
  end
  if errors[best] >= 0.999 * neighbour then return nil end
  local more, at = { list[best] }, { list[best] }
  while next_one and #more <= steps_beyond do
    more[#more + 1], at = next_one, { at[#at], next_one }
    next_one = lambda_path.beyond(at, 2)
  end
  table.sort(more, function(a, b) return a > b end)
  return more
end

function lambda_path.text(list, separator)
  local texts = {}
  for l, lambda in ipairs(list) do texts[l] = ("%g"):format(lambda) end
  return table.concat(texts, separator)
end

function lambda_path.edge(list, best)
  local edge = edge_of(list, best)
  return edge and ("lambda = %g is the %s that was tried; --lambda takes others"):format(list[best], edge) or nil
end

-- The place of the largest λ, of a list from large to small, whose error is the least to half a per cent.
local function largest_good(errors)
  local least = errors[scoring.best(errors)]
  for l, e in ipairs(errors) do if e <= 1.005 * least then return l end end
end

function lambda_path.choose(data, s)
  local wide, o = {}, s.options
  for e = 1, -12, -1 do wide[#wide + 1] = tonumber("1e" .. e) end
  local path = o.lambda
  o.lambda = wide
  local errors, _, scores = leave_one_out_errors(data, s)
  o.lambda = path
  if not errors then return end
  local best = largest_good(errors)
  local first, last = math.max(best - 1, 1), math.min(best + 1, #wide)
  o.lambda, s.left_out = {}, { errors = {}, scores = {} }
  for l = first, last do
    table.insert(o.lambda, wide[l])
    table.insert(s.left_out.errors, errors[l])
    table.insert(s.left_out.scores, scores[l])
  end
end

return lambda_path
