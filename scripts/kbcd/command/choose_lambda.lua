-- choose_lambda(model, lambda): the place of a λ in a model's path; of the best one when none is given.

return function(model, lambda)
  if not lambda then return model.best end
  local known = {}
  for l, other in ipairs(model.lambdas) do
    if math.abs(other - lambda) <= 1e-9 * other then return l end
    known[l] = ("%g"):format(other)
  end
  error(("--lambda %g: the model has lambda = %s"):format(lambda, table.concat(known, ", ")), 0)
end
