-- long
-- Every example in scripts/examples runs to its end, on any number of ranks, and what it says of itself is true.

local kbcd = require "kbcd"
local spec = require "spec"
local example = require "example"

local folder = os.getenv("KBCD_SOURCE") .. "/scripts/examples/"

local function example_names()
  local pipe = assert(io.popen("ls '" .. folder .. "'"))
  local list = pipe:read("*a")
  pipe:close()
  return list
end

-- Arguments of those whose own sizes take long.
local arguments = {
  cifar = { "--rows", "400", "--filters", "16", "--pool", "3", "--p", "200", "--mirror" },
}

-- Tasks on real data have specs of their own, or tests below.
local elsewhere = { speech = true, reviews = true, packages = true }

local function numbers(line)
  local list = {}
  for text in line:gmatch("%d[%d.e+-]*") do list[#list + 1] = tonumber(text) end
  return list
end

-- What must hold of the lines of each; an example that is not here must only run.
local checks = {}

function checks.custom_kernel(lines)  -- both kernels see through the noise
  spec.equal(#lines, 2)
  for _, line in ipairs(lines) do
    local rmse, noise = line:match("RMSE ([%d.]+) %(the noise is ([%d.]+)%)")
    assert(tonumber(rmse) < 0.5 * tonumber(noise), line)
  end
end

function checks.custom_map(lines)  -- far better than the mean
  local rmse, deviation = lines[1]:match("RMSE ([%d.]+), .* varies by ([%d.]+)")
  assert(tonumber(rmse) < 0.5 * tonumber(deviation), lines[1])
end

function checks.greedy_blocks(lines)  -- more updates, smaller residual; greedy is no worse in the end
  local last
  for i = 2, #lines do
    local row = numbers(lines[i])
    spec.equal(#row, 4, lines[i])
    if last then assert(row[1] > last[1] and row[2] < last[2] and row[3] < last[3] and row[4] < last[4], lines[i]) end
    last = row
  end
  spec.equal(last[1], 64)
  assert(last[3] <= last[2], "greedy after " .. last[1])
end

function checks.lambda_path(lines)  -- the best is the least of the errors, and better than guessing
  local best, least = nil, math.huge
  for i = 1, #lines - 1 do
    local lambda, rate = lines[i]:match("lambda = (%S+) +held%-out error +([%d.]+)%%")
    if tonumber(rate) < least then best, least = lambda, tonumber(rate) end
  end
  assert(least > 10 and least < 35, "a tenth of the labels is wrong, half would be a guess: " .. least)
  spec.equal(lines[#lines], "best: lambda = " .. best)
end

function checks.rates(lines)  -- runs under their bounds; √d; the orders of Table 2; Nyström slower, and better in the end
  local power, rows, kinds, epochs, errors = "[dnp]%^([%d.-]+)", 0, 0, {}, {}
  for _, line in ipairs(lines) do
    local bound, observed, above = line:match("(%d+) +(%d+)   at most ([%d.]+)$")
    if above then
      rows = rows + 1
      assert(tonumber(observed) < tonumber(bound) and tonumber(above) <= 1, line)
    end
    if line:find("^block%-diagonal: ") then
      local standard, theorem, seen = line:match(power .. ".-" .. power .. ".-" .. power)
      assert(tonumber(standard) > 0.95 and tonumber(theorem) < 0.7 and tonumber(seen) < 0.7, line)
    end
    local first, last = line:match("([%d.]+) … ([%d.]+)$")
    if first then
      local theorem, order, seen = line:match(power .. ".-" .. power .. ".-" .. power)
      kinds = kinds + 1
      assert(math.abs(theorem - order) < 0.45, line)  -- logarithms are not counted in Table 2
      if not line:find("random features") then assert(math.abs(theorem - order) < 0.15, line) end
      if line:find("full kernel") then assert(math.abs(seen - order) < 0.25, line) end
      if line:find("p^", 1, true) then
        local method = line:find("Nyström") and "nystrom" or "random_features"
        epochs[method] = (epochs[method] or 0) + tonumber(last)
      end
    end
    local method, after = line:match("^(%a+)[^%d]* (0%.%d+ .*)$")
    if after then errors[method] = numbers(after) end
  end
  spec.equal(rows, 5, "comparisons")
  spec.equal(kinds, 10, "sweeps")
  assert(epochs.nystrom > 2 * epochs.random_features, "Nyström's epochs at the largest p")
  local slow, fast = errors.Nystr, errors.random  -- after 1, 3, 10 and 50 epochs, and solved
  assert(fast[3] < 1.02 * fast[5] and slow[3] > 1.1 * slow[5] and slow[3] > fast[3], "after 10 epochs")
  assert(slow[4] < fast[4] and slow[5] < slow[4], "in the end")
end

function checks.cifar(lines)  -- a line a method, and all far better than guessing one of ten classes
  spec.equal(#lines, 2 + 4)
  for i = 3, 6 do
    local list = numbers(lines[i]:match("%d.*$"))
    spec.equal(#list, 1 + 3 + 1, lines[i])
    assert(math.min(list[2], list[3], list[4]) < 35, lines[i])
  end
end

local list, count = kbcd.bcast(kbcd.rank() == 0 and example_names() or ""), 0
for name in list:gmatch("([%w_]+)%.lua") do
  if not elsewhere[name] then
    count = count + 1
    spec.test("example " .. name, function()
      local lines = example(name, unpack(arguments[name] or {}))
      if checks[name] then checks[name](lines) end
    end)
  end
end
-- Sections of every twentieth source; the commonest is a fifth of them.
spec.test("example packages", function()
  local good, lines = pcall(example, "packages", "--methods", "full_kernel,hashing")
  if not good and lines:find("apt-get update", 1, true) then return kbcd.say("skipped: packages (%s)", lines) end
  if not good then error(lines, 0) end
  local full, hashing = lines[2]:match("^full_kernel +error ([%d.]+)%%"), lines[3]:match("^hashing +error ([%d.]+)%%")
  assert(tonumber(full) < 40 and tonumber(full) < tonumber(hashing), table.concat(lines, "\n"))
end)

spec.test("what examples say of themselves", function()
  local shell = spec.outside_mpi() .. " '" .. os.getenv("KBCD") .. "' examples/"
  for name in kbcd.rank() == 0 and list:gmatch("([%w_]+)%.lua") or function() end do
    local pipe = assert(io.popen(shell .. name .. " --help 2>&1"))
    local text = pipe:read("*a")
    pipe:close()
    assert(text:find("Usage: kbcd examples/" .. name, 1, true), text)
  end
end)

spec.test("there are examples", function() assert(count >= 3, list) end)

spec.finish()
