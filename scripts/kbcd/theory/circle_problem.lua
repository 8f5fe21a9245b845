-- circle_problem(form, spectrum, n, p): the quadratic that block descent works on, for a noisy wave on n points of the
-- circle and a kernel whose spectrum is known, with the λ and the block sizes of the paper's Table 2 (β = 1, γ = 0.1):
--
--     exponential   λ = log n/n      full kernel: b = log²n                 random features and Nyström: b = 2 log n
--     polynomial    λ = n^(−2/3)                  b = n^(1/3) log n

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Matrix, log = kbcd.Matrix, math.log

runtime.docs.circle_problem = [[circle_problem(form, spectrum, n, p)
H, c, b, order: the quadratic w'Hw/2 - c'w of all "rows", of p "centers" or of p "features", for n points of the circle
and a kernel with an "exponential" or "polynomial" spectrum, on every rank; the block size of the paper's Table 2; and its
order of updates, without constants and logarithms.]]

local spectra = { exponential = kbcd.circle_kernels.exponential(0.7), polynomial = kbcd.circle_kernels.polynomial() }
local gamma = 0.1

return function(form, spectrum, n, p)
  if form ~= "rows" and form ~= "centers" and form ~= "features" then
    error(("circle_problem: rows, centers or features expected, got %s"):format(tostring(form)), 2)
  end
  local circle = spectra[spectrum]
  if not circle then
    error(("circle_problem: exponential or polynomial expected, got %s"):format(tostring(spectrum)), 2)
  end
  local X = kbcd.DataSet.generate(n, 1, function(i, j) return Matrix{ kbcd.Index.range(i, j):totable() }:t() / n end)
  local y = (X.rows * (6 * math.pi)):sin() + Matrix.randn(X.local_n, 1, { seed = 3, first_row = X.first })
  local o, b = { lambda = n ^ (-2 / 3) }, n ^ (1 / 3) * log(n)
  if spectrum == "exponential" then o.lambda, b = log(n) / n, log(n) ^ 2 end
  if form ~= "rows" then b = 2 * log(n) end
  if form == "features" then o.map = circle.map(p, 2) else o.kernel = circle.kernel end
  if form == "centers" then o.p, o.gamma = p, gamma end
  local H, c = kbcd.rates.system(X, y, o)
  return H, c, math.ceil(b), (form == "centers" and p / gamma or 1) / o.lambda
end
