-- chosen_visits(run, method, systems): the blocks of an epoch, chosen one by one by the option `choose`.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local new_visits = require "kbcd.descent.visits"
local Matrix = kbcd.Matrix

runtime.docs.choose = [[choose = function(c) … end
An option of every algorithm that visits blocks: which block is next. c.blocks is the list of blocks (an Index each) of the
partition, c.epoch and c.step count from 1, c.steps is the number of steps of an epoch, c.visited[i] is true if block i was
visited in this epoch, c.size[i] is the norm of the gradient of block i before its last step (infinite before the
first), and c:gradient(i) computes the gradient of block i now, a Matrix on every rank. It returns the number of a block,
or an Index of rows, centres or features of its own, not empty; an epoch has c.steps steps all the same. All ranks must
choose the same; for runs that resume, by these values alone.]]

return function(run, method, systems)
  local o, model = run.o, run.model
  local count = math.ceil(model.count / o.b)
  local order = run.own("replicated", "order", Matrix.zeros(1, count))
  local size = run.own("replicated", "size", Matrix.full(1, count, 1e300))
  local visits, blocks, epoch, c = nil, {}, 0, {}

  -- The block of number i as the step `done` visits it.
  local function visit(i, done)
    local block = { I = blocks[i], number = o.partition == "fresh" and epoch .. "/" .. i or i, epoch = epoch, done = done,
      place = i }
    if method.later then
      block.number = epoch .. "/" .. i
      function block.later()
        local seen = { blocks[i] }
        for s = 1, done - 1 do seen[#seen + 1] = blocks[order(1, s)] end
        return kbcd.Index.range(1, model.count):without(kbcd.Index.concat(seen))
      end
    end
    return block
  end

  function c.gradient(_, i)
    if not method.gradient then
      error(("choose: %s declares no gradient; use c.size"):format(run.owner), 2)
    end
    return method.gradient(blocks[i], systems.product(visit(i, 0)))
  end

  local chosen = {}

  function chosen.begin(e)
    epoch, blocks = e, new_visits.partition(o, model.count, e)
    visits = {}
    for i = 1, count do visits[i] = visit(i, i) end
    return visits
  end

  function chosen.next(done)
    c.blocks, c.epoch, c.step, c.steps, c.visited, c.size = blocks, epoch, done, count, {}, {}
    for i = 1, count do c.size[i] = size(1, i) < 1e300 and size(1, i) or math.huge end
    for s = 1, done - 1 do c.visited[order(1, s)] = true end
    local choice = o.choose(c)
    if kbcd.type(choice) == "Index" and #choice == 0 then
      error(("%s: choose must return the number of a block or an Index of at least one, got an empty Index"):format(
        run.owner), 0)
    end
    if kbcd.type(choice) == "Index" and not method.later then
      order:set(1, done, 0)
      return { I = choice, number = ("%d/%d own"):format(epoch, done), epoch = epoch, done = done, place = 1 }
    end
    if type(choice) ~= "number" or choice % 1 ~= 0 or choice < 1 or choice > count then
      error(("%s: choose must return the number of a block, 1..%d%s, got %s"):format(run.owner, count,
        method.later and "" or ", or an Index", tostring(choice)), 0)
    end
    if method.later and c.visited[choice] then
      error(("%s: choose: this algorithm visits each block once an epoch, and block %d was visited"):format(run.owner,
        choice), 0)
    end
    order:set(1, done, choice)
    return visit(choice, done)
  end

  -- After the step of a block whose gradient had this norm.
  function chosen.record(done, norm)
    if order(1, done) > 0 then size:set(1, order(1, done), norm) end
  end

  return chosen
end
