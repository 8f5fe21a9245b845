-- pcg: the exact kernel machine by preconditioned conjugate gradients, after Díaz, Epperly, Frangella, Tropp and Webber
-- (2023) and Frangella, Tropp and Udell (2023). With a factor F of rank r, F Fᵀ ≈ K, n x r,
--
--     (K + nλI) α = Y,     P = F Fᵀ + nλI,     nλ P⁻¹R = R − F (FᵀF + nλI)⁻¹ FᵀR.
--
-- F is that of randomly pivoted Cholesky, K([n], J) L⁻ᵀ of r pivots J, which costs n r² and r columns of K; or that of a
-- random Nyström sketch, F = KΩ C⁻ᵀ with ΩᵀKΩ = C Cᵀ and a Gaussian Ω, n x r, which costs a product of K with r columns. Sums
-- with F and the small systems, one for each λ, are in f64: for small λ, nλ P⁻¹ is the difference of nearly equal numbers.
-- An iteration reads the kept triangle of K once. Each column has step lengths of its own (help "conjugate_steps").

local kbcd = require "kbcd"
local nystrom_factor = require "kbcd.solvers.nystrom_factor"
local Matrix, allreduce = kbcd.Matrix, kbcd.allreduce

local function nystrom_sketch(X, K, o)
  local Omega = Matrix.randn(X.local_n, o.rank, { seed = o.seed, first_row = X.first })
  return nystrom_factor(K * Omega, Omega, X.dtype, allreduce)
end

local function pivoted_cholesky(X, K, o)
  local _, F = kbcd.centers.rpcholesky(X, o.rank, o.kernel, { factor = true, seed = o.seed })
  return K.scale and F:cmul(K.scale) or F                                 -- with the weights of the rows
end

return kbcd.algorithm("pcg", {
  "PCG: the exact kernel machine on all rows, by preconditioned conjugate gradients",
  kernel = "kernel", b = false, epochs = 50,
  preconditioner = { choices = { "rpcholesky", "nystrom", "none" }, about = "how K is approximated" },
  rank = { "count", "the rank of the preconditioner", default = function(X) return math.min(1000, math.ceil(X.n / 8)) end },
}, function(X, Y, o, run)
  local lambda, nl, r = o.lambda, X.n * o.lambda, o.rank
  if r > X.n then error(("pcg: rank = %d is larger than n = %d"):format(r, X.n), 0) end
  local model = run.kernel_model(o.kernel, nil, o.preconditioner == "none" and 0
    or 8 * (2 * X.local_n * r + r ^ 2 * (1 + lambda.count)))
  local alpha, K = model.coefficients, model:matrix(o.keep)               -- this rank's rows; one triangle is kept
  local function times(D) return K * D + nl * D end

  local precondition = function(R) return R end
  if o.preconditioner ~= "none" then
    local F = (o.preconditioner == "nystrom" and nystrom_sketch or pivoted_cholesky)(X, K, o)
    local G, factors = allreduce(F:gram()), {}
    for l = 1, lambda.count do factors[l] = kbcd.chol(G:clone():add_diagonal(nl[l])) end
    precondition = function(R)
      local B = allreduce(F:t() * R)
      for l, factor in ipairs(factors) do lambda:columns(B, l):copy(factor:solve(lambda:columns(B, l))) end
      return R - F * B
    end
  end

  local cg = kbcd.conjugate_steps(run, { x = alpha, times = times, precondition = precondition, distributed = true })
  cg.R:copy(lambda:each(Y))                                               -- Y − (K + nλI) α
  return {
    residual = cg.R, weights = true,
    iterate = function(t)
      if t == 1 then cg.restart() end                                     -- R is that of the start, if one was given
      cg.step(t % 20 == 0 and function() return lambda:each(Y) - times(alpha) end or nil)
    end,
    fitted = function(E) return lambda:each(Y) - E - nl * alpha end,
    targets_changed = cg.restart,
  }
end, { least_squares = true, solver = kbcd.conjugate_gradients })
