-- Pictures as rows of features of filters (vision.convolve); random patches of the training pictures are the filters
-- (kbcd.patch_filters). Results are means over the views of a picture.
--
-- fit(raw, settings): raw is a path or a list of paths, as vision.load takes it, or { images, y, y_names }. settings:
-- filters = 512, size = 6, pool = 2, crop (train on random crops of so many pixels, predict with ten fixed ones), views = 1
-- (crops of each training picture), mirror (train and predict with mirror images).

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local vision = kbcd.vision

local pictures = {
  expects = "pictures: an idx file, a CIFAR-10 batch (.bin), a .png file, a folder of .png files, or one with a folder of " ..
    "them for each class",
  rows = "pictures",
}

pictures.schema = {
  height = { options.count }, width = { options.count }, channels = { options.count },
  filters = { options.matrix }, offsets = { options.matrix }, normalize = { options.positive },
  alpha = { options.not_negative }, pool = { options.count }, crop = { options.maybe(options.count), false },
  mirror = { options.flag, false },
}

local function load(raw, s, how)
  if type(raw) == "table" and raw.images then return raw end
  local first = type(raw) == "table" and raw[1] or raw
  local png = first:lower():match("%.png$") or runtime.files.is_folder(first)
  local images, y, classes = vision.load(raw, { channels = png and s and s.channels or nil })
  return { images = images, y = how.labels and y or nil, y_names = classes }
end

local function shape(s) return ("%dx%dx%d"):format(s.height, s.width, s.channels) end

-- The views of pictures that are to be predicted.
local function views_of(s, images)
  if s.crop then return vision.fixed_crops(images, { size = s.crop }) end
  return s.mirror and vision.mirrored(images) or images
end

local function set_of(s, loaded, views)
  return { X = vision.convolve(views, { filters = s.filters, offsets = s.offsets, normalize = s.normalize, alpha = s.alpha,
      pool = s.pool }), y = loaded.y, y_names = loaded.y_names, n = loaded.images.n, views = views.views, shape = views.shape,
    result = views.views > 1 and function(S) return vision.average(S, views.views) end or nil }
end

function pictures.fit(raw, given)
  local loaded = load(raw, nil, { labels = true })
  local images = loaded.images
  local s = { height = images.height, width = images.width, channels = images.channels, pool = given.pool or 2, alpha = 0.25,
    crop = given.crop or false, mirror = given.mirror or false }
  local views = s.crop and vision.random_crops(images, { size = s.crop, views = given.views or 1 }) or views_of(s, images)
  local c = kbcd.patch_filters(views, { count = given.filters, size = given.size })
  s.filters, s.offsets, s.normalize = c.filters, c.offsets, c.normalize
  return s, set_of(s, loaded, views)
end

function pictures.apply(s, raw, how)
  local loaded = load(raw, s, how)
  if loaded.images.shape ~= shape(s) then
    local what = type(raw) == "string" and raw or raw[1] or "the pictures"
    error(("%s: pictures of %s expected, as for training, got %s"):format(what, shape(s), loaded.images.shape), 0)
  end
  return set_of(s, loaded, views_of(s, loaded.images))
end

function pictures.columns(s)
  local size, count = math.sqrt(s.filters.ncols / s.channels), s.filters.nrows
  local side = math.min(s.height, s.width, s.crop or math.huge)
  if s.crop and s.crop > math.min(s.height, s.width) then error(("crops of %d pixels of %s"):format(s.crop, shape(s)), 0) end
  if size % 1 ~= 0 or size < 1 or size > side or count < 1 then
    error(("filters: rows for patches of pictures of %s expected, got %d numbers"):format(shape(s), s.filters.ncols), 0)
  end
  if s.offsets.nrows ~= 1 or s.offsets.ncols ~= count then error(("offsets: 1 x %d numbers expected"):format(count), 0) end
  if s.pool > side - size + 1 then error(("pool: at most %d expected, got %d"):format(side - size + 1, s.pool), 0) end
  return 2 * s.pool ^ 2 * count
end

function pictures.describe(s)
  local size = math.sqrt(s.filters.ncols / s.channels)
  return ("pictures: of %s%s%s, %d filters of %dx%d pixels, summed over %dx%d regions"):format(shape(s),
    s.crop and (", ten crops of %d pixels"):format(s.crop) or "", s.mirror and ", and mirrored" or "", s.filters.nrows, size,
    size, s.pool, s.pool)
end

return pictures
