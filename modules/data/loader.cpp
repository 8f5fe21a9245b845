#include "modules/data/loader.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
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
  std::error_code error;
  require(!std::filesystem::is_directory(path, error), "{}: a file expected, this is a folder", path);
  file_ = gzopen(path.c_str(), "rb");
  require(file_ != nullptr, "{}: cannot be read ({})", path, std::strerror(errno));
  gzbuffer(static_cast<gzFile>(file_), 1 << 20);
  compressed_ = !gzdirect(static_cast<gzFile>(file_));
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

void ByteReader::require_more(Int bytes) {
  constexpr Int best_ratio = 1032;  // deflate packs at most so much into a byte
  Int most = (compressed_ ? file_bytes_ * best_ratio : file_bytes_) - position_;
  require(bytes <= most, "{}: the header announces {} more bytes, but the file holds {}{}", path_, bytes,
          compressed_ ? "at most " : "", std::max<Int>(most, 0));
}

}  // namespace kbcd
