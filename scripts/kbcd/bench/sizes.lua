-- The sizes of `kbcd bench`: those that its bars are for, and tiny ones (--quick) that only show that everything works.

local sizes = {}

sizes.full = {
  peak = 4096,                                        -- the product that everything is compared with
  read = 2 ^ 28,                                      -- numbers, read once for the speed of memory
  n = 32768, b = 4096,                                -- blocks
  shapes = {                                          -- after the paper's data sets
    { name = "speech", d = 440, k = 147, bar = 0.80 },
    { name = "fashion", d = 784, k = 10, bar = 0.85 },
    { name = "cifar", d = 4096, k = 10, share = 0.25 },   -- of the rows
  },
  text = { d = 16384, k = 10, words = 100, share = 0.5, bars = { 0.39, 0.2 } },  -- kernels, features
  start = { n = 2000, d = 20 },                       -- a small table
  hashing = { bytes = 2e7 },                          -- of documents
  images = { n = 60000, d = 784, k = 10, test = 10000 },  -- Fashion-MNIST
  p = 10000, p_block = 2048, epochs = 3,
  path_block = 1024,                                  -- of the full kernel with 10 λ, whose factors cost n b² each
  predict_p = 2048,
  solver_epochs = 20,
  loss_p = 5000,
  cached_n = 30000,                                   -- the full kernel whose later epochs are timed
  memory = 2 ^ 30,                                    -- the budget of the runs whose memory is measured
  timit = { n = 2251569, d = 440, k = 147, b = 4096, steps = 2 },
  vision = { n = 2000, filters = 512, size = 6, shapes = {
    { name = "cifar", height = 32, width = 32, channels = 3, bar = 0.6 },
    { name = "fashion", height = 28, width = 28, channels = 1 },
  } },
  scaling = { n = 6000, p = 2048, b = 1024 },
  against = { ridge_n = 15000, nystrom = { 5000, 10000 }, rf = 10000, epochs = 60 },
}

sizes.quick = {
  peak = 128, read = 2 ^ 16,
  n = 300, b = 64,
  shapes = {
    { name = "speech", d = 44, k = 15, bar = 0.80 },
    { name = "fashion", d = 28, k = 10, bar = 0.85 },
    { name = "cifar", d = 64, k = 10, share = 0.25 },
  },
  text = { d = 500, k = 10, words = 20, share = 0.5, bars = { 0.39, 0.2 } },
  start = { n = 25, d = 3 },
  hashing = { bytes = 2e4 },
  images = { n = 400, d = 28, k = 10, test = 100 },
  p = 128, p_block = 64, epochs = 3,
  path_block = 32,
  predict_p = 64,
  solver_epochs = 4,
  loss_p = 64,
  cached_n = 200,
  memory = 2 ^ 26,
  timit = { n = 1000, d = 44, k = 15, b = 64, steps = 2 },
  vision = { n = 5, filters = 8, size = 3, shapes = {
    { name = "cifar", height = 8, width = 8, channels = 3, bar = 0.6 },
    { name = "fashion", height = 7, width = 7, channels = 1 },
  } },
  scaling = { n = 100, p = 64, b = 32 },
  against = { ridge_n = 200, nystrom = { 50, 100 }, rf = 100, epochs = 3 },
}

return sizes
