-- path(lambdas, k, scores, coefficients, fitted): the models of a λ path, which lie side by side, k columns each.
--
-- model[l] is the model of λ_l: model[l]:predict(X) gives this rank's rows of its scores, model[l].lambda its λ, and
-- model[l].coefficients its α or w. model:predict(X) gives the scores of every λ as a list, from one pass over X.
-- scores(X, C) must give this rank's rows of f(X) for the columns C of the coefficients. model:fitted() gives, a λ each,
-- the fitted values of this rank's training rows, from what the algorithm keeps.

return function(lambdas, k, scores, coefficients, fitted)
  local path = { lambdas = lambdas }
  function path.split(side_by_side)
    local list = {}
    for l = 1, #lambdas do list[l] = side_by_side:cols((l - 1) * k + 1, l * k) end
    return list
  end
  for l, lambda in ipairs(lambdas) do
    local columns = coefficients:cols((l - 1) * k + 1, l * k)
    path[l] = { lambda = lambda, coefficients = columns, predict = function(_, X) return scores(X, columns) end }
  end
  function path.predict(_, X) return path.split(scores(X, coefficients)) end
  function path.fitted() return path.split(fitted()) end
  return path
end
