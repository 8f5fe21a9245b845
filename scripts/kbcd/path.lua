-- path(lambdas, k, scores, coefficients): the models of a λ path, which lie side by side in one matrix of k columns each.
--
-- model[l] is the model of λ_l: model[l]:predict(X) gives this rank's rows of its scores, model[l].lambda its λ, and
-- model[l].coefficients its α or w. model:predict(X) gives the scores of every λ as a list, from one pass over X.
-- scores(X, C) must give this rank's rows of f(X) for the columns C of the coefficients.

return function(lambdas, k, scores, coefficients)
  local path = { lambdas = lambdas }
  for l, lambda in ipairs(lambdas) do
    local columns = coefficients:cols((l - 1) * k + 1, l * k)
    path[l] = { lambda = lambda, coefficients = columns, predict = function(_, X) return scores(X, columns) end }
  end
  function path.predict(_, X)
    local all, list = scores(X, coefficients), {}
    for l = 1, #lambdas do list[l] = all:cols((l - 1) * k + 1, l * k) end
    return list
  end
  return path
end
