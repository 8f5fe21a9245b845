-- ranks: 1
-- The README is true: its scripts run, and its REPL transcript is what the REPL prints.

local spec = require "spec"

local file = assert(io.open(os.getenv("KBCD_SOURCE") .. "/README.md"))
local readme = file:read("*a")
file:close()

spec.test("every lua block runs", function()
  local data = io.open("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")
  local count = 0
  for code in readme:gmatch("```lua\n(.-)```") do
    if data or not code:find("fashion-mnist", 1, true) then
      assert(loadstring(code, "=README"))()
    else
      print("skipped: Fashion-MNIST (package dataset-fashion-mnist) is not installed")
    end
    count = count + 1
  end
  assert(count >= 4, "blocks of lua in the README")
end)

spec.test("the transcript is what the REPL prints", function()
  local transcript = readme:match("```console\n(.-)```")
  local input, expected = {}, {}
  for line in transcript:gmatch("[^\n]+") do
    if line:sub(1, 2) == "> " then input[#input + 1] = line:sub(3) else expected[#expected + 1] = line end
  end
  local name = os.tmpname()
  local typed = assert(io.open(name, "w"))
  typed:write(table.concat(input, "\n"), "\n")
  typed:close()
  local output = io.popen(("%s %s < %s 2>&1"):format(spec.outside_mpi(), os.getenv("KBCD"), name)):read("*a")
  os.remove(name)
  spec.equal(output, table.concat(expected, "\n") .. "\n", "transcript")
end)

spec.finish()
