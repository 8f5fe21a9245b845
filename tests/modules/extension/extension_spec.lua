-- program: kbcd_extended
-- ranks: 1 2
-- A kernel, a map and a loader that are one file each (cauchy.cpp, shifted.cpp, grid.cpp): nothing else of kbcd names them or
-- their parameters, and yet they have checks, help, flags and an automatic width.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local spec = require "spec"
local kernel_flags = require "kbcd.command.kernel_flags"
local load_flags = require "kbcd.command.load_flags"
local map_flags = require "kbcd.command.map_flags"
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails

local X = kbcd.DataSet(kbcd.Matrix.randn(60, 3, { seed = 1 }))

local function find(list, name)
  for _, one in ipairs(list) do if one.name == name then return one end end
  error("no " .. name)
end

-- Options as a command reads them; an error instead of leaving the program.
local function parse(...)
  local parser = kbcd.arguments("command", "Tries flags.")
  parser:option("--seed")
  kernel_flags.add(parser)
  map_flags.add(parser)
  load_flags.add(parser)
  function parser:error(message) error(message, 0) end  -- luacheck: ignore self
  local o = parser:parse{ ... }
  kernel_flags.check(parser, o)
  map_flags.check(parser, o)
  return o, parser
end

test("declarations are data", function()
  local cauchy = find(runtime.kernels.declared(), "cauchy")
  equal(cauchy.width, "sigma")
  equal(cauchy.metric, "sqeuclidean")
  local power = find(cauchy.params, "power")
  equal(power.kind, "count")
  equal(power.default, 1)
  equal(power.most, 20)
  equal(find(cauchy.params, "sigma").required, true)
  equal(find(runtime.kernels.declared(), "linear").width, nil)
  equal(find(find(runtime.kernels.declared(), "rbf").params, "gamma").instead_of, "sigma")
  equal(#find(find(runtime.kernels.declared(), "matern").params, "nu").choices, 3)
  equal(find(find(runtime.maps.declared(), "shifted").params, "first").kind, "count")
  equal(find(find(runtime.loaders.declared(), "grid").params, "start").default, 0)
  equal(find(runtime.loaders.declared(), "HDF5").part, "path")
end)

test("a kernel of one file", function()
  local k = kbcd.kernel.cauchy{ sigma = 2, power = 3 }
  equal(tostring(k), "cauchy{power=3, sigma=2}")
  local K = kbcd.KernelBlock(X, kbcd.Index.range(1, 4), k):rows(kbcd.Index.range(1, 4))
  local rows = X:gather(kbcd.Index.range(1, 4))
  local D = (rows:rows(1, 1) - rows:rows(2, 2)):norm()
  close(K(1, 2), (1 + D ^ 2 / 4) ^ -3, 1e-12)
  fails(function() kbcd.kernel.cauchy{ sigma = 2, power = 21 } end, "kernel.cauchy", "power", "from 1 to 20", "21")
  fails(function() kbcd.kernel.cauchy{ power = 1 } end, "kernel.cauchy", "sigma")
  fails(function() kbcd.kernel.cauchy{ sigma = 2, nu = 1 } end, "unknown option 'nu'", "sigma, power")
  for _, text in ipairs{ "(1 + |x-y|^2/sigma^2)^-power", "how fast it falls", "1 unless given", "number from 1 to 20" } do
    equal(runtime.docs["kernel.cauchy"]:find(text, 1, true) ~= nil, true, text)
  end
end)

test("a map of one file, with a parameter of its own", function()
  local k = kbcd.kernel.cauchy{ sigma = 2 }
  local map = kbcd.features.shifted{ kernel = k, p = 6, seed = 4, first = 3 }
  equal(map.name, "shifted")
  equal(map.p, 6)
  equal(map.seed, 4)
  equal(map.params.first, 3)
  equal(tostring(map.kernel), tostring(k))
  equal(tostring(map), "shifted{kernel=cauchy{power=1, sigma=2}, p=6, seed=4, first=3}")
  local settings = { kernel = map.kernel, p = map.p, seed = map.seed }
  for name, value in pairs(map.params) do settings[name] = value end
  local all = kbcd.Index.range(1, 6)
  local again = kbcd.features[map.name](settings)
  close(kbcd.RandomFeaturesBlock(X, all, again):dense(), kbcd.RandomFeaturesBlock(X, all, map):dense(), 0)
  fails(function() kbcd.features.shifted{ kernel = k, p = 6, first = 0 } end, "features.shifted", "first", "from 1 up")
  fails(function() kbcd.features.fourier{ kernel = k, p = 6, first = 1 } end, "features.fourier", "'first'", "p, seed")
  equal(runtime.docs["features.shifted"]:find("the number of the first frequency", 1, true) ~= nil, true)
end)

test("a loader of one file, with an option of its own", function()
  spec.with_file("grid 5 2\n", function(path)
    local G = kbcd.load(path, { start = 10 })
    equal(G.n, 5)
    close(G:gather(kbcd.Index.range(5, 5)), kbcd.Matrix{ { 18, 19 } }, 0)
    fails(function() kbcd.load(path, { label = 1 }) end, path, "grid", "'label'", "rows, dtype, start")
    fails(function() kbcd.load(path, { start = "x" }) end, path, "start", "a number", "'x'")
    local o, parser = parse("--option", "start=7")
    load_flags.check(parser, o, { path })
    equal(load_flags.make(o, path).start, 7)
    equal(load_flags.given(o)[1][2], "start=7")
    fails(function() load_flags.check(parser, parse("--option", "start=x"), { path }) end, "option start", "a number")
    fails(function() load_flags.check(parser, parse("--option", "sparse=true"), { path }) end, "sparse", "libsvm")
    spec.with_file("1,2\n3,4\n", ".csv", function(other)
      fails(function() load_flags.check(parser, o, { other }) end, "start", "grid")
      equal(next(load_flags.make(o, other)), nil)
      equal(load_flags.make(parse("--option", "header=false"), other).header, false)
      equal(load_flags.make(parse("--option", "label=b,2"), other).label[2], 2)
    end)
  end)
  fails(function() parse("--option", "stat=7") end, "'stat'", "start (grid)", "sparse (libsvm)")
  fails(function() parse("--option", "start") end, "NAME=VALUE")
  equal(runtime.docs.load:find("grid gives X, which counts. Its options:\n    start: the first number", 1, true) ~= nil, true)
end)

test("flags of kernels", function()
  local kernel, chosen = kernel_flags.make(parse("--kernel", "cauchy", "--power", "2"), X)
  equal(kernel.name, "cauchy")
  equal(kernel.params.power, 2)
  equal(kernel.params.sigma, chosen.sigma)
  local distances = {}  -- X has fewer rows than the sample: all pairs
  local rows = X:gather(kbcd.Index.range(1, X.n))
  for i = 1, X.n do
    for j = 1, i - 1 do distances[#distances + 1] = (rows:rows(i, i) - rows:rows(j, j)):norm() end
  end
  table.sort(distances)
  close(chosen.sigma, distances[math.ceil(#distances / 2)] / 2, 1e-12, "half the median distance")
  equal(tostring(kernel_flags.make(parse("--kernel", "cauchy", "--sigma", "3"))), "cauchy{power=1, sigma=3}")
  equal(tostring(kernel_flags.make(parse("--gamma", "0.5"))), "rbf{gamma=0.5, sigma=1}")
  equal(tostring(kernel_flags.make(parse("--kernel", "matern", "--sigma", "3", "--nu", "2.5"))), "matern{nu=2.5, sigma=3}")
  equal(kernel_flags.width(parse()), "sigma")
  equal(kernel_flags.width(parse("--gamma", "1")), nil)
  equal(kernel_flags.width(parse("--kernel", "polynomial")), nil)
  local _, manhattan = kernel_flags.make(parse("--kernel", "laplacian"), X)
  equal(manhattan.sigma > chosen.sigma, true, "|x-y|_1 > |x-y|")
  fails(function() parse("--power", "2") end, "--power is for cauchy, not for rbf")
  fails(function() parse("--nu", "1.5", "--kernel", "cauchy") end, "--nu is for matern, not for cauchy")
  fails(function() parse("--sigma", "1", "--gamma", "2") end, "--gamma", "--sigma")
  fails(function() parse("--kernel", "matern", "--nu", "1") end, "nu", "0.5, 1.5 or 2.5", "'1'")
  fails(function() parse("--kernel", "cauchy", "--sigma", "0") end, "sigma", "> 0")
  fails(function() parse("--kernel", "cachy") end, "--kernel", "cauchy")
  local given = {}
  for i, pair in ipairs(kernel_flags.given(parse("--kernel", "cauchy", "--power", "2"))) do
    given[i] = pair[1] .. " " .. tostring(pair[2])
  end
  equal(table.concat(given, " "), "--kernel cauchy --power 2")
  local _, parser = parse()
  equal(parser:get_help():find("How fast it falls (cauchy; 1 unless given)", 1, true) ~= nil, true, "the help of --power")
end)

test("flags of maps", function()
  local k = kbcd.kernel.rbf{ sigma = 2 }
  equal(tostring(map_flags.make(parse("--map", "shifted", "--first", "5"), k, 9, 2)),
    "shifted{kernel=rbf{gamma=0.125, sigma=2}, p=9, seed=2, first=5}")
  equal(map_flags.make(parse(), k, 9, 2).name, "fourier")
  fails(function() parse("--first", "5") end, "--first is for shifted, not for fourier")
  local laplacian = kbcd.kernel.laplacian{ sigma = 1 }
  fails(function() map_flags.make(parse("--map", "orthogonal"), laplacian, 9, 2) end, "--map orthogonal", "isotropic")
  equal(#map_flags.given(parse("--map", "shifted")), 1)
end)

test("a name that is taken gets the family's", function()
  local parser = kbcd.arguments("command", "Tries flags.")
  parser:option("--power", "Of something else.")
  kernel_flags.add(parser)
  local o = parser:parse{ "--kernel", "cauchy", "--power", "x", "--kernel-power", "4", "--sigma", "1" }
  equal(o.power, "x")
  equal(kernel_flags.make(o).params.power, 4)
end)

spec.finish()
