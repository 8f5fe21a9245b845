-- ranks: 1
-- long
-- Ordinary work in the sandbox, on 1 and on 3 ranks: commands with every method, a method and a kernel of one's own, models,
-- predictions, text, vision, hashing, help.

local spec, shell = require "spec", require "shell"
local test, succeeds, has = shell.test, shell.succeeds, shell.has

if not shell.has_sandbox "sandbox_work_spec" then return shell.finish() end

succeeds("mkdir in to")
local rows, texts = {}, {}
for i = 1, 60 do
  rows[i] = ("%g,%g,%s"):format(math.sin(i), math.cos(3 * i), math.sin(i) > 0 and "up" or "down")
  texts[i] = ("%d\tword%d and %s"):format(i % 2, i % 7, i % 2 == 0 and "even" or "odd")
end
shell.write("in/data.csv", table.concat(rows, "\n") .. "\n")
shell.write("in/t.tsv", table.concat(texts, "\n") .. "\n")
shell.write("in/pictures-idx3-ubyte", "\0\0\8\3\0\0\0\4\0\0\0\3\0\0\0\3" .. ("\1\2\3"):rep(12))
shell.write("in/neighbour.lua", "return { rate = 0.5 }")
shell.write("in/mine.lua", [[
local kbcd = require "kbcd"
local rate = require("neighbour").rate
return kbcd.algorithm("mine", { "mine: coordinate descent with a step length", map = "map", epochs = 2 },
  function(X, Y, o, run)
    local w, nl = run.feature_model(o.map).coefficients, X.n * o.lambda
    local E = run.distributed("E", o.lambda:each(Y))
    return {
      residual = E,
      step = function(B, Z_b, _, P)
        local Delta = (P - nl * w:take(B)):scale(rate / X.n)
        w:add_rows(B, Delta)
        E:sub(Z_b * Delta)
        return Delta
      end,
      fitted = function(R) return o.lambda:each(Y) - R end,
    }
  end)
]])
local launchers = { ["1 rank"] = "kbcd --sandbox --allow in --allow to:rw ",
  ["3 ranks"] = "mpi 3 --sandbox --allow in --allow to:rw " }

for name, sandboxed in pairs(launchers) do
  test("every method, its model and its predictions: " .. name, function()
    local methods = { "in/mine.lua" }
    for method in succeeds("kbcd methods").out:gmatch("([%w_]+) [^\n]*\n") do methods[#methods + 1] = method end
    assert(#methods >= 5, #methods)
    if name ~= "1 rank" then methods = { "in/mine.lua", "full_kernel", "nystrom", "features_cg" } end  -- what ranks share
    for _, method in ipairs(methods) do
      local common = "train --data in/data.csv --label 3 --hold-out 0.2 --sigma 0.2 --lambda 1e-2 --epochs 2 "
        .. (method:find("features") and "--p 64 " or "") .. "--model to/m.h5 --method "
      succeeds((sandboxed:gsub("%-%-sandbox.*", "")) .. common:gsub("to/m.h5", "to/plain.h5") .. method)
      succeeds(sandboxed .. common .. method)
      succeeds(sandboxed .. "predict --model to/m.h5 --x in/data.csv --label 3 --out to/p.csv")
      succeeds("kbcd predict --model to/plain.h5 --x in/data.csv --label 3 --out to/q.csv && cmp to/p.csv to/q.csv")
    end
  end)

  test("the library: " .. name, function()
    shell.write("work.lua", [[
local kbcd = require "kbcd"
local X, y, classes = kbcd.load("in/data.csv", { label = 3 })
assert(#classes == 2 and X.n == 60 and y.n == 60)
local kernel = kbcd.kernel.custom{ name = "mine", metric = "sqeuclidean", kappa = function(D) return D:scale(-1):exp() end }
local J = kbcd.centers.rpcholesky(X, 5, kernel)
assert(#J == 5)
local Y, last = kbcd.Matrix.ones(X.local_n, 1)
for step in kbcd.nystrom(X, Y, { kernel = kernel, p = 5, centers = J, lambda = 1e-3, epochs = 2 }) do last = step end
assert(last.model:fitted()[1].nrows == X.local_n)
local docs = kbcd.text.read("in/t.tsv", { format = "tsv" })
local H = docs:hash{ columns = 64, ngrams = 2 }
local V = kbcd.text.vocabulary(docs)
assert(H.n == 60 and docs:matrix(V).d == V.size)
assert(kbcd.gram_matrix{ columns = 64, { documents = docs, cut = function(t, count) count(t) end, share = 1 } }.n == 60)
local builder = kbcd.csr_builder(8)
for text in docs:words() do builder.add_hashed(text, { 1, #text }) builder.end_row() end
assert(builder.finish(docs.n).n == 60)
assert(kbcd.features.fourier or kbcd.features)
local images = kbcd.vision.load("in/pictures-idx3-ubyte")
assert(images.n == 4, images)
local names = 0
for key, value in pairs(kbcd) do names = names + 1 assert(type(key) == "string" and value ~= nil) end
assert(names > 40 and next(kbcd.hash) == "murmur3")
assert(not pcall(function() return kbcd.kernel.none end))
for _, topic in ipairs{ "Matrix", "Matrix.zeros", "nystrom", "load", "csr_builder", "hash.murmur3" } do kbcd.help(topic) end
kbcd.help(kbcd.Matrix)
local file = kbcd.rank() == 0 and kbcd.run_log("to/log.json")
kbcd.say("done %d", kbcd.allreduce(1))
]])
    local result = succeeds(sandboxed .. "work.lua")
    has(result.out, "done " .. name:match("%d"), "Matrix.zeros(rows, cols [, dtype])", "MurmurHash3")
    spec.equal(result.err, "", "errors")
  end)
end

shell.finish()
