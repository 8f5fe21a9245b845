-- ranks: 1 3
-- run_table: the lines agree with the timers and with what was computed; short runs have none.

local kbcd = require "kbcd"
local spec = require "spec"
local run_table = require "kbcd.reports.run_table"
local equal, test = spec.equal, spec.test

local n, d, b = 600, 20, 100
local X = kbcd.DataSet(kbcd.Matrix.randn(n, d, { seed = 1, dtype = "f32" }))

local function line_of(lines, name)
  for _, line in ipairs(lines) do if line:sub(1, #name + 1) == name .. " " then return line end end
  error(("no line '%s' in:\n%s"):format(name, table.concat(lines, "\n")))
end

test("entries of a block, their seconds and their rate", function()
  kbcd.timers.reset()
  for _ = 1, 3 do
    local K = kbcd.KernelBlock(X, kbcd.Index.range(1, b), kbcd.kernel.rbf{ sigma = 5 }, { keep = "none" })
    kbcd.allreduce(K:t() * kbcd.Matrix.ones(X.local_n, 1))
  end
  local timer, product
  for _, t in ipairs(kbcd.timers.collect()) do
    if t.name == "KernelBlock" then timer = t elseif t.name == "block:t()*A" then product = t end
  end
  equal(product.operations, 3 * (2 * n * b + 2 * d * n * b), "of the product and of the entries that it computes")
  local lines = run_table.lines(2 * timer.mean, d, true)
  for _, word in ipairs{ "calls", "min", "mean", "max", "share", "GFLOP/s", "of sgemm" } do
    assert(lines[1]:find(word, 1, true), lines[1])
  end
  local calls, min, mean, max, share, rate = line_of(lines, "KernelBlock"):match(
    "KernelBlock%s+(%d+)%s+(%S+)%s+(%S+)%s+(%S+)%s+(%S+)%%%s+(%S+)%s")
  equal(tonumber(calls), timer.calls, "calls")
  assert(tonumber(min) <= tonumber(mean) and tonumber(mean) <= tonumber(max), "min, mean, max")
  assert(tonumber(share) <= 50.1, "a share of the slowest rank's seconds")
  spec.close(tonumber(rate), 2 * d * 3 * n * b / timer.mean / 1e9, 0.1 + 0.1 / tonumber(rate), "GFLOP/s")
  local sent = line_of(lines, "allreduce"):match("%%%s+(%S+)$")
  if kbcd.size() == 1 then
    equal(sent, nil, "one rank sends nothing")
  else
    spec.close(tonumber(sent), kbcd.size() * 3 * b * 8 / 1e6, 1e-3, "MB: a sum of b numbers in f64 leaves every rank")
  end
  assert(lines[#lines]:find("largest memory of a rank", 1, true) and lines[#lines]:find("sgemm", 1, true), lines[#lines])
end)

test("short runs have no table", function()
  equal(#run_table.lines(0.5, d), 0)
  assert(#run_table.lines(1.5, d) > 1, "one of a second and a half has")
end)

spec.finish()
