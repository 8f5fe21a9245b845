-- ranks: 1
-- report: the page and the figures from logs that the spec writes; a log that is none is refused by file and line.

local kbcd = require "kbcd"
local figures = require "kbcd.reports.figures"
local spec = require "spec"

local folder = io.popen("mktemp -d"):read("*l")

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
  return folder .. "/" .. name
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local titles = { full_kernel = "full kernel", nystrom = "Nyström", random_features = "random features" }

-- A run of two epochs of two blocks whose error halves.
local function log(method, p)
  local settings = '{"type":"run","method":"%s","title":"%s","n":9,"lambda":[0.1,0.01],"task":"classify"%s,' ..
    '"versions":"kbcd <1>"}'
  local lines = { settings:format(method, titles[method] or "", p and ',"p":' .. p or "") }
  for i = 1, 4 do
    lines[#lines + 1] = ('{"type":"block","epoch":%d,"block":%d,"blocks":2,"epoch_end":%s,"seconds":%g,"residual":[1,1],' ..
      '"primitives":{"KernelBlock":0.5,"block:t()*A":0.7,"chol":0.1},"test_error":[0.9,%g]}'):format(
      math.ceil(i / 2), (i - 1) % 2 + 1, tostring(i % 2 == 0), i, 0.4 / i)
  end
  lines[#lines + 1] = '{"type":"end","seconds":4,"best":2,"test_error":[0.9,0.1]}'
  return table.concat(lines, "\n") .. "\n"
end

spec.test("the log of a run comes back", function()
  local run = kbcd.read_log(write("full.jsonl", log("full_kernel")))
  spec.equal(run.settings.method, "full_kernel")
  spec.equal(#run.blocks, 4)
  spec.equal(run.blocks[3].epoch, 2)
  spec.equal(run.result.best, 2)
  spec.equal(run.name, "full")
  spec.equal(run.settings.lambda[2], 0.01)
  local cut = kbcd.read_log(write("cut.jsonl", log("full_kernel"):sub(1, -30)))
  spec.equal(#cut.blocks, 4, "a last line that was cut off is skipped")
  spec.equal(cut.result, nil)
end)

spec.test("what is no log is refused", function()
  spec.fails(function() kbcd.read_log(folder .. "/none.jsonl") end, "none.jsonl", "cannot be read")
  spec.fails(function() kbcd.read_log(write("a.jsonl", '{"type":"run"}\nnonsense\n{}\n')) end, "a.jsonl, line 2", "JSON")
  spec.fails(function() kbcd.read_log(write("b.jsonl", '{"type":"run"}\n{"type":"blok"}\n')) end, "line 2", "'blok'")
  spec.fails(function() kbcd.read_log(write("c.jsonl", '{"type":"run"}\n{"type":"block"}\n')) end, "line 2", "seconds")
  spec.fails(function() kbcd.read_log(write("d.jsonl", '{"type":"run"}\n')) end, "no blocks")
  spec.fails(function() kbcd.read_log(write("e.jsonl", "")) end, "'run'")
end)

spec.test("the figures have the numbers of the logs", function()
  local runs = {}
  for i, text in ipairs{ log("full_kernel"), log("nystrom", 10), log("random_features", 10), log("random_features", 20) } do
    runs[i] = kbcd.read_log(write("run" .. i .. ".jsonl", text))
  end
  local time = figures.time(runs)
  spec.equal(table.concat(time.data.line1, "; "), "1 40; 2 20; 3 13.3333; 4 10", "of the best lambda, in per cent")
  spec.equal(table.concat(time.data.mark1, "; "), "2 20; 4 10", "epoch ends")
  spec.equal(table.concat(figures.features(runs).data.points2, "; "), "10 10; 20 10")
  spec.equal(#figures.breakdown(runs).data.rows, 3, "a bar a method")
  assert(figures.breakdown(runs).data.rows[1]:find("0.5 0 0.2 0.1 0", 1, true), "generate, gram, products, solve, rest")
  spec.equal(table.concat(figures.epochs(runs).data.line1, "; "), "1 20; 2 10")
  spec.equal(figures.features({ runs[1], runs[2] }), nil, "one p is no picture")
end)

spec.test("the page is whole and stands alone", function()
  if os.execute("gnuplot --version > /dev/null 2>&1") ~= 0 then return print("skipped: gnuplot-nox is not installed") end
  local out = folder .. "/report.html"
  kbcd.write_report({ folder .. "/run1.jsonl", folder .. "/run3.jsonl", folder .. "/run4.jsonl" },
    { output = out, title = "a <title>", svg = folder .. "/fig", png = folder .. "/fig" })
  local page = read(out)
  spec.equal(select(2, page:gsub("<svg", "")), 5, "figures: the paper's four, and the path of lambda")
  assert(page:find("a &lt;title&gt;", 1, true) and page:find("kbcd &lt;1&gt;", 1, true), "escaped")
  assert(page:find("10.00%%"), "the final error")
  assert(not page:find('src="http', 1, true) and not page:find('href="http', 1, true), "nothing from the network")
  assert(read(folder .. "/fig-time.png"):sub(2, 4) == "PNG")
  assert(read(folder .. "/fig-epochs.svg"):find("<svg", 1, true))
end)

spec.test("a log of before, without a title and with lambdas, is drawn, too", function()
  local old = log("full"):gsub('"title":"[^"]*",', ""):gsub('"lambda":', '"lambdas":')
  local run = kbcd.read_log(write("old.jsonl", old))
  spec.equal(figures.label_of(run), "full")
  if os.execute("gnuplot --version > /dev/null 2>&1") ~= 0 then return print("skipped: gnuplot-nox is not installed") end
  kbcd.write_report({ folder .. "/old.jsonl" }, { output = folder .. "/old.html" })
  local page = read(folder .. "/old.html")
  assert(page:find("<td>10.00%</td><td>0.01</td>", 1, true), "the error of the best lambda")
end)

os.execute("rm -r '" .. folder .. "'")
spec.finish()
