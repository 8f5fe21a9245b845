-- nystrom: the paper's Algorithm 2, corrected. Block coordinate descent on the normal equations of p Nyström centres J,
-- (K_JᵀK_J + nλ K_JJ + nλγ I) α = K_JᵀY: for a block I of J, with K_b = K([n], I) and S_b the selector of rows I,
--
--     solve (K_bᵀK_b + nλ K_bb + nλγ I_b) Δ = K_bᵀE − nλγ α_b,     α_b ← α_b + Δ,     E ← E − (K_b + nλ S_b) Δ
--
-- where E = Y − (K_J + nλ S_J) α is kept. α is p x k on every rank; E is n x k, each rank holds its own rows. With several
-- λ the models lie side by side and share every block and Gram. The Gram is in f64: in f32 it costs accuracy.

local kbcd = require "kbcd"
local new_factors = require "kbcd.descent.factors"
local kept_blocks = require "kbcd.descent.kept_blocks"
local path = require "kbcd.descent.path"
local relative_norms = require "kbcd.descent.relative_norms"
local repeat_columns = require "kbcd.descent.repeat_columns"
local require_room = require "kbcd.descent.require_room"
local targets = require "kbcd.descent.targets"
local runtime = require "kbcd.runtime"
local options, steps = require "kbcd.descent.options", require "kbcd.descent.steps"
local Matrix, Index = kbcd.Matrix, kbcd.Index

runtime.docs.nystrom = [[nystrom(X, Y, options)
An iterator of block steps of Nyström kernel regression (Algorithm 2). options: kernel; lambdas (a number or a list);
p (centres, at most n); b = min(2048, p) (block size); gamma = 0 (stabiliser); epochs = 1; partition = "fixed" or "fresh";
cache = "f32", "f16" or "none" (how the blocks of a fixed partition are kept from epoch to epoch); tol = 0; jitter = false
(true: add a growing multiple of I to a block that is not positive definite); seed; test (a DataSet:
step.test_scores follows every block); checkpoint (help "checkpoint").
step.residual: |E| / |Y| with E = Y - (K_J + n lambda S_J) alpha.]]

return function(X, Y, given)
  Y = targets("nystrom", X, Y)
  local n, k, p = X.n, Y.ncols, math.max(1, tonumber(type(given) == "table" and given.p) or 1)
  if p > n then error(("nystrom: p = %d is larger than n = %d"):format(p, n), 2) end
  local o = options.algorithm("nystrom", given, p, "p", "fixed", {
    kernel = { options.kernel }, p = { options.count }, gamma = { options.not_negative, 0 },
  })
  local L = #o.lambdas
  require_room("nystrom", X, o, { columns = k * L, count = p, spread = 4, same = 3, systems = 2 })
  local J = Index.sample(n, p, { seed = o.seed, stream = 1 })
  local alpha, E = Matrix.zeros(p, k * L), repeat_columns(Y, L)

  local function own(A, l) return A:cols((l - 1) * k + 1, l * k) end  -- the columns of λ_l

  local blocks = kept_blocks(o, function(block, keep)
    return kbcd.KernelBlock(X, J:take(block.I), o.kernel, { keep = keep })
  end)
  local P  -- K_bᵀE of the step at hand, where it came with the Gram
  local factors = new_factors{
    lambdas = o.lambdas, k = k, jitter = o.jitter, keep = o.partition == "fixed" and o.epochs > 1,
    ahead = blocks.ahead(X, o.b),
    begin = function(block, root, now)
      local K_b = blocks.get(block)
      local G
      if now then G, P = K_b:normal(E, "f64") else G = K_b:gram("f64") end
      local sum, K_bb = kbcd.ireduce_symmetric(G, root), root == kbcd.rank() and K_b:square() or nil
      return function() sum:wait() return { G = G, K_bb = K_bb } end
    end,
    system = function(of, lambda)
      return of.G:clone():add(of.K_bb, n * lambda):add_diagonal(n * lambda * o.gamma)
    end,
  }

  local function update(block)
    local B, S_b, K_b = block.I, kbcd.Selector(n, J:take(block.I)), blocks.get(block)
    factors.prepare(block)
    local right, alpha_b = kbcd.allreduce(P or K_b:t() * E), alpha:take(B)
    P = nil
    for l, lambda in ipairs(o.lambdas) do own(right, l):add(own(alpha_b, l), -n * lambda * o.gamma) end
    local Delta = factors.solve(block, right)
    alpha:add_rows(B, Delta)
    E:sub(K_b * Delta)
    for l, lambda in ipairs(o.lambdas) do own(E, l):sub(S_b * (own(Delta, l) * (n * lambda))) end
    blocks.done(block)
    return Delta, alpha_b, relative_norms(E, Y, L)
  end

  -- K_J α = Y − E − nλ S_J α
  local function fitted()
    local S = alpha:clone()
    for l, lambda in ipairs(o.lambdas) do own(S, l):scale(n * lambda) end
    return repeat_columns(Y, L):sub(E):sub(kbcd.Selector(n, J) * S)
  end

  -- f(x) = K(x, J) α
  return steps("nystrom", o, p, update, path{
    lambdas = o.lambdas, k = k, d = X.d, coefficients = alpha, count = p, b = o.b, test = o.test, fitted = fitted,
    options = o,
    block = function(Z, B, keep) return kbcd.KernelBlock(Z, J:take(B), o.kernel, { centers = X, keep = keep }) end,
    rows = function(C, B) return C:take(B) end, centers = J,
    check = {
      X = X, Y = Y,
      exact = function(Z, B)
        return kbcd.KernelBlock(Z, Index.range(1, #B), o.kernel, { centers = X:subset(J:take(B)):to("f64") })
      end,
    },
  }, { spread = { E = E }, same = { alpha = alpha } })
end
