#include "modules/data/byte_reader.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/access.hpp"

namespace kbcd {

Int ByteReader::read_some(void* to, Int bytes) {
  Int got = 0;
  while (got < bytes) {
    Int n = fetch(static_cast<char*>(to) + got, bytes - got);
    if (n == 0) break;
    got += n;
    position_ += n;
  }
  return got;
}

void ByteReader::read(void* to, Int bytes, const char* what) {
  Int got = read_some(to, bytes);
  require(got == bytes, "{}: the file ends at byte {} in the middle of {}; {} more bytes expected", name_, position_,
          what, bytes - got);
}

void ByteReader::skip_to(Int position) {
  std::array<char, 1 << 14> passed;
  while (position_ < position) read(passed.data(), std::min<Int>(passed.size(), position - position_), "the numbers");
}

void ByteReader::require_more(Int bytes) const {
  Int left = std::max<Int>(most() - position_, 0);
  require(bytes <= left, "{}: the header announces {} more bytes, but the file holds at most {}", name_, bytes, left);
}

void require_file(const std::string& path) {
  std::error_code error;
  auto type = std::filesystem::status(path, error).type();
  using enum std::filesystem::file_type;
  require(type != directory, "{}: a file expected, this is a folder", path);
  require(type == regular || type == not_found || type == none,
          "{}: a regular file expected, since it is read more than once; this is {}: write it to a file first", path,
          type == fifo ? "a pipe" : "a device");
}

FileReader::FileReader(const std::string& path) : ByteReader(path) {
  access::reading(path);
  std::error_code error;
  require_file(path);
  file_ = gzopen(path.c_str(), "rb");
  require(file_ != nullptr, "{}: cannot be read ({})", path, std::strerror(errno));
  gzbuffer(static_cast<gzFile>(file_), 1 << 18);
  compressed_ = !gzdirect(static_cast<gzFile>(file_));
  file_bytes_ = static_cast<Int>(std::filesystem::file_size(path, error));
  if (error) file_bytes_ = 0;
}

FileReader::~FileReader() {
  gzclose(static_cast<gzFile>(file_));
}

Int FileReader::fetch(void* to, Int bytes) {
  constexpr Int at_once = 1 << 30;
  int n = gzread(static_cast<gzFile>(file_), to, std::min(at_once, bytes));
  int code = Z_OK;
  const char* message = gzerror(static_cast<gzFile>(file_), &code);
  bool cut = n == 0 && code == Z_BUF_ERROR;  // the packed data end too early
  require(n >= 0 && !cut && (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR),
          "{}: damaged at byte {} ({})", name(), position_, message);
  return n;
}

void FileReader::skip_to(Int position) {
  if (position == position_) return;
  require(gzseek(static_cast<gzFile>(file_), position, SEEK_SET) == position, "{}: the file ends before byte {}",
          name(), position);
  position_ = position;
}

Int FileReader::most() const {
  return compressed_ ? file_bytes_ * best_deflate_ratio : file_bytes_;
}

}  // namespace kbcd
