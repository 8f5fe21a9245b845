// Pictures: views and averages by hand, whitening and convolution against formulas and naive loops in f64.
#include <set>

#include "core/blas.hpp"
#include "core/random.hpp"
#include "core/tiles.hpp"
#include "modules/vision/convolution.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

using namespace kbcd::vision;

// Pixels in 0..255 as loaders give them, on every rank the same.
Dense random_pixels(Int n, Int d, unsigned seed) {
  return (normal(n, d, seed) * 60).array().round().cwiseMax(-120).cwiseMin(120) + 125;
}

Images as_images(const Dense& all, ImageShape shape) {
  return Images(DataSet(all.rows(), as_matrix(share(all), DType::f32), "test"), shape);
}

double pixel(const Dense& all, ImageShape s, Int i, Int y, Int x, Int c) {
  return all(i, (y * s.width + x) * s.channels + c);
}

// The features as the header of convolution.hpp writes them, patch by patch.
Dense naive_features(const Dense& all, ImageShape s, const Dense& filters, const Dense& offsets, Int size,
                     std::optional<double> bias, double alpha, Int pool) {
  Int count = filters.rows(), down = s.height - size + 1, across = s.width - size + 1;
  Dense out = Dense::Zero(all.rows(), 2 * pool * pool * count);
  for (Int i = 0; i < all.rows(); ++i)
    for (Int top = 0; top < down; ++top)
      for (Int left = 0; left < across; ++left) {
        std::vector<double> p;
        for (Int y = 0; y < size; ++y)
          for (Int x = 0; x < size; ++x)
            for (Int c = 0; c < s.channels; ++c) p.push_back(pixel(all, s, i, top + y, left + x, c));
        double mean = 0, var = 0;
        for (double v : p) mean += v / static_cast<double>(p.size());
        for (double v : p) var += (v - mean) * (v - mean) / static_cast<double>(p.size());
        Int g = 0;  // the region whose bounds floor(k down / pool) hold the place
        for (Int a = 0; a < pool; ++a)
          for (Int b = 0; b < pool; ++b)
            if (top >= a * down / pool && top < (a + 1) * down / pool && left >= b * across / pool &&
                left < (b + 1) * across / pool)
              g = a * pool + b;
        for (Int j = 0; j < count; ++j) {
          double z = -offsets(0, j);
          for (std::size_t k = 0; k < p.size(); ++k)
            z += filters(j, k) * (bias ? (p[k] - mean) / std::sqrt(var + *bias) : p[k]);
          out(i, (2 * g) * count + j) += std::max(0.0, z - alpha);
          out(i, (2 * g + 1) * count + j) += std::max(0.0, -z - alpha);
        }
      }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vision)

BOOST_AUTO_TEST_CASE(convolution_against_a_naive_loop) {
  struct Case {
    ImageShape shape;
    Int n, size, filters, pool;
    std::optional<double> bias;
    double alpha;
  };
  for (auto& c : std::vector<Case>{{{9, 11, 3}, 5, 4, 50, 2, 10, 0.25},
                                   {{8, 8, 1}, 3, 3, 7, 3, 10, 0.1},
                                   {{30, 31, 1}, 2, 2, 17, 1, 2, 0.25},  // several panels in a region
                                   {{6, 7, 2}, 2, 6, 100, 1, {}, 0},
                                   {{5, 5, 1}, 1, 1, 1, 5, {}, 0.1}}) {
    Int d = c.size * c.size * c.shape.channels;
    Dense pixels = random_pixels(c.n, c.shape.size(), 3), filters = normal(c.filters, d, 4, DType::f32) * 0.3;
    Dense offsets = normal(1, c.filters, 5, DType::f32);
    if (!c.bias) pixels /= 128;
    Convolution convolution{as_matrix(filters), as_matrix(offsets), c.bias, c.alpha, c.pool};
    Dense expected = naive_features(pixels, c.shape, filters, offsets, c.size, c.bias, c.alpha, c.pool);
    for (auto& machine : tiles::names()) {  // with strips of every width
      tiles::choose(machine);
      DataSet x = convolve(as_images(pixels, c.shape), convolution);
      BOOST_TEST(x.n() == c.n);
      BOOST_TEST(relative_distance(x.local(), share(expected)) < 2e-5, machine);
    }
    tiles::choose(tiles::names()[0]);
    BOOST_TEST(expected.maxCoeff() > 0.1);
  }
}

BOOST_AUTO_TEST_CASE(pooling_by_hand) {
  Dense picture(1, 9);
  picture << 1, -2, 0.5, 0.1, 3, -0.25, -1, 0, 2;  // 3 x 3; regions: rows 1 and 2..3, columns likewise
  Convolution plain{as_matrix(Dense::Ones(1, 1)), as_matrix(Dense::Zero(1, 1)), {}, 0.25, 2};
  DataSet x = convolve(as_images(picture, {3, 3, 1}), plain);
  Dense expected(1, 8);
  expected << 0.75, 0,  // 1
      0.25, 1.75,       // -2, 0.5
      0, 0.75,          // 0.1, -1
      2.75 + 1.75, 0;   // 3, -0.25, 0, 2
  BOOST_TEST(distance(x.local(), share(expected)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(what_convolve_refuses) {
  Images images = as_images(random_pixels(2, 48, 1), {4, 4, 3});
  auto refusal = [&](Int filters, Int d, Int offsets, Int pool, double alpha, double bias) {
    return message_of([&] {
      convolve(images, {Matrix::zeros(filters, d), Matrix::zeros(1, offsets), bias, alpha, pool});
    });
  };
  BOOST_TEST(has(refusal(2, 13, 2, 1, 0, 1), "13"));
  BOOST_TEST(has(refusal(2, 75, 2, 1, 0, 1), "5x5"));
  BOOST_TEST(has(refusal(2, 12, 3, 1, 0, 1), "1x2 expected, got 1x3"));
  BOOST_TEST(has(refusal(2, 12, 2, 4, 0, 1), "1..3"));
  BOOST_TEST(has(refusal(2, 12, 2, 1, -1, 1), "alpha"));
  BOOST_TEST(has(refusal(2, 12, 2, 1, 0, 0), "normalize"));
  BOOST_TEST(has(message_of([&] { as_images(random_pixels(2, 47, 1), {4, 4, 3}); }), "48"));
}

BOOST_AUTO_TEST_CASE(whitening_gives_the_identity_covariance) {
  Int n = 3000, d = 12;
  Dense p = normal(n, d, 1) * normal(d, d, 2);
  p.rowwise() += normal(1, d, 3).row(0) * 5;
  auto covariance = [](Dense x) {
    x.rowwise() -= x.colwise().mean().eval();
    return Dense(x.transpose() * x / static_cast<double>(x.rows()));
  };
  for (double epsilon : {1e-12, 0.5}) {
    auto [mean, map] = zca(as_matrix(p), epsilon);
    Dense q = p;
    q.rowwise() -= dense(mean).row(0);
    q *= dense(map);
    BOOST_TEST(q.colwise().mean().cwiseAbs().maxCoeff() < 1e-9);
    if (epsilon < 1e-9) BOOST_TEST(distance(covariance(q), Dense::Identity(d, d)) < 1e-7);
    // Of any epsilon: W symmetric with W² = (C + ε I)^-1.
    Dense inverse = (covariance(p) + epsilon * Dense::Identity(d, d)).inverse();
    BOOST_TEST(relative_distance(blas::product(map, map), inverse) < 1e-7);
    BOOST_TEST(distance(map, dense(map).transpose()) < 1e-9);
  }
  BOOST_CHECK_EXCEPTION(zca(as_matrix(p), 0), Error, mentions("epsilon"));
}

BOOST_AUTO_TEST_CASE(normalised_patches) {
  Dense p = random_pixels(40, 27, 1);
  p.row(3).setConstant(255);  // flat
  Matrix m = as_matrix(p, DType::f32);
  normalize_patches(m, 10);
  for (Int i = 0; i < p.rows(); ++i) {
    Eigen::RowVectorXd row = p.row(i).array() - p.row(i).mean();
    p.row(i) = row / std::sqrt(row.squaredNorm() / 27 + 10);
  }
  BOOST_TEST(distance(m, p) < 1e-5);
  BOOST_TEST(p.row(3).cwiseAbs().maxCoeff() == 0);
}

// Rows of an odd number of values begin everywhere in a cache line.
BOOST_AUTO_TEST_CASE(equal_patches_have_equal_bits_wherever_they_are) {
  for (Int d : {5, 27, 75, 108}) {
    Dense p = random_pixels(1, d, 1).replicate(33, 1);
    Matrix m(33, d + 1, DType::f32);
    Matrix rows = m.col_block(0, d);
    rows.copy_from(as_matrix(p, DType::f32));
    normalize_patches(rows, 10);
    for (Int i = 1; i < 33; ++i)
      for (Int j = 0; j < d; ++j) BOOST_REQUIRE(rows.get(i, j) == rows.get(0, j));
  }
}

BOOST_AUTO_TEST_CASE(patches_are_pieces_of_pictures_at_random_places) {
  ImageShape shape{5, 6, 2};
  Dense pixels = random_pixels(6, shape.size(), 1);
  for (Int i = 0; i < pixels.size(); ++i) pixels(i) = static_cast<double>(i);  // every pixel another
  Images images = as_images(pixels, shape);
  Matrix patches = random_patches(images, 800, 3, 7);
  std::set<std::array<Int, 3>> seen;
  std::map<double, std::array<Int, 3>> places;  // by the first number
  for (Int i = 0; i < 6; ++i)
    for (Int y = 0; y < 3; ++y)
      for (Int x = 0; x < 4; ++x) places[pixel(pixels, shape, i, y, x, 0)] = {i, y, x};
  for (Int j = 0; j < patches.rows(); ++j) {
    auto [i, y, x] = places.at(patches.get(j, 0));
    seen.insert({i, y, x});
    for (Int k = 0; k < 18; ++k)
      BOOST_REQUIRE(patches.get(j, k) == pixel(pixels, shape, i, y + k / 6, x + k % 6 / 2, k % 2));
  }
  BOOST_TEST(seen.size() == 72);  // all places; each is missed by 800 draws with probability e^-11
  BOOST_TEST(distance(random_patches(images, 800, 3, 7), dense(patches)) == 0);
  BOOST_TEST(distance(random_patches(images, 800, 3, 8), dense(patches)) > 0);
  for (Int i = 0; i < images.local_n(); ++i) {
    Matrix all = all_patches(images, i, 3);
    BOOST_TEST(all.rows() == 12);
    BOOST_TEST(all.get(7, 0) == pixel(pixels, shape, images.first() + i, 1, 3, 0));
    BOOST_TEST(all.get(7, 17) == pixel(pixels, shape, images.first() + i, 3, 5, 1));
  }
  BOOST_CHECK_EXCEPTION(random_patches(images, 4, 6, 7), Error, mentions("5x6x2"));
  BOOST_CHECK_EXCEPTION(random_patches(images, Int{1} << 50, 3, 7), Error, mentions("more than this machine holds"));
  if (images.local_n() > 0) BOOST_CHECK_EXCEPTION(all_patches(images, 0, Int{1} << 36), Error, mentions("5x6x2"));
}

// This rank's view `local` is that crop of picture i.
void check_view(const Images& views, const Dense& pixels, ImageShape shape, Int local, Int i, Crop crop) {
  std::vector<float> got(views.shape().size());
  views.read(local, got.data());
  Int k = 0;
  for (Int y = 0; y < views.shape().height; ++y)
    for (Int x = 0; x < views.shape().width; ++x)
      for (Int c = 0; c < shape.channels; ++c) {
        Int from = crop.mirrored ? views.shape().width - 1 - x : x;
        BOOST_REQUIRE(got[k++] == pixel(pixels, shape, i, crop.top + y, crop.left + from, c));
      }
}

BOOST_AUTO_TEST_CASE(views_of_pictures) {
  ImageShape shape{7, 6, 3};
  for (Int n : {1, 2, 5}) {
    Dense pixels = random_pixels(n, shape.size(), 1);
    Images images = as_images(pixels, shape), ten = fixed_crops(images, 4, true), two = mirrored(images);
    BOOST_TEST(ten.n() == 10 * n);
    const Crop places[] = {{0, 0, false}, {0, 2, false}, {3, 0, false}, {3, 2, false}, {1, 1, false}};
    for (Int i = 0; i < ten.local_n(); ++i) {
      Crop crop = places[(ten.first() + i) % 5];
      crop.mirrored = (ten.first() + i) % 10 >= 5;
      check_view(ten, pixels, shape, i, (ten.first() + i) / 10, crop);
    }
    for (Int i = 0; i < two.local_n(); ++i)
      check_view(two, pixels, shape, i, (two.first() + i) / 2, {0, 0, (two.first() + i) % 2 == 1});
    Images four = mirrored(two);  // a view of a view
    BOOST_TEST(four.views() == 4);
    BOOST_TEST(random_crops(four, 4, 3, true, 1).views() == 12);
    for (Int i = 0; i < four.local_n(); ++i) {
      Int row = four.first() + i;
      check_view(four, pixels, shape, i, row / 4, {0, 0, (row % 2 == 1) != (row / 2 % 2 == 1)});
    }
  }
}

BOOST_AUTO_TEST_CASE(random_crops_are_everywhere_and_the_same_on_any_ranks) {
  ImageShape shape{6, 5, 1};
  Int n = 40, views = 9;
  Dense pixels(n, shape.size());
  for (Int i = 0; i < n; ++i)
    for (Int k = 0; k < shape.size(); ++k) pixels(i, k) = static_cast<double>(k);
  Images crops = random_crops(as_images(pixels, shape), 4, views, true, 5);
  Dense all = dense(comm::allgather(crops.rows().local()));
  BOOST_TEST(all.rows() == n * views);
  std::map<std::array<Int, 3>, int> counts;
  Random random(5, Stream::crop);
  for (Int i = 0; i < all.rows(); ++i) {
    bool mirrored = all(i, 0) > all(i, 1);
    Int first = static_cast<Int>(all(i, mirrored ? 3 : 0));
    ++counts[{first / 5, first % 5, mirrored}];
    // The place is a function of the seed and the number of the view, whoever holds it.
    BOOST_TEST(first / 5 == static_cast<Int>(random.uniform(i, 0) * 3));
    BOOST_TEST(first % 5 == static_cast<Int>(random.uniform(i, 1) * 2));
    BOOST_TEST(mirrored == (random.uniform(i, 2) < 0.5));
  }
  BOOST_TEST(counts.size() == 3 * 2 * 2);
  for (auto& [place, count] : counts) BOOST_TEST((count > 12 && count < 55), count);  // of 30, give or take 5
}

BOOST_AUTO_TEST_CASE(averages_and_repeated_rows) {
  for (Int n : {1, 3, 8})
    for (Int views : {1, 2, 10}) {
      Dense scores = normal(n * views, 3, 1), expected = Dense::Zero(n, 3), y = normal(n, 2, 2);
      for (Int i = 0; i < n * views; ++i) expected.row(i / views) += scores.row(i) / static_cast<double>(views);
      BOOST_TEST(distance(average_views(as_matrix(share(scores)), views), share(expected)) < 1e-14);
      DataSet repeated = repeat_rows(DataSet(n, as_matrix(share(y)), "test"), views);
      Dense twice(n * views, 2);
      for (Int i = 0; i < n * views; ++i) twice.row(i) = y.row(i / views);
      BOOST_TEST(distance(repeated.local(), share(twice)) == 0);
      BOOST_TEST((repeated.dtype() == DType::f64));
    }
  BOOST_CHECK_EXCEPTION(average_views(as_matrix(share(normal(10, 2, 1))), 3), Error, mentions("10"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
