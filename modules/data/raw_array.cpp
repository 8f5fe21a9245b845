#include "modules/data/raw_array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/half.hpp"

namespace kbcd {
namespace {

template <class U>
U raw_at(const unsigned char* from, bool swap) {
  std::array<unsigned char, sizeof(U)> raw;
  std::copy_n(from, sizeof(U), raw.begin());
  if (swap) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<U>(raw);
}

template <class U>
double number_at(const unsigned char* from, bool swap) {
  return static_cast<double>(raw_at<U>(from, swap));
}

double half_at(const unsigned char* from, bool swap) {
  auto packed = raw_at<std::uint16_t>(from, swap);
  float value = 0;
  half::unpack(&packed, &value, 1);
  return value;
}

double truth_at(const unsigned char* from, bool) {
  return *from != 0;
}

using Decoder = double (*)(const unsigned char*, bool);

struct Element {
  char kind;
  int bytes;
  Decoder decode;
};

constexpr Element elements[] = {{'b', 1, truth_at},
                                {'u', 1, number_at<std::uint8_t>},
                                {'u', 2, number_at<std::uint16_t>},
                                {'u', 4, number_at<std::uint32_t>},
                                {'u', 8, number_at<std::uint64_t>},
                                {'i', 1, number_at<std::int8_t>},
                                {'i', 2, number_at<std::int16_t>},
                                {'i', 4, number_at<std::int32_t>},
                                {'i', 8, number_at<std::int64_t>},
                                {'f', 2, half_at},
                                {'f', 4, number_at<float>},
                                {'f', 8, number_at<double>}};

Decoder decoder(const RawArray& array, const std::string& path) {
  for (auto& element : elements)
    if (element.kind == array.kind && element.bytes == array.bytes) return element.decode;
  fail("{}: numbers of type {} are not read; f2, f4, f8, u1..u8, i1..i8 or b1 expected: save {}", path, array.type(),
       array.kind == 'c' ? "a.real and a.imag, side by side" : "a.astype(\"f8\")");
}

Int checked_product(const std::vector<Int>& factors, const std::string& path) {
  Int product = 1;
  for (Int f : factors)
    require(f >= 0 && !__builtin_mul_overflow(product, f, &product), "{}: the header announces an impossible shape",
            path);
  return product;
}

Int checked_count(ByteReader& in, const RawArray& array) {
  Int count = checked_product(array.shape, in.name());
  in.require_more(checked_product({count, array.bytes}, in.name()));
  return count;
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

std::string RawArray::type() const {
  return fmt::format("{}{}", kind, kind == 'U' ? bytes / 4 : bytes);
}

const Param& scale_option() {
  static const Param option = {.name = "scale",
                               .help = "u8 values divided by 255; by default for images (three or more dimensions)",
                               .kind = Kind::flag};
  return option;
}

const Param& bytes_option() {
  static const Param option = {
      .name = "bytes",
      .help =
          "rows kept as bytes, which take a quarter of the memory of f32 and whose kernels are "
          "faster; by default for 8-bit numbers of 16 columns or more",
      .kind = Kind::flag};
  return option;
}

DType natural_dtype(const RawArray& array) {
  return array.bytes <= 2 || (array.kind == 'f' && array.bytes == 4) ? DType::f32 : DType::f64;
}

NumberReader::NumberReader(ByteReader& in, const RawArray& array)
    : in_(in),
      bytes_(array.bytes),
      start_(in.position()),
      count_(checked_count(in, array)),
      swap_(array.big_endian != (std::endian::native == std::endian::big)),
      wide_(array.kind != 'f' && array.bytes == 8),
      decode_(decoder(array, in.name())) {}

void NumberReader::read(Int first, Int count, std::vector<double>& to) {
  raw_.resize(count * bytes_);
  to.resize(count);
  in_.skip_to(start_ + first * bytes_);
  in_.read(raw_.data(), count * bytes_, "the numbers");
  for (Int j = 0; j < count; ++j) {
    to[j] = decode_(raw_.data() + j * bytes_, swap_);
    require(!wide_ || std::abs(to[j]) < 0x1p53, "{}: the integer {} has more digits than a number here holds",
            in_.name(), to[j]);
  }
}

namespace {

// This rank's rows of an array, and where they begin in the file.
struct Place {
  const RawArray& array;
  Int first, rows, d, file_rows;
};

// visit(i, j, number) for every number of them, in the order of the file.
template <class Visit>
void each_number(NumberReader& numbers, const Place& place, Visit&& visit) {
  std::vector<double> run;  // of numbers as the file has them: a row, or a column's part
  if (place.array.column_major) {
    for (Int j = 0; j < place.d && place.rows; ++j) {
      Int column = row_major_position(j, place.array.shape);
      numbers.read(j * place.file_rows + place.first, place.rows, run);
      for (Int i = 0; i < place.rows; ++i) visit(i, column, run[i]);
    }
    return;
  }
  for (Int i = 0; i < place.rows; ++i) {
    numbers.read((place.first + i) * place.d, place.d, run);
    for (Int j = 0; j < place.d; ++j) visit(i, j, run[j]);
  }
}

}  // namespace

DataSet read_array(ByteReader& in, const RawArray& array, const Params& options) {
  auto& path = in.name();
  require(!array.shape.empty(), "{}: an array of at least one dimension expected, got a single number", path);
  Int file_rows = array.shape[0];
  Int d = checked_product({array.shape.begin() + 1, array.shape.end()}, path);
  NumberReader numbers(in, array);
  require(file_rows >= 1 && d >= 1, "{}: at least one row and one column expected, the header says {}x{}", path,
          file_rows, d);
  Int n = options.get<Int>("rows").value_or(file_rows);
  require(n <= file_rows, "{}: rows = {} asked for, the file has {}", path, n, file_rows);

  DType dtype = options.get<DType>("dtype").value_or(natural_dtype(array));
  bool unsigned_byte = array.kind == 'u' && array.bytes == 1;
  double scale = options.get<bool>("scale").value_or(unsigned_byte && array.shape.size() >= 3) ? 1.0 / 255 : 1;
  require(scale == 1 || unsigned_byte, "{}: scale = true is for u8 values, the file has {}", path, array.type());
  constexpr Int many = 16;  // columns: labels are better numbers, and few columns gain nothing
  bool eight_bits = array.bytes == 1 && array.kind != 'f';
  bool as_bytes = options.get<bool>("bytes").value_or(eight_bits && d >= many);
  require(eight_bits || !as_bytes, "{}: bytes = true is for 8-bit numbers, the file has {}", path, array.type());

  Layout layout = comm::layout(n);
  Place place{array, layout.first(comm::rank()), layout.count(comm::rank()), d, file_rows};
  if (as_bytes) {
    require_byte_room(path, n, d, fewer_rows);
    ByteCode code{scale, array.kind == 'i' ? -128 : 0};
    ByteMatrix local(place.rows, d, code);
    std::uint8_t* bytes = local.line(0);
    each_number(numbers, place, [&, step = local.step()](Int i, Int j, double number) {
      bytes[i * step + j] = static_cast<std::uint8_t>(static_cast<int>(number) - code.shift);
    });
    return {n, local, dtype, path};
  }
  require_dense_room(path, n, d, dtype, fewer_rows);
  Matrix local(place.rows, d, dtype);
  dispatch(dtype, [&]<class T>() {
    auto v = local.view<T>();
    each_number(numbers, place, [&](Int i, Int j, double number) { v(i, j) = static_cast<T>(number * scale); });
  });
  return {n, local, path};
}

Loaded load_array(const std::function<ArrayRows()>& read) {
  std::optional<ArrayRows> rows;
  comm::together([&] { rows = read(); });
  Loaded loaded{rows->x};
  if (rows->names) loaded.classes = rows->names->merge(rows->x.local());
  return loaded;
}

}  // namespace kbcd
