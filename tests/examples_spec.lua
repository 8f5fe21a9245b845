-- Every example in scripts/examples runs to its end, on any number of ranks, and what it says of itself is true.

local kbcd = require "kbcd"
local spec = require "spec"

local folder = os.getenv("KBCD_SOURCE") .. "/scripts/examples/"

local function example_names()
  local pipe = assert(io.popen("ls '" .. folder .. "'"))
  local list = pipe:read("*a")
  pipe:close()
  return list
end

-- What a run of the example says.
local function lines_of(name)
  local chunk = assert(loadfile(folder .. name .. ".lua"))
  local say, lines = kbcd.say, {}
  kbcd.say = function(format, ...) lines[#lines + 1] = format:format(...) end
  local good, message = pcall(chunk)
  kbcd.say = say
  if not good then error(message, 0) end
  assert(#lines > 0, name .. " says nothing")
  return lines
end

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
  local rmse, spread = lines[1]:match("RMSE ([%d.]+), .* varies by ([%d.]+)")
  assert(tonumber(rmse) < 0.5 * tonumber(spread), lines[1])
end

function checks.greedy_blocks(lines)  -- more updates, smaller residual; greedy is no worse in the end
  local last
  for i = 2, #lines do
    local row = numbers(lines[i])
    spec.equal(#row, 3, lines[i])
    if last then assert(row[1] > last[1] and row[2] < last[2] and row[3] < last[3], lines[i]) end
    last = row
  end
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

local list, count = kbcd.bcast(kbcd.rank() == 0 and example_names() or ""), 0
for name in list:gmatch("([%w_]+)%.lua") do
  count = count + 1
  spec.test("example " .. name, function()
    local lines = lines_of(name)
    if checks[name] then checks[name](lines) end
  end)
end
spec.test("there are examples", function() assert(count >= 3, list) end)

spec.finish()
