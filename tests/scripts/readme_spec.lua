-- ranks: 1
-- Every page of the manual (*.md) is true: its Lua blocks run, the transcript of the prompt is what the prompt prints, its
-- links lead to files. A block that returns an algorithm is trained in the program: by train, compare and predict.

local kbcd = require "kbcd"
local spec = require "spec"
local shell = require "shell"

local source = os.getenv("KBCD_SOURCE")

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local readmes = {}  -- path -> text
local find = ("cd '%s' && find . -name '*.md' -not -path './build*' -not -path './.*'"):format(source)
for path in io.popen(find):lines() do
  path = path:gsub("^%./", "")
  readmes[path] = read(source .. "/" .. path)
end

shell.test("the README is short", function()
  local _, lines = readmes["README.md"]:gsub("\n", "")
  assert(lines <= 150, ("%d lines"):format(lines))
end)

local fashion = io.open("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")
local algorithms = {}

shell.test("every lua block runs", function()
  local count = 0
  for _, path in ipairs(kbcd.sorted_keys(readmes)) do
    for code in readmes[path]:gmatch("\n```lua\n(.-)\n```\n") do
      if fashion or not code:find("fashion-mnist", 1, true) then
        local chunk = assert(loadstring(code, "=" .. path))
        local good, result = xpcall(chunk, debug.traceback)
        if not good then error(path .. ": " .. tostring(result), 0) end
        if type(result) == "table" and result.setup then algorithms[#algorithms + 1] = { code = code, algorithm = result } end
      else
        print("skipped: Fashion-MNIST (package dataset-fashion-mnist) is not installed")
      end
      count = count + 1
    end
  end
  assert(count >= 12, "blocks of lua in the README files")
end)

shell.test("algorithms of the README files train, compare and predict as files", function()
  assert(#algorithms >= 3, "algorithms in the README files")
  local A, data, rows = kbcd.Matrix.randn(120, 3, { seed = 1 }), {}, {}
  for i = 1, A.nrows do
    rows[i] = ("%.6f,%.6f,%.6f"):format(A(i, 1), A(i, 2), A(i, 3))
    data[i] = ("%s,%.6f"):format(rows[i], math.sin(A(i, 1)) + A(i, 2))
  end
  shell.write("data.csv", table.concat(data, "\n") .. "\n")
  shell.write("rows.csv", table.concat(rows, "\n", 1, 7) .. "\n")
  for _, entry in ipairs(algorithms) do
    local a, common = entry.algorithm, "--data data.csv --label 4 --task regress --epochs 3"
    shell.write(a.name .. ".lua", entry.code .. "\n")
    local sized = a.schema.p or a.schema.map
    shell.succeeds(("kbcd train --method ./%s.lua %s %s %s --lambda 1e-3,1e-4 --model %s.h5 --quiet"):format(a.name, common,
      sized and "--p 40" or "", a.blocks and "--b 16" or "", a.name))
    local scores = shell.succeeds(("kbcd predict --model %s.h5 --x rows.csv --out -"):format(a.name)).out
    spec.equal(shell.count(scores, "\n"), 7, "rows of scores")
    local compare = ("kbcd compare --methods nystrom,./%s.lua %s --p 40 --b 16 --lambda 1e-3 -o pages"):format(a.name, common)
    shell.has(shell.succeeds(compare).out, a.title)
  end
end)

shell.test("the transcript is what the prompt prints", function()
  local transcript = readmes["scripts/README.md"]:match("```console\n(.-)```")
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

shell.test("links lead to files", function()
  for path, text in pairs(readmes) do
    for link in text:gmatch("%]%(([^)#:]+)%)") do
      local file = io.open(("%s/%s%s"):format(source, path:match("^(.*/)") or "", link))
      assert(file, ("%s: %s is not there"):format(path, link))
      file:close()
    end
  end
end)

shell.finish()
