-- losses.NAME{ parameters }: a loss ℓ(f, y) of the scores f and targets y of a row, for the objective
--
--     (1/n) Σ_i ℓ(f(x_i), y_i) + λ‖f‖².
--
-- Each is a file of this folder, which returns what it declares: about (a line), task ("classify": y is 1 for the row's class
-- and −1 elsewhere; "regress": real targets), params (a list of { name, kind, default, help, expected }), and make(params),
-- a table of functions of whole matrices, a row of F, Y, V each (n x k, this rank's):
--
--     value(F, Y)           Σ_i ℓ(f_i, y_i)
--     gradient(F, Y)        ∂ℓ/∂f, n x k (a subgradient where ℓ has a kink)
--     prox(V, Y, t, O)      argmin_o ℓ(o, y) + |o − v|² / 2t of each row; O: a guess
--     penalty(Y, n)         s, the default strength of ADMM's penalty: about half of ℓ's curvature. All ranks call it
--     hessian(F, Y)         optional: a function of D that gives W D, W the second derivative of ℓ at each row's f
--     curvature(k)          with it: a typical diagonal entry of W, for preconditioners
--     probabilities(F)      optional: those of the classes
--     fault(Y)              optional: what is wrong with targets, or nil

local runtime = require "kbcd.runtime"
local loss = require "kbcd.descent.loss"

runtime.docs.losses = [[losses.NAME{ parameters }
A loss for the option `loss` of an algorithm (its name will do, where its parameters are the defaults): squared, logistic
(multinomial), hinge (a support vector machine, one against all), huber{ delta = 1 }, quantile{ tau = 0.5 }. The objective is
(1/n) sum of loss(f(x_i), y_i) + lambda |f|^2. loss.value(F, Y) is the sum over this rank's rows, loss.gradient(F, Y),
loss.prox(V, Y, t); loss.task is "classify" (targets of labels.one_vs_all) or "regress". A file NAME.lua in kbcd/losses of
the script path adds one.]]

local losses, names = {}, {}
for i, declared in ipairs(loss.declared) do
  names[i] = declared.name
  losses[declared.name] = declared.new
end

return setmetatable(losses, { __index = function(_, name)
  error(("there is no loss '%s'; known: %s"):format(tostring(name), table.concat(names, ", ")), 2)
end })
