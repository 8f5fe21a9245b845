-- circle_kernels: kernels on the circle [0, 1) whose spectra are known, to test theory with. κ(x, y) = Σ_ℓ a_ℓ cos 2πℓ(x −
-- y) with Σ a_ℓ = 1. On the grid i/n the eigenvalues of K are n a_0 and, twice each, n a_ℓ / 2, up to aliasing (a_ℓ is
-- then the sum of the a of all frequencies that are equal to ℓ on the grid). a_ℓ is also the probability of frequency ℓ in
-- the random features √(2/p) cos(2πℓx + phase).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local Matrix = kbcd.Matrix

local circle_kernels = {}

runtime.docs.circle_kernels = [[circle_kernels
Kernels on the circle [0, 1) whose spectra are known exactly, with their random features.]]

-- frequency(u) draws ℓ from a uniform u. Feature j is made from (seed, j) alone, so that every rank and block agrees on it.
local function circle_kernel(name, kappa, coefficient, frequency)
  local function map(p, seed)
    return kbcd.features.custom{ name = name, p = p, map = function(X, I)
      local omega, phase = Matrix.zeros(1, #I, X.dtype), Matrix.zeros(1, #I, X.dtype)
      for i = 1, #I do
        local u = Matrix.rand(1, 2, { seed = seed, first_row = I[i] })
        omega:set(1, i, 2 * math.pi * frequency(u(1, 1)))
        phase:set(1, i, 2 * math.pi * u(1, 2))
      end
      return (X * omega):add(phase):cos():scale(math.sqrt(2 / p))
    end }
  end
  return { kernel = kbcd.kernel.custom{ name = name, metric = "manhattan", kappa = kappa }, coefficient = coefficient,
    map = map }
end

runtime.docs["circle_kernels.exponential"] = [[circle_kernels.exponential(r)
For points in [0, 1), one column: a table with kernel, whose spectrum falls exponentially; coefficient(l) = (1 - r) r^l, its
cosine series; map(p, seed), its random features. 0 < r < 1.]]
function circle_kernels.exponential(r)
  if not (type(r) == "number" and r > 0 and r < 1) then
    error(("circle_kernels.exponential: 0 < r < 1 expected, got %s"):format(tostring(r)), 2)
  end
  return circle_kernel("exponential spectrum", function(T)
    local C = (T * (2 * math.pi)):cos()
    return (1 - r * C):cdiv(1 + r ^ 2 - 2 * r * C):scale(1 - r)
  end, function(l) return (1 - r) * r ^ l end, function(u) return math.floor(math.log(u) / math.log(r)) end)
end

runtime.docs["circle_kernels.polynomial"] = [[circle_kernels.polynomial()
The same with a spectrum that falls as l^-2: coefficient(l) = 6 / (pi l)^2 for l >= 1, 0 for l = 0.]]
function circle_kernels.polynomial()
  local function coefficient(l) return l > 0 and 6 / (math.pi * l) ^ 2 or 0 end
  return circle_kernel("polynomial spectrum", function(T) return 1 - 6 * (T - T:clone():square()) end, coefficient,
    function(u)
      local l, tail = 1, 1 - coefficient(1)
      while tail > u and l < 1e5 do  -- six millionths of the frequencies are beyond
        l = l + 1
        tail = tail - coefficient(l)
      end
      return l
    end)
end

return circle_kernels
