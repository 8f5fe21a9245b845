-- ranks: 1
-- help: every public name has a text; a word that is no name is searched for; the overview has all names; the prompt has no
-- globals but Lua's own and the public names.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local spec, shell = require "spec", require "shell"
local test, equal, has = shell.test, spec.equal, shell.has

local text = kbcd.help.text
text()  -- loads every file

test("every public name has a help text", function()
  local missing = {}
  local function check(name)
    local entry = runtime.docs[name]
    if not entry or not entry:match("^[^\n]+\n%S") then missing[#missing + 1] = name end
  end
  for name in pairs(runtime.library.public) do check(name) end
  for name in pairs(kbcd) do check(name) end
  equal(table.concat(missing, " "), "", "names without a text")
end)

test("every text has a heading that begins with its name", function()
  for name, entry in pairs(runtime.docs) do
    local member = name:match("[^.:]+$")
    if not entry:match("^[^\n]*"):find(member, 1, true) and not name:find("operators", 1, true) and name ~= "Block" and
      name ~= "algorithm options" then
      error(("%s: the heading is '%s'"):format(name, entry:match("^[^\n]*")))
    end
  end
end)

test("the overview has every name once, in a group", function()
  local overview = text()
  local found = {}
  for line in overview:match("\n\n(.*)$"):gmatch("[^\n]+") do
    for name in line:sub(16):gmatch("[^,]+") do
      name = name:match("^%s*(.-)%s*$")
      found[name] = (found[name] or 0) + 1
    end
  end
  for name in pairs(kbcd) do equal(found[name], 1, name) end
  for line in overview:gmatch("[^\n]+") do assert(#line <= 100, line) end
  has(overview, "algorithms", "matrices", "ranks", "help \"cholesky\"")
end)

test("a name is explained with its members, a value by its name", function()
  has(text("Matrix:rows"), "Matrix:rows(first [, last])")
  has(text("labels"), "labels.one_vs_all(y", "labels.error_rate(")
  has(text(kbcd.nystrom), "nystrom(X, Y, options)", "gamma: the stabiliser (0)", "p: the number of centres", "lambda")
  has(text("kbcd.nystrom"), "nystrom(X, Y, options)")
  has(text("one_vs_all"), "labels.one_vs_all(y")
  has(text(kbcd.Matrix.eye(2)), "Matrix:rows")
end)

test("a word that is no name is searched for in all texts", function()
  local found = text("cholesky")
  has(found, "'cholesky' is no name", "chol ", "local_solve", "centers.rpcholesky", "H^-1 B by Cholesky in f64, on this rank")
  equal(text("CHOLESKY"):gsub("CHOLESKY", "cholesky"), found, "upper and lower case")
  has(text("conjugate gradients"), "pcg ", "falkon ", "Preconditioned conjugate gradients")
  has(text("gradients conjugate"), "pcg ")
  for line in found:gmatch("[^\n]+") do assert(#line <= 100, line) end
  equal(text("nosuch"), "no help for 'nosuch'; help() lists what there is")
  equal(text("  "), text())
  equal(text("100%"):match("^[^;]*"), "no help for '100%'")
  equal(text(3), "no help for this number; help() lists what there is")
end)

test("the prompt has no globals but Lua's own and the public names", function()
  local lua = {}
  for name in ([[_G _VERSION arg assert bit collectgarbage coroutine debug dofile error gcinfo getfenv getmetatable io
    ipairs jit load loadfile loadstring math module newproxy next os package pairs pcall print rawequal rawget rawset
    require select setfenv setmetatable string table tonumber tostring type unpack xpcall]]):gmatch("%S+") do
    lua[name] = true
  end
  local names = shell.succeeds([[kbcd <<'END'
for name in pairs(_G) do io.write(name, "\n") end;
END]]).out
  local others, seen = {}, {}
  for name in names:gmatch("[^\n]+") do
    seen[name] = true
    local public = runtime.library.public[name] or rawget(kbcd, name) ~= nil or name == "kbcd"
    -- sol2 keeps a few values of its own there.
    if not lua[name] and not public and not name:find("^sol%.") then others[#others + 1] = name end
  end
  equal(table.concat(others, " "), "", "other globals")
  for name in pairs(runtime.library.public) do assert(seen[name], name .. " is no global of the prompt") end
end)

shell.finish()
