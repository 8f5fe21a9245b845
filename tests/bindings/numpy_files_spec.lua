-- ranks: 1 3
-- load: files that NumPy, SciPy and scikit-learn write, against the same numbers as plain .npy of f8.

local kbcd = require "kbcd"
local spec = require "spec"
local read_data = require "kbcd.data.read_data"
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails

-- A Python that has NumPy, if there is one.
local function python()
  for _, name in ipairs{ "python3", "/usr/bin/python3" } do
    for _, modules in ipairs{ "numpy, scipy, sklearn", "numpy" } do
      if os.execute(("%s -c 'import %s' 2>/dev/null"):format(name, modules)) == 0 then return name end
    end
  end
end

local function make()
  local name = os.tmpname()
  os.remove(name)
  os.execute("mkdir '" .. name .. "'")
  local interpreter = python()
  if not interpreter then return "" end
  local status = os.execute(("%s %s '%s/tests/bindings/numpy_files.py' '%s'"):format(spec.outside_mpi(), interpreter,
    os.getenv("KBCD_SOURCE"), name))
  if status ~= 0 then error("numpy_files.py failed", 0) end
  return name .. "/"
end

-- f(folder), unless there is no NumPy, with the files of numpy_files.py, which rank 0 makes for all ranks.
local function with_files(f)
  local made, folder = true, ""
  if kbcd.rank() == 0 then made, folder = pcall(make) end
  if not made then error(folder, 0) end
  folder = kbcd.bcast(folder)
  if folder == "" then return kbcd.say("skipped: no Python with NumPy (package python3-numpy)") end
  local good, message = pcall(f, folder)
  kbcd.barrier()
  if kbcd.rank() == 0 then os.execute("rm -rf '" .. folder .. "'") end
  if not good then error(message, 0) end
end

local function all_rows(X)
  X = X.sparse and X:to_dense() or X
  return X:gather(kbcd.Index.range(1, X.n))
end

local function is_file(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

with_files(function(folder)
  test("every file gives the numbers that it was made of", function()
    local count = 0
    for line in io.lines(folder .. "list") do
      local name, expected, form, names = line:match("^(.-)\t(.-)\t(.-)\t(.-)$")
      local X, y, classes = read_data(folder .. name, { names = names == "names" or nil })
      close(all_rows(X), all_rows(kbcd.load(folder .. expected)), 0, name)
      if form == "sparse" then equal(X.sparse, true, name) end
      equal(classes ~= nil, names == "names", name)
      if names == "names" then
        equal(y, nil)
        equal(table.concat(classes, "|"), "a b|blau|grün|rot|x|y|日本", name)
      end
      count = count + 1
    end
    kbcd.say("%d files of NumPy, SciPy and scikit-learn", count)
    equal(count >= 70, true, "files")
  end)

  test("what is not read is refused with the remedy", function()
    for _, case in ipairs{ { "objects.npy", "astype(str)", "astype(\"f8\")" }, { "single.npy", "a single number" },
      { "texts.npy", "texts", "--y", "names = true" }, { "bsr.npz", "'bsr'", "X.tocsr()" }, { "dia.npz", "X.tocsr()" },
      { "qid.svm", "ranking", "sed -E" }, { "multilabel.svm", "multilabel" }, { "two.npz", "X, y" } } do
      local path = folder .. case[1]
      if is_file(path) then fails(function() kbcd.load(path) end, path, unpack(case, 2)) end
    end
  end)
end)

spec.finish()
