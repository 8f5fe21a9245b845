// Products of bytes against sums of products, one by one, on every kind of tile that this CPU can run.
#include <boost/test/unit_test.hpp>

#include "core/byte_tiles.hpp"

namespace kbcd::tests {
namespace {

// Rows of 255 and of 0, so that sums of two products in 16 bits would saturate, and mixed ones.
std::uint8_t byte(Int i, Int k) {
  if (i % 5 == 0) return 255;
  if (i % 5 == 1) return 0;
  return static_cast<std::uint8_t>((i * 131 + k * k * 7 + k * 29) % 256);
}

tiles::ByteRows rows_of_bytes(Int count, Int depth) {
  tiles::ByteRows rows;
  rows.resize(count, depth);
  for (Int i = 0; i < count; ++i)
    for (Int k = 0; k < depth; ++k) rows.row(i)[k] = byte(i, k);
  return rows;
}

void products(Int m, Int n, Int depth, Int from, Int to) {
  constexpr std::uint32_t other = 0xABCD;
  auto a = rows_of_bytes(m, depth), b = rows_of_bytes(n, depth);
  tiles::ByteColumns columns(b);
  Int height = (m + 15) / 16 * 16, width = (n + 47) / 48 * 48;
  std::vector<std::uint32_t> c(height * (width + 1), other);
  tiles::multiply(a, columns, 0, from, to, {c.data(), height, width, width + 1});
  Int wrong = 0;
  for (Int i = 0; i < height; ++i) {
    for (Int j = 0; j < n && i < m; ++j) {
      Int sum = 0;
      for (Int k = from; k < to; ++k) sum += byte(i, k) * (byte(j, k) - 128);
      wrong += c[i * (width + 1) + j] != static_cast<std::uint32_t>(sum);
    }
    wrong += c[i * (width + 1) + width] != other;
  }
  BOOST_TEST(wrong == 0, fmt::format("{}x{}x{}, {}..{}: {} are wrong", m, depth, n, from, to, wrong));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(byte_tiles)

BOOST_AUTO_TEST_CASE(products_of_any_shape_are_exact) {
  for (auto& name : tiles::byte_names()) {
    tiles::choose_bytes(name);
    for (Int m : {1, 7, 16, 29})
      for (Int n : {1, 48, 101})
        for (Int depth : {1, 3, 4, 783, 784, 4097}) products(m, n, depth, 0, depth);
    products(9, 50, 3000, 1024, 2048);
    products(9, 50, 3001, 2048, 3001);
    products(3, 3, 70001, 0, 70001);  // wraps around
  }
  tiles::choose_bytes("none");
  BOOST_TEST(!tiles::multiplies_bytes());
  BOOST_CHECK_THROW(tiles::choose_bytes("amx9000"), Error);
  tiles::choose_bytes(tiles::byte_names().empty() ? "none" : tiles::byte_names().front());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
