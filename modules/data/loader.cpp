#include "modules/data/loader.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace kbcd {
namespace {

struct Format {
  const char* name;
  RegisteredLoader::Matches matches;
  RegisteredLoader::Load load;
};

std::vector<Format>& formats() {
  static std::vector<Format> formats;
  return formats;
}

}  // namespace

RegisteredLoader::RegisteredLoader(const char* format, Matches matches, Load load) {
  formats().push_back({format, matches, load});
}

DataSet load(const std::string& path, const LoadOptions& options) {
  require(!options.rows || *options.rows >= 1, "{}: rows >= 1 expected, got {}", path, options.rows.value_or(0));
  std::array<char, 16> bytes{};
  Int count = ByteReader(path).read_some(bytes.data(), bytes.size());
  std::string known;
  for (auto& format : formats()) {
    if (format.matches({bytes.data(), static_cast<std::size_t>(count)})) return format.load(path, options);
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  fail("{}: the file is in none of the known formats ({}), plain or gzipped", path, known);
}

ByteReader::ByteReader(const std::string& path) : path_(path) {
  require(!std::filesystem::is_directory(path), "{}: a file expected, this is a folder", path);
  file_ = gzopen(path.c_str(), "rb");
  require(file_ != nullptr, "{}: cannot be read ({})", path, std::strerror(errno));
  gzbuffer(static_cast<gzFile>(file_), 1 << 20);
  compressed_ = !gzdirect(static_cast<gzFile>(file_));
  std::error_code error;
  file_bytes_ = static_cast<Int>(std::filesystem::file_size(path, error));
  if (error) file_bytes_ = 0;
}

ByteReader::~ByteReader() {
  gzclose(static_cast<gzFile>(file_));
}

Int ByteReader::read_some(void* to, Int bytes) {
  constexpr Int most = 1 << 30;
  Int got = 0;
  while (got < bytes) {
    int n = gzread(static_cast<gzFile>(file_), static_cast<char*>(to) + got, std::min(most, bytes - got));
    int code = Z_OK;
    const char* message = gzerror(static_cast<gzFile>(file_), &code);
    require(n >= 0 && (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR), "{}: damaged at byte {} ({})",
            path_, position_ + got, message);
    if (n == 0) break;
    got += n;
  }
  position_ += got;
  return got;
}

void ByteReader::read(void* to, Int bytes, const char* what) {
  Int got = read_some(to, bytes);
  require(got == bytes, "{}: the file ends at byte {} in the middle of {}; {} more bytes expected", path_, position_,
          what, bytes - got);
}

void ByteReader::skip_to(Int position) {
  if (position == position_) return;
  require(gzseek(static_cast<gzFile>(file_), position, SEEK_SET) == position, "{}: the file ends before byte {}", path_,
          position);
  position_ = position;
}

void ByteReader::require_length(Int bytes) {
  constexpr Int best_ratio = 1032;  // deflate packs at most so much into a byte
  Int most = compressed_ ? file_bytes_ * best_ratio : file_bytes_;
  require(bytes <= most, "{}: the header announces {} bytes in all, but the file holds {}{}", path_, bytes,
          compressed_ ? "at most " : "", most);
}

namespace {

template <class U>
double number_at(const unsigned char* from, bool swap) {
  std::array<unsigned char, sizeof(U)> raw;
  std::copy_n(from, sizeof(U), raw.begin());
  if (swap) std::reverse(raw.begin(), raw.end());
  return static_cast<double>(std::bit_cast<U>(raw));
}

using Decoder = double (*)(const unsigned char*, bool);

Decoder decoder(const RawArray& array, const std::string& path) {
  switch (array.kind * 16 + array.bytes) {
    case 'u' * 16 + 1:
      return number_at<std::uint8_t>;
    case 'u' * 16 + 2:
      return number_at<std::uint16_t>;
    case 'u' * 16 + 4:
      return number_at<std::uint32_t>;
    case 'u' * 16 + 8:
      return number_at<std::uint64_t>;
    case 'i' * 16 + 1:
      return number_at<std::int8_t>;
    case 'i' * 16 + 2:
      return number_at<std::int16_t>;
    case 'i' * 16 + 4:
      return number_at<std::int32_t>;
    case 'i' * 16 + 8:
      return number_at<std::int64_t>;
    case 'f' * 16 + 4:
      return number_at<float>;
    case 'f' * 16 + 8:
      return number_at<double>;
  }
  fail("{}: numbers of type {}{} are not read; f4, f8, u1..u8 or i1..i8 expected", path, array.kind, array.bytes);
}

Int checked_product(const std::vector<Int>& factors, const std::string& path) {
  Int product = 1;
  for (Int f : factors)
    require(f >= 0 && !__builtin_mul_overflow(product, f, &product), "{}: the header announces an impossible shape",
            path);
  return product;
}

}  // namespace

DataSet read_array(ByteReader& in, const RawArray& array, const LoadOptions& options) {
  auto& path = in.path();
  auto decode = decoder(array, path);
  Int file_rows = array.shape.at(0), bytes = array.bytes;
  Int d = checked_product({array.shape.begin() + 1, array.shape.end()}, path);
  Int start = in.position();
  in.require_length(start + checked_product({file_rows, d, bytes}, path));
  require(file_rows >= 1 && d >= 1, "{}: at least one row and one column expected, the header says {}x{}", path,
          file_rows, d);
  Int n = options.rows.value_or(file_rows);
  require(n <= file_rows, "{}: rows = {} asked for, the file has {}", path, n, file_rows);

  bool narrow = array.bytes <= 2 || (array.kind == 'f' && array.bytes == 4);
  Matrix local(comm::layout(n).count(comm::rank()), d, options.dtype.value_or(narrow ? DType::f32 : DType::f64));
  bool byte = array.kind == 'u' && array.bytes == 1;
  double scale = options.scale.value_or(byte && array.shape.size() >= 3) ? 1.0 / 255 : 1;
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
      require(!wide || std::abs(value) <= 0x1p53, "{}: the integer {} has more digits than a number here holds", path,
              value);
      put(j, value * scale);
    }
  };
  dispatch(local.dtype(), [&]<class T>() {
    auto v = local.view<T>();
    if (array.column_major)
      for (Int j = 0; j < d && v.rows; ++j)
        run(j * file_rows + first, v.rows, [&](Int i, double value) { v(i, j) = static_cast<T>(value); });
    else
      for (Int i = 0; i < v.rows; ++i)
        run((first + i) * d, d, [&](Int j, double value) { v(i, j) = static_cast<T>(value); });
  });
  return {n, local, path};
}

}  // namespace kbcd
