-- The paper's section on rates, tried: the bound of Theorem 1 beside what block coordinate descent does, on a random
-- quadratic, the block-diagonal example and kernels with known spectra; the orders of Table 2; Nyström's epochs (Figure 4).
-- `kbcd examples/rates --png PREFIX` also draws it. README.md in this folder explains what it shows.

local kbcd = require "kbcd"
local pad = require "kbcd.support.pad"
local Matrix, rates, say = kbcd.Matrix, kbcd.rates, kbcd.say

local parser = kbcd.arguments("examples/rates", "Theorem 1, Table 2 and Figure 4 of the paper, tried on small problems.")
parser:option("--png", "Draw PREFIX-bound.png, PREFIX-orders.png and PREFIX-epochs.png."):argname("PREFIX")
local prefix, curves = parser:parse(arg).png, { bound = {}, orders = {}, epochs = {} }
if prefix then kbcd.output_file.check(prefix .. "-bound.png") end
local function draw(name, axes) kbcd.line_plot(prefix and ("%s-%s.png"):format(prefix, name), axes, curves[name]) end

local function show(name, s)
  say("%-25s %5d %4d %8.1f %10d %10d %9d   at most %.2f", name, s.d, s.b, s.L / s.m, s.standard, s.bound, s.observed, s.above)
  for _, curve in ipairs{ rates.curves(s, name, #curves.bound / 2 + 1) } do table.insert(curves.bound, curve) end
  return s
end
local function block_diagonal(b)  -- λI + diag(11ᵀ, …, 11ᵀ), d = b²
  local H = Matrix.eye(b * b):scale(0.1)
  for i = 1, b * b, b do H:block(i, i + b - 1, i, i + b - 1):add(1) end
  return show("block-diagonal, d = " .. b * b, rates.compare(H, Matrix.randn(b * b, 1, { seed = 3 }), b))
end
-- The e of ratio^e, by which something grows.
local function growth(key, first, last, ratio) return math.log(last[key] / first[key]) / math.log(ratio) end

local names = { rows = "full kernel", centers = "Nyström", features = "random features" }
local function try(form, spectrum, n, p)
  local H, c, b, order = kbcd.circle_problem(form, spectrum, n, p)
  local tried = rates.compare(H, c, b)
  tried.epochs, tried.order = tried.observed * tried.b / tried.d, order
  return tried
end

say("Updates until the gap is 1e6 times smaller: what the bounds say, and the mean of 8 runs")
say("%-25s %5s %4s %8s %10s %10s %9s   gap / bound", "", "d", "b", "L/m", "standard", "Theorem 1", "observed")
show("random quadratic", rates.compare(Matrix.randn(512, 256, { seed = 1 }):gram(), Matrix.randn(256, 1, { seed = 2 }), 16))
show("exponential, full kernel", try("rows", "exponential", 512))
show("polynomial, full kernel", try("rows", "polynomial", 512))
local small, large = block_diagonal(8), block_diagonal(24)
say("block-diagonal: they grow as d^%.2f by the standard bound, d^%.2f by Theorem 1, d^%.2f observed",
  growth("standard", small, large, 9), growth("bound", small, large, 9), growth("observed", small, large, 9))
draw("bound", "set logscale xy\nset format xy '10^{%T}'\nset yrange [1e-6:1.5]\nset xlabel 'updates'\n" ..
  "set ylabel 'gap (dashed: its bound)'")

say("\n%-30s %19s %15s %19s %20s", "How they grow", "Theorem 1", "Table 2", "observed", "epochs")
local function sweep(x, sizes, spectrum, form)
  local first, last, epochs = nil, nil, {}
  for i, size in ipairs(sizes) do
    last = try(form, spectrum, x == "n" and size or 512, x == "p" and size or 64)
    first, epochs[i] = first or last, last.epochs
  end
  local function power(key) return ("%s^%.2f"):format(x, growth(key, first, last, sizes[#sizes] / sizes[1])) end
  say("%-12s %s %9d … %8d %s %8s %6d … %4d %7s %6.1f … %4.1f", spectrum, pad(names[form], 16), first.bound,
    last.bound, power "bound", power "order", first.observed, last.observed, power "observed", first.epochs, last.epochs)
  if x == "p" then table.insert(curves.orders, { title = names[form] .. ", " .. spectrum, x = sizes, y = epochs }) end
end
for _, spectrum in ipairs{ "exponential", "polynomial" } do
  for _, form in ipairs{ "rows", "centers", "features" } do sweep("n", { 128, 512 }, spectrum, form) end
  for _, form in ipairs{ "centers", "features" } do sweep("p", { 32, 64, 128, 256 }, spectrum, form) end
end
draw("orders", "set logscale x 2\nset yrange [0:*]\nset xlabel 'p'\nset ylabel 'epochs until the gap is 1e-6'")

say("\n%-26s %12d %7d %7d %7d   in the end", "Test RMSE after epochs", 1, 3, 10, 50)
local function sample(n, seed)
  local X = kbcd.DataSet.generate(n, 4, function(i, j) return Matrix.randn(j - i + 1, 4, { seed = seed, first_row = i }) end)
  return X, (X.rows:cols(1) * 2):sin():cmul(X.rows:cols(2):clone():cos()):add(X.rows:cols(3):clone():abs())
end
local X, Y = sample(600, 1)
local Xtest, Ytest = sample(500, 2)
Y:add(Matrix.randn(X.local_n, 1, { seed = 4, first_row = X.first }), 0.1)
local kernel, truth = kbcd.kernel.rbf{ sigma = 1.5 }, kbcd.DataSet.local_part(Xtest.n, Ytest)
local function errors(form, b, epochs)
  local o, x, y = { lambda = 1e-3, b = b, epochs = epochs, test = Xtest }, {}, {}
  if form == "features" then o.map = kbcd.features.fourier{ kernel = kernel, p = 300 }
  else o.kernel, o.p, o.gamma = kernel, 300, 1e-4 end
  for step in (form == "features" and kbcd.random_features or kbcd.nystrom)(X, Y, o) do
    x[step.epoch], y[step.epoch] = step.epoch, (kbcd.scoring.rmse(step.test_scores[1], truth))
  end
  return y, { title = names[form], x = x, y = y }
end
for _, form in ipairs{ "centers", "features" } do
  local e, curve = errors(form, 10, 50)
  local solved = errors(form, 300, 1)[1]  -- an epoch of a single block solves the system
  say("%s %12.4f %7.4f %7.4f %7.4f   %10.4f", pad(names[form], 26), e[1], e[3], e[10], e[50], solved)
  table.insert(curves.epochs, curve)
end
draw("epochs", "set xlabel 'epoch'\nset ylabel 'test RMSE'")
