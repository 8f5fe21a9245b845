-- ranks: 1
-- kbcd --sandbox: every way out of sandbox_escapes.lua is refused for its reason; and replaced functions of Lua change
-- nothing for the library.

local spec, shell = require "spec", require "shell"
local test, run, succeeds, refuses, has = shell.test, shell.run, shell.succeeds, shell.refuses, shell.has

if not shell.has_sandbox "escapes_spec" then return shell.finish() end

local source = os.getenv("KBCD_SOURCE") .. "/tests/bindings/"
local escapes = dofile(source .. "sandbox_escapes.lua")
local sandbox = "kbcd --sandbox --allow in --allow to:rw "

succeeds("mkdir in to && echo s3cret > secret && ln -s ../secret in/link && ln -s /etc in/linked && ln -s ../new to/dangling")
shell.write("in/data.csv", "1,2\n3,4\n5,7\n")
shell.write("in/t.tsv", "1\tone two\n2\ttwo three\n3\tthree\n")
succeeds([[kbcd -e 'io.open("in/chunk", "wb"):write(string.dump(function() return 1 end))']])
succeeds("cp " .. source .. "sandbox_escapes.lua in/")

test("at least 40 ways out, each refused for its reason", function()
  assert(#escapes >= 40)
  shell.write("try.lua", [[
for _, escape in ipairs(dofile("in/sandbox_escapes.lua")) do
  local good, value, reason = pcall(assert(load(escape[3], "=escape")))
  local outcome = good and (value and "ESCAPED " .. tostring(value) or tostring(reason or "")) or tostring(value)
  io.stdout:write(escape[1], "\1", outcome, "\2")
end]])
  local outcomes, wrong = {}, {}
  for name, outcome in succeeds(sandbox .. "try.lua").out:gmatch("([^\1\2]*)\1([^\2]*)\2") do outcomes[name] = outcome end
  for _, escape in ipairs(escapes) do
    local outcome = outcomes[escape[1]]
    local right = outcome and (escape[2] == "" and outcome == "" or escape[2] ~= "" and outcome:find(escape[2], 1, true))
    if not right then wrong[#wrong + 1] = ("%s: %s"):format(escape[1], tostring(outcome)) end
  end
  if wrong[1] then error(table.concat(wrong, "\n")) end
  spec.equal(run("ls -d new new.h5 to/pwned to/secret to/hard 2>/dev/null").out, "", "files that escaped")
end)

-- What a script changes in its own globals, and a script that must go on as if nothing had happened.
local replacements = {
  error = "error = function() end",
  type = [[local real = type type = function(x) if x == "secret" then return "cdata" end return real(x) end]],
  math = "math.log = function() return 1e300 end math.floor = function() return -1 end math.min = math.log",
  string = [[for _, n in ipairs{ "find", "match", "sub", "format", "gsub" } do string[n] = function() return "evil" end end]],
  table = "table.concat, table.insert, table.sort = nil, nil, nil",
  all = "local all = _G for name in pairs(all) do all[name] = nil end",
  metatables = "getmetatable = function() return {} end setmetatable = function() return nil end",
  loaded = "for name in pairs(package.loaded) do if name ~= 'kbcd' then package.loaded[name] = nil end end",
}
local honest = [[
local kbcd, io, pcall, tostring = require "kbcd", io, pcall, tostring
%s
local X = kbcd.load("in/data.csv")
local last
for step in kbcd.full_kernel(X, X.rows:clone():sum(2), { kernel = kbcd.kernel.rbf{ sigma = 2 }, lambda = 0.1, b = 2,
  epochs = 2 }) do last = step end
kbcd.model_file.save("to/m.h5", last.model, { method = "full_kernel", task = "regress" })
local docs = kbcd.text.read("in/t.tsv", { format = "tsv" })
local G = kbcd.gram_matrix{ columns = 16, { documents = docs, cut = function(t, count) count(t) end, share = 1 } }
local refused = not pcall(kbcd.hash.murmur3, "secret", 0, 100) and not pcall(kbcd.hash.murmur3, "a", 0, 2 ^ 33)
local builder = kbcd.csr_builder(10)
refused = refused and not pcall(builder.add, 1234.5, 6789.5) and not pcall(kbcd.load, "secret")
io.stdout:write(kbcd.model_file.load("to/m.h5")[1]:predict(X):norm(), " ", G:fingerprint(), " ", tostring(refused), "\n")
]]

test("functions that a script replaces are its own", function()
  local expected
  shell.write("plain.lua", honest:format(""))
  expected = succeeds(sandbox .. "plain.lua").out
  has(expected, " true\n")
  for name, code in pairs(replacements) do
    shell.write("replaced.lua", (honest:gsub("%%s", function() return code end)))
    spec.equal(succeeds(sandbox .. "replaced.lua").out, expected, name)
  end
end)

test("files that the library loads get the script's globals", function()
  shell.write("in/mine.lua", [[
local kbcd = require "kbcd"
if debug.getinfo or package.loaded.ffi or getfenv or not print then error("the library's globals") end
error_of_library = error
return kbcd.algorithm("mine", {}, function() end)]])
  local why = refuses(sandbox .. "train --data in/data.csv --label 2 --task regress --hold-out 0 --model to/n.h5 "
    .. "--method in/mine.lua")
  assert(not why.err:find("the library's globals", 1, true), why.err)
  shell.write("in/side.lua", "return getfenv == nil and debug.getinfo == nil and package.loaded.ffi == nil")
  spec.equal(succeeds(sandbox .. [[-e 'package.path = "in/?.lua;" .. package.path
    print(require "side", dofile("in/side.lua"), loadfile("in/side.lua")(), (load("return debug.getinfo == nil")()))
    print(coroutine.wrap(function() return load("return _G == ...")(_G) end)())']]).out, "true\ttrue\ttrue\ttrue\ntrue\n")
end)

shell.finish()
