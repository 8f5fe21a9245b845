-- patch_filters(images, options): filters for vision.convolve from random patches of the pictures themselves, after Coates
-- and Ng and the paper's CIFAR-10 pipeline. With P the normalised patches, m and W their mean and whitening,
--
--     D = rows of (P − m) W, each of length 1;     z = D ((p − m) W)ᵀ = F p − o,     F = D W,     o = F m.
--
-- The pieces are those of kbcd.vision: to change one, copy this file.

local kbcd = require "kbcd"
local runtime = require "kbcd.runtime"
local options = require "kbcd.descent.options"
local vision, Index = kbcd.vision, kbcd.Index

runtime.docs.patch_filters = [[patch_filters(images [, options])
A table { filters, offsets, normalize } for vision.convolve: `count` random patches of the pictures, normalised and
whitened. options: count = 512; size = 6 (pixels); sample = 100000 (patches that the whitening is fitted on); normalize = 10
(bias of the normalisation); epsilon = 0.1 (of the whitening); seed. Flat patches (variance below the bias) are skipped.]]

-- The rows of the normalised P whose variance was above the bias: their mean square is var / (var + bias) > 1/2.
local function not_flat(P)
  local squares, list = P:clone():square():sum(2), {}
  for i = 1, P.nrows do if squares(i, 1) > P.ncols / 2 then list[#list + 1] = i end end
  return Index(list)
end

return function(images, given)
  local o = options.read("patch_filters", given or {}, {
    count = { options.count, 512 }, size = { options.count, 6 }, sample = { options.count, 100000 },
    normalize = { options.not_negative, 10 }, epsilon = { options.not_negative, 0.1 }, seed = { options.seed, kbcd.seed() },
  })
  local P = vision.normalize(vision.patches(images, { count = o.sample, size = o.size, seed = o.seed }), o.normalize)
  P = P:take(not_flat(P))
  if P.nrows < o.count then
    error(("patch_filters: %d filters of %d patches that are not flat; raise sample"):format(o.count, P.nrows), 2)
  end
  local mean, W = vision.zca(P, o.epsilon)
  local D = P:take(Index.range(1, o.count)):to("f64"):sub(mean) * W
  D:cdiv(D:clone():square():sum(2):sqrt())
  local F = D * W
  return { filters = F, offsets = (F * mean:t()):t(), normalize = o.normalize }
end
