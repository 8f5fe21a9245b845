-- ranks: 1
-- The options of a method as flags of the commands: names that a command has, too, defaults, required options, flags that are
-- true by default, negative values, and the messages.

local shell = require "shell"
local equal = require("spec").equal
local test, has, succeeds, refuses = shell.test, shell.has, shell.succeeds, shell.refuses

local rows = {}
for i = 1, 60 do rows[i] = ("%.3f,%.3f,%.3f"):format(math.sin(i), math.cos(2 * i), math.sin(i) + i / 60) end
shell.write("d.csv", table.concat(rows, "\n") .. "\n")
local data = "--data d.csv --label 3 "

-- Nyström or random features with more options, which setup prints.
local function write_method(name, declared, setup)
  shell.write(name .. ".lua", ([[
local kbcd = require "kbcd"
return kbcd.algorithm("%s", { "%s: of a test", %s }, function(X, Y, o, run)
  %s
  local base = o.map and kbcd.random_features or kbcd.nystrom
  return base.setup(X, Y, setmetatable({ gamma = 0 }, { __index = o }), run)
end)
]]):format(name, name, declared, setup or ""))
end
local function train(name)
  return "kbcd train " .. data .. "--model m.h5 --quiet --no-refit --lambda 1e-2 --method ./" .. name .. ".lua "
end

test("an option with the name of a command's flag gets the method's name before it, in every command", function()
  write_method("clash", [[kernel = "kernel", p = { "count", "centres", default = 10 },
    rows = { "count", "own rows", default = 3 }, sigma = 0.25, x = 1, hold_out = 0.5, folds = 2, output = 1, preprocess = 4,
    quiet = true, features = 5, cache = 6]], [[kbcd.say("%g %g %g %g %g %g %s %g %g p = %d", o.rows, o.sigma, o.x, o.hold_out,
    o.folds, o.preprocess, tostring(o.quiet), o.features, o.cache, o.p)]])
  local flags = "--clash-rows 7 --clash-sigma 5 --clash-x 9 --clash-hold-out 8 --clash-folds 6 --clash-preprocess 3 " ..
    "--no-clash-quiet --features 4 --cache 2 "
  has(succeeds(train "clash" .. flags .. "--rows 50 --sigma 1 --hold-out 0").out, "7 5 9 8 6 3 false 4 2 p = 10")
  local tuned = succeeds("kbcd tune " .. data .. "--method ./clash.lua --sigma 1 --lambda 1e-2 " .. flags).out
  has(tuned, "7 5 9 8 6 3 false 4 2 p = 10")
  succeeds((tuned:match("kbcd train [^\n]*"):gsub("model%.h5", "m.h5")))
  has(succeeds("kbcd compare " .. data .. "--methods ./clash.lua --p 10 --sigma 1 --lambda 1e-2 -o c " .. flags).out,
    "7 5 9 8 6 3 false 4 2 p = 10")
end)

test("an option that every algorithm has is refused when the file is loaded", function()
  for _, option in ipairs{ "test", "start", "log", "weights" } do
    write_method("taken", ([[kernel = "kernel", p = 10, %s = 5]]):format(option))
    refuses(train "taken", "algorithm taken: option " .. option, "every algorithm has an option of this name")
  end
  write_method("taken", [[kernel = "kernel", p = 10, tol = { "text", "other" }]])
  refuses(train "taken", "option tol", "a not_negative; a text got")
end)

test("a method may take fewer choices of an option that every algorithm has", function()
  has(succeeds("kbcd methods landmarks").out, "fresh (new ones each epoch), fixed (blocks that stay) (fresh)")
  has(succeeds("kbcd methods full_kernel").out, "regrouped (of kept tiles, others each epoch) (regrouped)")
  refuses("kbcd train " .. data .. "--method greedy --partition regrouped", "--partition", "fixed", "fresh")
  local common = "kbcd compare " .. data .. "--b 20 --epochs 2 --lambda 1e-2 -o c --methods "
  succeeds(common .. "full_kernel,landmarks --partition regrouped")
  has(shell.read(shell.tmp .. "/c/full_kernel.jsonl"), '"partition":"regrouped"')
  has(shell.read(shell.tmp .. "/c/landmarks.jsonl"), '"partition":"fresh"')
  refuses(common .. "greedy,landmarks --partition regrouped", "--partition", "fixed", "fresh")
  write_method("fewer", [[kernel = "kernel", p = 10, partition = { choices = { "fresh", "regrouped" } }]])
  refuses(train "fewer", "option partition", "'fixed', 'fresh' expected as a choice, got regrouped")
end)

test("declared defaults: p with a map, b capped at p, functions of other options, flags without one", function()
  local print_them = [[kbcd.say("p = %d, b = %d, q = %s, fast = %s", o.p, o.b, tostring(o.q), tostring(o.fast))]]
  write_method("mapped", [[map = "map", p = { "count", "features", default = 24 }, b = { "count", "size", default = 1000 },
    q = { "count", "of p and s", default = function(X, o) return o.p + o.s + X.n end },
    s = { "count", "of p", default = function(_, o) return 2 * o.p end }, fast = "flag"]], print_them:gsub("o%.b", "1000"))
  has(succeeds((train "mapped":gsub("%-%-quiet", "")) .. "--hold-out 0").out, "p = 24, b = 24", "q = 132, fast = false")
  refuses(train "mapped" .. "--b 25", "--b 25", "24")
  shell.write("script.lua", [[
local kbcd = require "kbcd"
local X = kbcd.DataSet(kbcd.Matrix.randn(40, 2, { seed = 1 }))
local map = kbcd.features.fourier{ kernel = kbcd.kernel.rbf{ sigma = 1 }, p = 24, seed = 1 }
for step in dofile "mapped.lua"(X, X.rows, { map = map, lambda = 1 }) do print(step.blocks) end
print(select(2, pcall(dofile "mapped.lua", X, X.rows, { map = map, lambda = 1, b = 25 })))
print(select(2, pcall(dofile "circle.lua", X, X.rows, { map = map, lambda = 1 })))
print(select(2, pcall(dofile "wrong.lua", X, X.rows, { map = map, lambda = 1 })))]])
  write_method("circle", [[map = "map", u = { "count", default = function(_, o) return o.v end },
    v = { "count", default = function(_, o) return o.u end }]])
  write_method("wrong", [[map = "map", u = { "count", default = function() return 0.5 end }]])
  has(succeeds("kbcd script.lua").out, "q = 112", "\n1\n", "b = 25 is larger than p = 24", "the default of option",
    "depends on itself", "option u: a whole number from 1 up expected, got 0.5, its default")
end)

test("required options, those of scripts alone, negative values, and flags that are true", function()
  write_method("needs", [[kernel = "kernel", p = 10, my_delta = { "number", "the shift" },
    momentum = { true, "false: plain descent" }]], [[print(o.my_delta, o.momentum)]])
  refuses(train "needs", "--my-delta is missing", "the shift", "needs")
  local help = succeeds("kbcd train --method ./needs.lua --help").out
  has(help:gsub("%s+", " "), "The shift (required)", "--no-momentum Plain descent.")
  equal(succeeds(train "needs" .. "--my-delta -1.5").out, "-1.5\ttrue\n")
  equal(succeeds(train "needs" .. "--my-delta -.5 --no-momentum").out, "-0.5\tfalse\n")
  equal(succeeds(train "needs" .. "--my-delta=-2 --momentum").out, "-2\ttrue\n")
  refuses(train "needs" .. "--my-delta 1 --momentum --no-momentum", "exclude each other")
  refuses(train "needs" .. "--my-delta 1 --lambda -1", "--lambda", "> 0", "'-1'")
  refuses("kbcd compare " .. data .. "--methods nystrom,./needs.lua --p 10", "--my-delta is missing")
  write_method("scripts", [[kernel = "kernel", p = 10, J = "index"]])
  refuses(train "scripts", "scripts needs the option J", "index", "only a script")
end)

test("messages and help: one line, defaults as they are, titles once", function()
  local err = refuses("kbcd train --nonsense 1").err
  equal(err:find("Usage", 1, true), nil)
  has(err, "kbcd train: unknown option '--nonsense'", "kbcd train --help")
  write_method("help_of", [[kernel = "kernel", epochs = 7, p = { "count", "centres", default = 10 },
    d = { "count", "of the data", default = function(X) return X.n end }, b = function(X) return X.n end]])
  local help = succeeds("kbcd train --method ./help_of.lua --help").out:gsub("%s+", " ")
  has(help, "Centres (10 unless given).", "Of the data (chosen by the data unless given).", "(7 unless given)",
    "Block size (chosen by the data unless given)")
  has(succeeds("kbcd compare --help").out:gsub("%s+", " "), "(each method's own unless given)")
  has(succeeds("kbcd methods ./help_of.lua").out, "help_of: of a test")
  refuses(train "help_of" .. "--map fourier", "--map is for", "random_features, not for ./help_of.lua")
  refuses("kbcd train " .. data .. "--method falkon --b 5",
    "kbcd train: --b is for methods with blocks: askotch, cdpp, eigenpro, full_kernel")
  equal(shell.count(succeeds("kbcd methods ./help_of.lua").out, "help_of"), 1)
end)

shell.finish()
