-- kbcd.vision on any number of ranks: the pieces put together in Lua give what vision.convolve gives, the pipeline's features
-- are those of one rank, and malformed files are reported by name.

local kbcd = require "kbcd"
local spec = require "spec"
local vision, Matrix, Index = kbcd.vision, kbcd.Matrix, kbcd.Index
local test, equal, close, fails = spec.test, spec.equal, spec.close, spec.fails
local rank = kbcd.rank()

local shape = { height = 10, width = 9, channels = 3 }

-- n pictures of blots, the same on any number of ranks.
local function pictures(n)
  local d = shape.height * shape.width * shape.channels
  return vision.images(kbcd.DataSet.generate(n, d, function(first, last)
    return Matrix.rand(last - first + 1, d, { seed = 3, first_row = first, dtype = "f32" }):scale(255)
  end), shape)
end

-- The features of a whole pipeline: crops, filters, convolution, standardisation; gathered on every rank.
local function pipeline(n)
  local train = vision.random_crops(pictures(n), { size = 8, views = 3, seed = 5 })
  local convolution = kbcd.patch_filters(train, { count = 20, size = 3, sample = 500, seed = 6 })
  local X = vision.convolve(train, convolution)
  kbcd.preprocess.apply(kbcd.preprocess.fit("standardize", X), X)
  return X:gather(Index.range(1, X.n))
end

-- Filters that are no result of a sum over ranks or threads: features of these have the same bits everywhere.
local function fingerprint()
  local filters, marks = Matrix.randn(20, 27, { seed = 7 }), {}
  for i, normalize in ipairs{ 10, false } do
    marks[i] = vision.convolve(pictures(7), { filters = filters, normalize = normalize }):fingerprint()
  end
  return table.concat(marks, " ")
end

if os.getenv("KBCD_VISION_ALONE") then  -- the run of one rank, see below
  local all = pipeline(5)
  print(fingerprint())
  for i = 1, all.nrows do for j = 1, all.ncols do io.write(("%.9g "):format(all(i, j))) end end
  return
end

test("the pipeline gives what it gives on one rank", function()
  local text = ""
  if rank == 0 then
    local pipe = assert(io.popen(spec.outside_mpi() .. " KBCD_VISION_ALONE=1 OMP_NUM_THREADS=1 '" .. os.getenv("KBCD") ..
      "' '" .. os.getenv("KBCD_SOURCE") .. "/tests/scripts/vision/vision_spec.lua'"))
    text = pipe:read("*a")
    pipe:close()
  end
  local all, numbers = pipeline(5), {}
  local marks, rest = kbcd.bcast(text):match("^([^\n]*)\n(.*)$")
  equal(fingerprint(), marks, "fingerprints of features of given filters")
  for number in rest:gmatch("%S+") do numbers[#numbers + 1] = tonumber(number) end
  equal(#numbers, 15 * 20 * 8)
  close(all, spec.make(15, 160, function(i, j) return numbers[(i - 1) * 160 + j] end), 1e-4, "features")
end)

test("its pieces, put together in Lua", function()
  local images, alpha, pool = pictures(4), 0.3, 2
  local c = kbcd.patch_filters(images, { count = 5, size = 4, sample = 300 })
  c.alpha = alpha
  local X = vision.convolve(images, c)
  equal(X.d, 5 * 2 * 4)
  local down, across = shape.height - 3, shape.width - 3
  for i = 1, images.local_n do
    local Z = (vision.normalize(vision.all_patches(images, i, 4)) * c.filters:to("f32"):t()):to("f64"):sub(c.offsets)
    local expected = Matrix.zeros(1, X.d)
    for place = 0, down * across - 1 do
      local y, x = math.floor(place / across), place % across
      local region = (y >= math.floor(down / pool) and 2 or 0) + (x >= math.floor(across / pool) and 1 or 0)
      for j = 1, 5 do
        local plus, minus = 2 * region * 5 + j, (2 * region + 1) * 5 + j
        expected:set(1, plus, expected(1, plus) + math.max(0, Z(place + 1, j) - alpha))
        expected:set(1, minus, expected(1, minus) + math.max(0, -Z(place + 1, j) - alpha))
      end
    end
    close(X.rows:rows(i), expected, 1e-4, "picture " .. i)
  end
end)

test("filters: whitened patches have the identity covariance", function()
  local P = vision.normalize(vision.patches(pictures(6), { count = 800, size = 2, seed = 2 }))
  local mean, W = vision.zca(P, 1e-9)
  local Q = P:to("f64"):sub(mean) * W
  local C = (Q:t() * Q) / Q.nrows
  local values = C:eig()  -- a normalised patch sums to 0: one direction less
  for i = 2, values.nrows do assert(math.abs(values(i, 1) - 1) < 1e-3, "eigenvalue " .. i .. ": " .. values(i, 1)) end
end)

test("ten views, their labels and the mean of their scores", function()
  local images = pictures(3)
  local views = vision.fixed_crops(images, { size = 6 })
  equal(views.n, 30)
  equal(views.views, 10)
  equal(("%dx%dx%d"):format(views.height, views.width, views.channels), "6x6x3")
  local y = kbcd.DataSet(Matrix{ { 2 }, { 0 }, { 1 } })
  local repeated = vision.repeat_rows(y, views.views):gather(Index.range(1, 30))
  close(repeated, spec.make(30, 1, function(i) return ({ 2, 0, 1 })[math.ceil(i / 10)] end), 0, "labels")
  local first, last = kbcd.DataSet.share(30)
  local scores = spec.make(last - first + 1, 2, function(i, j) return (first + i - 1) * (j == 1 and 1 or -2) end)
  local mean = kbcd.gather(vision.average(scores, 10))
  close(mean, Matrix{ { 5.5, -11 }, { 15.5, -31 }, { 25.5, -51 } }, 1e-14, "means")
  equal(vision.mirrored(views).views, 20)
  equal(vision.repeat_rows(y, 2).dtype, "f64")
  fails(function() vision.average(scores, 7) end, "30", "7")
  fails(function() vision.fixed_crops(images, { size = 11 }) end, "11x11", "10x9x3")
  fails(function() vision.fixed_crops(images, {}) end, "size")
end)

-- f(folder) with a folder that is removed afterwards.
local function with_folder(f)
  local folder
  if rank == 0 then
    local pipe = assert(io.popen("mktemp -d"))
    folder = pipe:read("*l")
    pipe:close()
  end
  folder = kbcd.bcast(folder or "")
  local good, message = pcall(f, folder)
  kbcd.barrier()
  if rank == 0 then os.execute("rm -rf '" .. folder .. "'") end
  if not good then error(message, 0) end
end

local function write(path, bytes)
  if rank == 0 then
    os.execute("mkdir -p '" .. path:match("^(.*)/") .. "'")
    local file = assert(io.open(path, "wb"))
    file:write(bytes)
    file:close()
  end
  kbcd.barrier()
end

-- A grey PNG of 2 x 2 pixels (0, 100, 200, 255), as Python's zlib and struct make it.
local png = "\137PNG\013\010\026\010" ..
  "\000\000\000\013IHDR\000\000\000\002\000\000\000\002\008\000\000\000\000W\221R\248\000\000\000\014" ..
  "IDATx\156c\096Ha8\241\031\000\004\037\002\044\198\015\186\033\000\000\000\000IEND\174B\096\130"

test("idx files keep the shape of their pictures", function()
  with_folder(function(folder)
    local bytes = { "\0\0\8\3\0\0\0\3\0\0\0\2\0\0\0\4" }
    for i = 0, 23 do bytes[#bytes + 1] = string.char(i * 10) end
    write(folder .. "/x-images-idx3-ubyte", table.concat(bytes))
    write(folder .. "/x-labels-idx1-ubyte", "\0\0\8\1\0\0\0\3\5\0\7")
    local images, y, classes, skipped = vision.load(folder .. "/x-images-idx3-ubyte")
    equal(("%d: %dx%dx%d"):format(images.n, images.height, images.width, images.channels), "3: 2x4x1")
    close(images:rows():gather(Index.range(2, 2)), spec.make(1, 8, function(_, j) return 70 + 10 * j end), 0, "0..255")
    close(y:gather(Index.range(1, 3)), Matrix{ { 5 }, { 0 }, { 7 } }, 0, "labels")
    equal(classes, nil)
    equal(#skipped, 0)
    equal(vision.load(folder .. "/x-images-idx3-ubyte", { rows = 2 }).n, 2)
    write(folder .. "/x-labels-idx1-ubyte", "\0\0\8\1\0\0\0\2\5\0")
    fails(function() vision.load(folder .. "/x-images-idx3-ubyte") end, "x-labels-idx1-ubyte", "3", "2")
    fails(function() vision.load(folder .. "/x-labels-idx1-ubyte") end, "x-labels-idx1-ubyte", "3 or 4 dimensions")
    fails(function() vision.load(folder .. "/x-images-idx3-ubyte", { skip = true }) end, "'skip'", "idx")
  end)
end)

test("damaged files are errors with their name, or counted", function()
  with_folder(function(folder)
    local record = "\3" .. ("\200"):rep(3072)
    write(folder .. "/cut.bin", record .. record:sub(1, 3000))
    fails(function() vision.load(folder .. "/cut.bin") end, folder .. "/cut.bin", "3000 bytes into picture 2", "3073")
    local images, y, _, skipped = vision.load(folder .. "/cut.bin", { skip = true })
    equal(images.n, 1)
    equal(y:gather(Index.range(1, 1))(1, 1), 3)
    equal(#skipped, 1)
    write(folder .. "/png/cat/1.png", png)
    write(folder .. "/png/cat/2.png", "this is no PNG")
    fails(function() vision.load(folder .. "/png") end, "png/cat/2.png", "PNG")
    local kept, _, classes, left_out = vision.load(folder .. "/png", { skip = true })
    equal(tostring(kept.n) .. kept.height .. kept.width .. kept.channels, "1221")
    close(kept:rows():gather(Index.range(1, 1)), Matrix{ { 0, 100, 200, 255 } }, 0, "pixels")
    equal(table.concat(classes, " "), "cat")
    equal(#left_out, 1)
    assert(left_out[1]:find("cat/2.png", 1, true))
    write(folder .. "/flat/b.png", png)
    write(folder .. "/flat/a.PNG", png)
    for n, from in ipairs{ folder .. "/flat/b.png", folder .. "/flat" } do  -- without classes
      local some, no_labels, no_classes = vision.load(from)
      equal(some.n, n)
      assert(no_labels == nil and no_classes == nil)
    end
    equal(vision.load{ folder .. "/flat/b.png", folder .. "/flat/a.PNG", folder .. "/png/cat/1.png" }.n, 3)
    fails(function() vision.load(folder .. "/flat/c.png") end, folder .. "/flat/c.png")
    fails(function() vision.load(folder .. "/flat", { classes = { "cat" } }) end, "folder for each class")
    write(folder .. "/empty/cat/notes", "")
    fails(function() vision.load(folder .. "/empty") end, folder .. "/empty/cat", ".png")
    fails(function() vision.load(folder .. "/empty/cat") end, folder .. "/empty/cat", "folder for each class")
    fails(function() vision.load(folder .. "/nowhere.bin") end, folder .. "/nowhere.bin")
    fails(function() vision.load(folder .. "/png", { sizes = 3 }) end, "'sizes'", "classes")
    fails(function() vision.load(folder .. "/png", { format = "jpeg" }) end, "jpeg", "cifar")
  end)
end)

-- idx files of pictures of random bytes, with these labels.
local function idx(path, height, width, labels)
  local bytes, n = {}, #labels
  local random = Matrix.rand(1, n * height * width, { seed = 4 })
  for i = 1, n * height * width do bytes[i] = string.char(math.floor(256 * random(1, i))) end
  local function size(x) return "\0\0\0" .. string.char(x) end
  write(path .. "-images-idx3-ubyte", "\0\0\8\3" .. size(n) .. size(height) .. size(width) .. table.concat(bytes))
  write(path .. "-labels-idx1-ubyte", "\0\0\8\1" .. size(n) .. string.char(unpack(labels)))
  return path .. "-images-idx3-ubyte"
end

test("the example cifar: test pictures of another size, and classes that a sample misses", function()
  with_folder(function(folder)
    local rare, only, example = { 9 }, {}, require "example"
    for i = 1, 40 do rare[i], only[i] = rare[i] or i % 3, 9 end
    local train, tests = idx(folder .. "/train", 8, 7, rare), idx(folder .. "/test", 8, 7, only)
    local o = { "--filters", "4", "--size", "3", "--methods", "linear,nystrom", "--lambda", "1e-3" }
    local lines = example("cifar", "--train", train, "--test", tests, "--rows", "5", unpack(o))
    equal(#lines, 2 + 2)
    equal(lines[3]:match("([%d.]+)%%"), "100.00", "no picture of the class was seen")
    local others = idx(folder .. "/others", 7, 8, only)
    fails(function() example("cifar", "--train", train, "--test", others, unpack(o)) end, others, "8x7x1", "7x8x1")
  end)
end)

spec.finish()
