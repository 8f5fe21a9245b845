-- on_ranks(lambda, rows, solver): a preconditioner of a λ path whose factors are spread over the ranks: the l-th λ is solved
-- on one of them, by the function that solver(l) gives, and all get the result. A function of A, `rows` x kL on every rank.

local kbcd = require "kbcd"

return function(lambda, rows, solver)
  local solvers = {}
  for l = 1 + kbcd.rank(), lambda.count, kbcd.size() do solvers[l] = solver(l) end
  return function(A)
    local Z = kbcd.Matrix.zeros(rows, A.ncols)
    for l = 1, lambda.count do
      if solvers[l] then lambda:columns(Z, l):copy(solvers[l](lambda:columns(A, l))) end
    end
    return kbcd.allreduce(Z)
  end
end
