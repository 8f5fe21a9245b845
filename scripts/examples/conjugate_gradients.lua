-- Another solver over the same primitives, after FALKON (Rudi, Carratino and Rosasco, 2017): Nyström's normal equations by
-- preconditioned conjugate gradients, without a Gram. With K = K([n], J) and M = K(J, J) of the p centres J,
--
--     H α = KᵀY / n,     H = KᵀK / n + λ M ≈ P = M² / p + λ M = M (M / p + λ I)
--
-- since KᵀK / n is about M² / p. The factors of P cost p³, where the Gram of all centres costs n p²; an iteration costs two
-- products with K, which is kept. The k targets are columns of one system, each with its own step lengths.

local kbcd = require "kbcd"
local Matrix, Index, types = kbcd.Matrix, kbcd.Index, kbcd.argument_types

local parser = kbcd.arguments("examples/conjugate_gradients",
  "Nyström by preconditioned conjugate gradients, on Fashion-MNIST.")
parser:option("--rows", "How many to train with.", "10000", types.count)
parser:option("-p --centers", "How many of them are centres.", "2000", types.count)
parser:option("--iterations", "At most so many.", "20", types.count)
parser:option("--lambda", "The ridge.", "1e-6", types.positive)
local o = parser:parse(arg)

kbcd.command("conjugate_gradients", function()
  local folder = "/usr/share/datasets/fashion-mnist/"  -- package dataset-fashion-mnist
  local X = kbcd.load(folder .. "train-images-idx3-ubyte.gz", { rows = o.rows })
  local y = kbcd.load(folder .. "train-labels-idx1-ubyte.gz", { rows = o.rows })
  local Xtest = kbcd.load(folder .. "t10k-images-idx3-ubyte.gz")
  local ytest = kbcd.load(folder .. "t10k-labels-idx1-ubyte.gz")
  local n, p, lambda, kernel = X.n, math.min(o.centers, X.n), o.lambda, kbcd.kernel.rbf{ sigma = 5 }
  local J, Y = Index.sample(n, p, { stream = 1 }), kbcd.labels.one_vs_all(y)
  local start = kbcd.now()

  local K = kbcd.KernelMatrix(X, J, kernel)
  local M = K:square():to("f64")
  -- M and M / p + λ I, times p, on rank 0; rounding in f32 leaves M about 1e-7 p short of positive.
  local root = kbcd.rank() == 0
  local factors = root and kbcd.chol_all({ M:clone():add_diagonal(1e-6 * p), M:clone():add_diagonal(lambda * p) })

  local function precondition(R)
    local Z = root and factors[2]:solve(factors[1]:solve(R)):scale(p) or Matrix.zeros(R.nrows, R.ncols)
    return kbcd.bcast(Z, 0)
  end
  local function times(A)  -- H A
    return kbcd.allreduce(K:t() * (K * A)):scale(1 / n):add(M * A, lambda)
  end
  local function error_rate(alpha)
    local scores = kbcd.KernelMatrix(Xtest, J, kernel, { centers = X, keep = "none" }) * alpha
    return kbcd.labels.error_rate(scores, Xtest, ytest)
  end

  local right = kbcd.allreduce(K:t() * Y):scale(1 / n)
  kbcd.say("%10s %10s %12s %9s", "iteration", "residual", "test error", "seconds")
  local scoring = 0
  for step in kbcd.pcg{ times = times, right = right, precondition = precondition, iterations = o.iterations, tol = 0 } do
    local seconds, before = kbcd.now() - start - scoring, kbcd.now()
    local rate = error_rate(step.x)
    scoring = scoring + kbcd.now() - before
    kbcd.say("%10d %10.2e %11.2f%% %9.2f", step.iteration, step.residual, 100 * rate, seconds)
  end
end)
