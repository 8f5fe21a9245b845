-- visits(o, model, epoch, order): the blocks of one epoch in the order of their steps.
--
-- The model's rows, centres or features are partitioned at random into blocks of o.b, once (o.partition = "fixed") or anew
-- each epoch ("fresh"), or in order for a feature map that computes neighbours together, and the blocks are visited in a
-- random order: of each epoch, or one for all (order = "fixed").
-- "regrouped": a block is a random group of the tiles of model.triangle. The first epochs have partitions of their own, the
-- first one with the tiles in the order in which the triangle is computed; later epochs repeat these, whose factors are
-- kept, with the blocks in another order.
--
-- A block is a table: I (the Index), number (identifies it within its partition), epoch, done (its place in the
-- epoch), place (that in the first epoch of its partition), later() (all that is visited after it in this epoch, an Index)
-- and next (the block after it, or nil); of tiles, also tiles (the Index of their numbers).

local kbcd = require "kbcd"
local streams = require "kbcd.support.streams"
local Index = kbcd.Index

-- The blocks of the partition, as a list of Index.
local function partition(o, count, epoch)
  if kbcd.type(o.map) == "FeatureMap" and o.map.in_order then return Index.range(1, count):partition(o.b) end
  local stream = streams.partition(o.partition == "fresh" and epoch or nil)
  return Index.permutation(count, { seed = o.seed, stream = stream }):partition(o.b)
end

local groupings = 4  -- partitions into groups of tiles; more of them converge no faster

local function regrouped(o, triangle, epoch)
  local which, tiles, visits = (epoch - 1) % groupings + 1, Index.range(1, triangle.tiles), {}
  if which > 1 then tiles = Index.permutation(triangle.tiles, { seed = o.seed, stream = streams.order(which) }) end
  local groups = tiles:partition(triangle.group)
  local order = epoch > groupings and Index.permutation(#groups, { seed = o.seed, stream = streams.order(epoch) })
  for done = 1, #groups do
    local place, parts = order and order[done] or done, {}
    for i = 1, #groups[place] do parts[i] = triangle:tile(groups[place][i]) end
    visits[done] = { I = Index.concat(parts), tiles = groups[place], number = which .. "/" .. place, epoch = epoch,
      done = done, place = place }
    if done > 1 then visits[done - 1].next = visits[done] end
  end
  return visits
end

local function in_order(_, o, model, epoch, order)
  if o.partition == "regrouped" then return regrouped(o, model.triangle, epoch) end
  local count = model.count
  local fresh, blocks = o.partition == "fresh", partition(o, count, epoch)
  local function permuted(e) return Index.permutation(#blocks, { seed = o.seed, stream = streams.order(e) }) end
  local now = permuted(order ~= "fixed" and epoch or nil)
  local first = fresh and now or permuted(order ~= "fixed" and 1 or nil)
  local parts, visits, places, before = {}, {}, {}, 0
  for place = 1, #blocks do places[first[place]] = place end
  for done = 1, #blocks do parts[done] = blocks[now[done]] end
  local all = Index.concat(parts)
  for done, I in ipairs(parts) do
    before = before + #I
    local upto = before
    visits[done] = {
      I = I, number = fresh and epoch .. "/" .. done or now[done], epoch = epoch, done = done, place = places[now[done]],
      later = function() return Index.range(1, count):without(all:slice(1, upto)) end,
    }
  end
  for done = 1, #visits - 1 do visits[done].next = visits[done + 1] end
  return visits
end

return setmetatable({ partition = partition, groupings = groupings }, { __call = in_order })
