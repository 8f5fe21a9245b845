// Arrays of numbers behind a header (.npy, idx): each rank reads its own rows and converts them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "modules/data/loader.hpp"

namespace kbcd {
namespace {

template <class U>
double number_at(const unsigned char* from, bool swap) {
  std::array<unsigned char, sizeof(U)> raw;
  std::copy_n(from, sizeof(U), raw.begin());
  if (swap) std::reverse(raw.begin(), raw.end());
  return static_cast<double>(std::bit_cast<U>(raw));
}

using Decoder = double (*)(const unsigned char*, bool);

struct Element {
  char kind;
  int bytes;
  Decoder decode;
};

constexpr Element elements[] = {
    {'b', 1, number_at<std::uint8_t>},  {'u', 1, number_at<std::uint8_t>},  {'u', 2, number_at<std::uint16_t>},
    {'u', 4, number_at<std::uint32_t>}, {'u', 8, number_at<std::uint64_t>}, {'i', 1, number_at<std::int8_t>},
    {'i', 2, number_at<std::int16_t>},  {'i', 4, number_at<std::int32_t>},  {'i', 8, number_at<std::int64_t>},
    {'f', 4, number_at<float>},         {'f', 8, number_at<double>}};

Decoder decoder(const RawArray& array, const std::string& path) {
  for (auto& element : elements)
    if (element.kind == array.kind && element.bytes == array.bytes) return element.decode;
  fail("{}: numbers of type {}{} are not read; f4, f8, u1..u8, i1..i8 or b1 expected", path, array.kind, array.bytes);
}

Int checked_product(const std::vector<Int>& factors, const std::string& path) {
  Int product = 1;
  for (Int f : factors)
    require(f >= 0 && !__builtin_mul_overflow(product, f, &product), "{}: the header announces an impossible shape",
            path);
  return product;
}

// Where column j of a file that counts its later dimensions first-fastest goes, counted last-fastest.
Int row_major_position(Int j, const std::vector<Int>& shape) {
  Int position = 0, stride = 1;
  for (std::size_t k = 1; k < shape.size(); ++k) stride *= shape[k];
  for (std::size_t k = 1; k < shape.size(); ++k) {
    stride /= shape[k];
    position += j % shape[k] * stride;
    j /= shape[k];
  }
  return position;
}

}  // namespace

const Param& scale_option() {
  static const Param option = {.name = "scale",
                               .help = "u8 values divided by 255; by default for images (three or more dimensions)",
                               .kind = Kind::flag};
  return option;
}

DataSet read_array(ByteReader& in, const RawArray& array, const Params& options) {
  auto& path = in.name();
  auto decode = decoder(array, path);
  Int file_rows = array.shape.at(0), bytes = array.bytes;
  Int d = checked_product({array.shape.begin() + 1, array.shape.end()}, path);
  Int start = in.position();
  in.require_more(checked_product({file_rows, d, bytes}, path));
  require(file_rows >= 1 && d >= 1, "{}: at least one row and one column expected, the header says {}x{}", path,
          file_rows, d);
  Int n = options.get<Int>("rows").value_or(file_rows);
  require(n <= file_rows, "{}: rows = {} asked for, the file has {}", path, n, file_rows);

  bool narrow = array.bytes <= 2 || (array.kind == 'f' && array.bytes == 4);
  DType dtype = options.get<DType>("dtype").value_or(narrow ? DType::f32 : DType::f64);
  require_dense_room(path, n, d, dtype, fewer_rows);
  Matrix local(comm::layout(n).count(comm::rank()), d, dtype);
  bool byte = array.kind == 'u' && array.bytes == 1;
  double scale = options.get<bool>("scale").value_or(byte && array.shape.size() >= 3) ? 1.0 / 255 : 1;
  require(scale == 1 || byte, "{}: scale = true is for u8 values, the file has {}{}", path, array.kind, array.bytes);
  bool swap = array.big_endian != (std::endian::native == std::endian::big);
  bool wide = array.kind != 'f' && array.bytes == 8;

  Int first = comm::layout(n).first(comm::rank());
  std::vector<unsigned char> raw;
  // One run of numbers as the file has them: a row, or a column's part.
  auto run = [&](Int offset, Int count, auto&& put) {
    raw.resize(count * bytes);
    in.skip_to(start + offset * bytes);
    in.read(raw.data(), count * bytes, "the numbers");
    for (Int j = 0; j < count; ++j) {
      double value = decode(raw.data() + j * bytes, swap);
      require(!wide || std::abs(value) < 0x1p53, "{}: the integer {} has more digits than a number here holds", path,
              value);
      put(j, value * scale);
    }
  };
  dispatch(local.dtype(), [&]<class T>() {
    auto v = local.view<T>();
    if (array.column_major)
      for (Int j = 0; j < d && v.rows; ++j) {
        Int column = row_major_position(j, array.shape);
        run(j * file_rows + first, v.rows, [&](Int i, double value) { v(i, column) = static_cast<T>(value); });
      }
    else
      for (Int i = 0; i < v.rows; ++i)
        run((first + i) * d, d, [&](Int j, double value) { v(i, j) = static_cast<T>(value); });
  });
  return {n, local, path};
}

}  // namespace kbcd
