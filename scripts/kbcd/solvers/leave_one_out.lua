-- leave_one_out: what a least-squares model predicts for each of its rows when it is trained without that row, in closed
-- form. For f = Z w with min ‖Z w − Y‖² + nλ‖w‖², of features or of centres J (Z = K([n], J) C⁻ᵀ, K(J, J) = C Cᵀ),
--
--     y_i − f₋ᵢ(x_i) = (y_i − f(x_i)) / (1 − h_i),     h_i = z_iᵀ (ZᵀZ + nλ I)⁻¹ z_i,
--
-- and of the full kernel, with A = K + nλ I and α = A⁻¹Y, it is α_i / (A⁻¹)_ii. One eigendecomposition, ZᵀZ = U S Uᵀ or
-- K = U S Uᵀ, serves all λ: h_i = Σ_j (ZU)_ij² / (s_j + nλ), and (A⁻¹)_ii = Σ_j U_ij² / (s_j + nλ).
--
-- With weights w of the rows it is all this of √w_i z_i and √w_i y_i, or of √w_i K_ij √w_j, and its residuals are √w_i times
-- those of the rows.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local targets = require "kbcd.descent.targets"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.leave_one_out = [[leave_one_out(X, Y, { lambda, kernel [, centers] }) or leave_one_out(X, Y, { lambda, map })
The scores of each row by the least-squares model of all other rows, in closed form: of the full kernel, of Nystrom with
`centers` (an Index of rows), or of random features. Y: this rank's rows of the targets, or a DataSet. lambda: a number or a
list. weights: of the rows, as of an algorithm. All ranks call it. Gives result.scores[l] and result.residuals[l] = Y -
scores of each lambda, this rank's rows x k, and result.leverages, this rank's rows x L: h_i = d f(x_i) / d y_i; and
result.coefficients of the models of all rows, k columns for each lambda: this rank's rows of the full kernel, all rows of
centres or features. The ridge is n lambda also without the row, and centres stay: a centre's own row is left out of the sum
of squares, not of the centres. It costs n p^2 + p^3 for all lambdas; of the full kernel n^3, with three n x n matrices on
every rank.]]
local rows_at_once = 4096

-- 1 / (s_j + nλ_l), and that times the rows of A, side by side for each λ.
local function inverses(values, n, list)
  local R = Matrix.zeros(values.nrows, #list)
  for l, lambda in ipairs(list) do R:cols(l):copy(values:clone():clamp(0, math.huge):add(n * lambda):pow(-1)) end
  return R
end
local function each(R, A)
  local parts = {}
  for l = 1, R.ncols do parts[l] = A:clone():cmul(R:cols(l)) end
  return Matrix.hcat(parts)
end

local function result_of(Y, residuals, leverages, coefficients)
  local list, scores, k = {}, {}, Y.ncols
  for l = 1, leverages.ncols do
    list[l] = residuals:cols((l - 1) * k + 1, l * k)
    scores[l] = Y - list[l]
  end
  return { residuals = list, scores = scores, leverages = leverages, coefficients = coefficients }
end

local function full(X, Y, kernel, list, scale)
  local n, k = X.n, Y.ncols
  if 3 * 8 * n ^ 2 > kbcd.memory_budget() then
    error(("leave_one_out: the %d rows take three matrices of %.3g GB on every rank, more than --memory; give centers")
      :format(n, 8 * n ^ 2 / 1e9), 3)
  end
  local values, U = kbcd.KernelMatrix(X, nil, kernel, { scale = scale }):square():to("f64"):eig()
  local R, mine = inverses(values, n, list), U:take(Index.range(X.first, X.first + X.local_n - 1))
  local alpha = mine * each(R, kbcd.allreduce(mine:t() * Y))
  local diagonal, leverages, residuals = mine:clone():square() * R, Matrix.zeros(X.local_n, #list), alpha:clone()
  for l, lambda in ipairs(list) do
    residuals:cols((l - 1) * k + 1, l * k):cdiv(diagonal:cols(l))
    leverages:cols(l):copy(1 - n * lambda * diagonal:cols(l))
  end
  return result_of(Y, residuals, leverages, alpha)
end

-- rows(first, last): those of Z, f64.
local function factored(X, Y, p, rows, list)
  local function slabs(f)
    for first = 1, X.local_n, rows_at_once do f(first, math.min(X.local_n, first + rows_at_once - 1)) end
  end
  local G, B = Matrix.zeros(p, p), Matrix.zeros(p, Y.ncols)
  slabs(function(first, last)
    local Z = rows(first, last)
    G:add(Z:gram())
    B:add(Z:t() * Y:rows(first, last))
  end)
  kbcd.allreduce(G, B)
  local values, U = G:eig()
  local R = inverses(values, X.n, list)
  local W = each(R, U:t() * B)
  local residuals, leverages = Matrix.zeros(X.local_n, W.ncols), Matrix.zeros(X.local_n, #list)
  local k = Y.ncols
  slabs(function(first, last)
    local Phi = rows(first, last) * U
    local F, h = Phi * W, Phi:square() * R
    for l = 1, #list do
      local own = residuals:block(first, last, (l - 1) * k + 1, l * k)
      own:copy(Y:rows(first, last) - F:cols((l - 1) * k + 1, l * k)):cdiv(1 - h:cols(l))
    end
    leverages:rows(first, last):copy(h)
  end)
  return result_of(Y, residuals, leverages, U * W)
end

local function solved(X, Y, o, list, scale)
  if not o.map and not o.centers then return full(X, Y, o.kernel, list, scale) end
  if o.map then
    local Z = kbcd.RandomFeaturesBlock(X, Index.range(1, o.map.p), o.map, { keep = "none", row_scale = scale })
    return factored(X, Y, o.map.p, function(first, last) return Z:dense(first, last):to("f64") end, list)
  end
  local K = kbcd.KernelBlock(X, o.centers, o.kernel, { keep = "none", row_scale = scale })
  local C = kbcd.chol(kbcd.KernelBlock(X, o.centers, o.kernel, { keep = "none" }):square():to("f64"), { jitter = true }).lower
  local result = factored(X, Y, #o.centers, function(first, last)
    return C:trsolve(K:dense(first, last):to("f64"):t()):t():clone()
  end, list)
  result.coefficients = C:trsolve(result.coefficients, { transpose = true })  -- f = K C⁻ᵀ w
  return result
end

return function(X, Y, given)
  Y = targets("leave_one_out", X, Y)
  local o = options.read("leave_one_out", given, {
    lambda = { options.lambda }, kernel = { options.maybe(options.kernel), false },
    map = { options.maybe(options.map), false }, centers = { options.maybe(options.index), false },
    weights = { options.maybe(options.matrix), false },
  })
  if (o.kernel and true) == (o.map and true) then error("leave_one_out: a kernel or a map expected, and not both", 2) end
  if o.map and o.centers then error("leave_one_out: centers are for a kernel, not for a map", 2) end
  local list = type(o.lambda) == "table" and o.lambda or { o.lambda }
  if not o.weights then return solved(X, Y, o, list) end
  local scale = o.weights:to("f64"):clone():sqrt()
  local result = solved(X, Y:clone():cmul(scale), o, list, scale)
  for l, R in ipairs(result.residuals) do result.scores[l] = Y - R:cdiv(scale) end
  if not o.map and not o.centers then result.coefficients:cmul(scale) end
  return result
end
