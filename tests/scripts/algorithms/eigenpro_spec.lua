-- eigenpro against direct dense solves, and its first steps against the formula on dense matrices.

local kbcd = require "kbcd"
local spec, checks, problem = require "spec", require "solver_checks", require "small_problem"
local Matrix, Index = kbcd.Matrix, kbcd.Index
local X, Y, K, n, k, targets = problem.X, problem.Y, problem.K, problem.n, problem.k, problem.targets

checks.full(kbcd.eigenpro, { lambda = { 0.1, 0.02 }, b = 40, s = 70, q = 60, epochs = 2000, tol = 1e-11 },
  { b = 2, s = 3, q = 2, epochs = 500 })

spec.test("the steps are those of the formula", function()
  local lambda, b, s, q = 1e-4, 30, 40, 6
  local S = Index.sample(n, s, { seed = 5, stream = 1 })
  local K_SS = K:take(S):t():take(S):clone()
  local values, vectors = (K_SS * (1 / s)):eig()                   -- ascending
  local function sigma(i) return values(s + 1 - i, 1) end
  local M = Matrix.zeros(s, s)                                     -- E diag(d / σ) Eᵀ
  for i = 1, q do
    local e = vectors:cols(s + 1 - i)
    M:add(e * e:t(), (1 - ((sigma(q + 1) + lambda) / (sigma(i) + lambda)) ^ 0.95) / sigma(i) / s)
  end
  local beta = 1 + n * lambda
  local eta = 2 / (beta + math.max(beta, (b - 1) * (sigma(q + 1) + lambda)))
  local alpha = Matrix.zeros(n, k)
  for epoch = 1, 2 do
    local blocks = Index.permutation(n, { seed = 5, stream = 2 * epoch }):partition(b)
    local order = Index.permutation(#blocks, { seed = 5, stream = 2 * epoch + 1 })
    for i = 1, #blocks do
      local B = blocks[order[i]]
      local g = (K * alpha + n * lambda * alpha - targets):take(B)
      alpha:add_rows(B, g * -eta)
      alpha:add_rows(S, M * (K:take(S):t():take(B):t() * g) * eta)
    end
  end
  local step = problem.last(kbcd.eigenpro(X, Y, checks.with{ lambda = lambda, b = b, s = s, q = q, epochs = 2,
    partition = "fresh" }))
  spec.close(problem.whole(step.model[1].coefficients), alpha, 1e-9)
end)

checks.fresh(kbcd.eigenpro, { b = 40, s = 70, q = 60, epochs = 2000, tol = 1e-12 })

spec.test("bad options", function()
  spec.fails(function() kbcd.eigenpro(X, Y, checks.with{ s = 81 }) end, "s = 81", "n = 80")
  spec.fails(function() kbcd.eigenpro(X, Y, checks.with{ s = 20, q = 21 }) end, "q = 21", "s = 20")
  spec.fails(function() kbcd.eigenpro(X, Y, checks.with{ q = 0 }) end, "q", "from 1 up")
end)

spec.finish()
