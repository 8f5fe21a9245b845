-- kbcd bench: measures this machine's BLAS, and what share of its speed blocks, epochs and whole runs reach, beside bars.
--
-- Every measurement is a file in kbcd/bench; sizes.lua holds the sizes. Compare ratios, not seconds: seconds differ from
-- machine to machine.

local kbcd = require "kbcd"
local types = kbcd.argument_types

local groups = { "start", "peaks", "blocks", "gram", "epochs", "kept", "lambdas", "solvers", "losses", "ranks", "plugin",
  "checkpoint", "predict", "timit", "vision", "hashing" }
local known = table.concat(groups, ", ")

local function known_group(text)
  for _, name in ipairs(groups) do if name == text then return name end end
  return nil, ("%s expected, got '%s'"):format(known, text)
end

local parser = kbcd.arguments("bench", "Measures kbcd against the machine's matrix product (sgemm), in one process and " ..
  "interleaved: the median of several rounds, as a ratio.")
parser:argument("what", "Which: " .. known .. " (all of them, unless --scaling or --against is given)."):
  args("*"):convert(known_group)
parser:option("--n", "Rows of the blocks that are measured (32768).", nil, types.count)
parser:option("--b", "Columns of them (4096).", nil, types.count)
parser:option("--repeat", "Rounds; half as many of whole epochs (5).", nil, types.count)
parser:option("--data", "Fashion-MNIST, or made-up rows of its shape (fashion; with --quick, generated)."):
  choices{ "fashion", "generated" }
parser:flag("--scaling", "The exponent of the cost in n, on 1 and 2 ranks; the same results on up to 4.")
parser:option("--against", "Also run a peer on the same data (needs the package python3-sklearn)."):choices{ "sklearn" }
parser:flag("--quick", "Tiny sizes: shows that it works; the figures mean nothing.")
parser:option("--json", "The file to write.", "bench.json"):argname("FILE")
local o = parser:parse(arg)

local sizes = require("kbcd.bench.sizes")[o.quick and "quick" or "full"]
sizes.n, sizes.b = o.n or sizes.n, o.b or sizes.b
if sizes.b > sizes.n then parser:error(("--b %d: at most --n = %d expected"):format(sizes.b, sizes.n)) end
if sizes.b > sizes.images.n then parser:error(("--b %d: at most %d expected"):format(sizes.b, sizes.images.n)) end

local wanted = o.what
if #wanted == 0 and not o.scaling and not o.against then wanted = groups end
if o.scaling then wanted[#wanted + 1] = "scaling" end
if o.against then wanted[#wanted + 1] = "against" end

local function processor()
  local file = io.open("/proc/cpuinfo")
  local name = file and file:read("*a"):match("model name%s*:%s*([^\n]+)")
  if file then file:close() end
  return name or "unknown"
end

local function main()
  kbcd.output_file.check(o.json)
  if o.against then require("kbcd.bench.against").check() end
  local measure, results = require "kbcd.bench.measure", require("kbcd.bench.results")()
  local rounds = o["repeat"] or (o.quick and 1 or 5)
  local bench = {
    sizes = sizes, repeats = rounds, long_repeats = math.ceil(rounds / 2), peak = measure.multiplier(sizes.peak, "f32"),
    median = measure.median, add = results.add,
  }
  function bench.measure(items, count) return measure.rounds(items, count, bench.peak) end
  function bench.add_rates(group, items, all)
    for i, item in ipairs(items) do results.rate(group, item, measure.median(all[i], "ratio")) end
  end
  function bench.images()
    local images = { data = o.data or (o.quick and "generated" or "fashion") }
    for key, value in pairs(sizes.images) do images[key] = value end
    return images
  end
  function bench.skip(what, needs) kbcd.say("  %s: left out; it needs %s", what, needs) end

  local about = {
    versions = kbcd.version(), blas_kernels = kbcd.version():match("%((%w+) kernels"), processor = processor(),
    ranks = kbcd.size(), threads = kbcd.threads(), memory_budget = kbcd.memory_budget(),
    date = os.date("!%Y-%m-%dT%H:%M:%SZ"), groups = wanted,
    rounds = rounds, quick = o.quick or false, data = bench.images().data, n = sizes.n, b = sizes.b,
  }
  kbcd.say("kbcd bench, %s: %s, %d rank%s of %d thread%s, %s", about.date, about.processor, about.ranks,
    about.ranks == 1 and "" or "s", about.threads, about.threads == 1 and "" or "s",
    (about.versions:gsub("%s+$", ""):gsub("\n", ", ")))
  for _, name in ipairs(wanted) do
    results.heading(name)
    require("kbcd.bench." .. name)(bench)
    results.write(o.json, about)  -- after each, so that a run that is stopped leaves its results so far
    collectgarbage()
  end
  kbcd.say("\n%s holds the same%s", o.json, o.quick and "; of tiny sizes (--quick), whose figures mean nothing" or "")
end

kbcd.command("bench", main)
