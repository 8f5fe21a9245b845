#include "modules/data/zip_archive.hpp"

#include <algorithm>

namespace kbcd {
namespace {

constexpr Int stored = 0, deflated = 8;
constexpr Int at_once = 1 << 30;                // zlib counts in 32 bits
constexpr std::uint64_t in_zip64 = 0xFFFFFFFF;  // in place of a number that only the zip64 extra field holds

// A little-endian piece of the archive, read field by field.
class Record {
 public:
  Record(const std::string& path, std::string bytes) : path_(path), bytes_(std::move(bytes)) {}
  std::uint64_t number(std::size_t at, int bytes) const {
    require(at + bytes <= bytes_.size(), "{}: damaged: a zip record ends too early", path_);
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }
  std::string_view text(std::size_t at, std::size_t length) const {
    require(at + length <= bytes_.size(), "{}: damaged: a zip record ends too early", path_);
    return std::string_view(bytes_).substr(at, length);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  const std::string& path_;
  std::string bytes_;
};

Record read_at(FileReader& file, std::uint64_t offset, std::uint64_t bytes) {
  auto size = static_cast<std::uint64_t>(file.file_bytes());
  require(offset <= size && bytes <= size - offset, "{}: damaged: {} bytes expected at byte {}, the file has {}",
          file.name(), bytes, offset, size);
  std::string text(bytes, '\0');
  file.skip_to(static_cast<Int>(offset));
  file.read(text.data(), static_cast<Int>(bytes), "the zip directory");
  return {file.name(), std::move(text)};
}

// The central directory: by the record at the end of the archive, or the zip64 one before that.
Record read_directory(FileReader& file, std::uint64_t& count) {
  constexpr Int end_bytes = 22, longest_comment = 0xFFFF, locator_bytes = 20;
  Int tail_start = std::max<Int>(0, file.file_bytes() - end_bytes - longest_comment);
  Record tail = read_at(file, tail_start, file.file_bytes() - tail_start);
  auto is_end = [&](std::size_t at) {  // and not a part of the comment, which goes to the very end of the file
    return at + end_bytes <= tail.bytes().size() && at + end_bytes + tail.number(at + 20, 2) == tail.bytes().size();
  };
  auto at = tail.bytes().rfind("PK\5\6");
  while (at != std::string::npos && at > 0 && !is_end(at)) at = tail.bytes().rfind("PK\5\6", at - 1);
  if (at != std::string::npos && !is_end(at)) at = std::string::npos;
  require(at != std::string::npos, "{}: cut short: the zip directory at the end is missing", file.name());
  count = tail.number(at + 10, 2);
  std::uint64_t bytes = tail.number(at + 12, 4), offset = tail.number(at + 16, 4);
  auto end = static_cast<std::uint64_t>(tail_start) + at;
  if (count == 0xFFFF || bytes == in_zip64 || offset == in_zip64) {
    require(end >= locator_bytes, "{}: damaged: the zip64 directory is missing", file.name());
    Record locator = read_at(file, end - locator_bytes, locator_bytes);
    if (locator.text(0, 4) == "PK\6\7") {
      Record wide = read_at(file, locator.number(8, 8), 56);
      require(wide.text(0, 4) == "PK\6\6", "{}: damaged: the zip64 directory is missing", file.name());
      count = wide.number(32, 8), bytes = wide.number(40, 8), offset = wide.number(48, 8);
    }
  }
  return read_at(file, offset, bytes);
}

// The numbers that did not fit into the directory's four bytes are in an extra field, in this order.
void read_zip64(const Record& directory, std::size_t at, std::size_t end, std::array<std::uint64_t*, 3> numbers) {
  while (at + 4 <= end) {
    std::size_t id = directory.number(at, 2), next = at + 4 + directory.number(at + 2, 2);
    at += 4;
    for (auto* number : numbers)
      if (id == 1 && *number == in_zip64 && at + 8 <= next) *number = directory.number(at, 8), at += 8;
    at = next;
  }
}

}  // namespace

std::vector<ZipMember> read_members(FileReader& file) {
  std::uint64_t count = 0;
  Record directory = read_directory(file, count);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    require(directory.text(at, 4) == "PK\1\2", "{}: damaged: entry {} of the zip directory is none", file.name(),
            i + 1);
    std::uint64_t packed = directory.number(at + 20, 4), size = directory.number(at + 24, 4),
                  header = directory.number(at + 42, 4);
    std::size_t name = directory.number(at + 28, 2), extra = directory.number(at + 30, 2),
                comment = directory.number(at + 32, 2), end = at + 46 + name + extra;
    std::string text(directory.text(at + 46, name));
    read_zip64(directory, end - extra, end, {&size, &packed, &header});
    auto whole = static_cast<std::uint64_t>(file.file_bytes());
    require(packed <= whole && header <= whole && size / best_deflate_ratio <= packed,
            "{}: damaged: member {} cannot have {} bytes at byte {} in a file of {}", file.name(), text, packed, header,
            whole);
    if (text.ends_with(".npy")) text.resize(text.size() - 4);
    members.push_back({text, static_cast<Int>(directory.number(at + 10, 2)),
                       static_cast<Int>(directory.number(at + 8, 2)), static_cast<Int>(packed), static_cast<Int>(size),
                       static_cast<Int>(header), static_cast<std::uint32_t>(directory.number(at + 16, 4))});
    at = end + comment;
  }
  return members;
}

MemberReader::MemberReader(FileReader& file, const ZipMember& member)
    : ByteReader(fmt::format("{}: member '{}'", file.name(), member.name)), file_(file), member_(member) {
  require(member.method == stored || member.method == deflated, "{}: stored or deflated data expected, got method {}",
          name(), member.method);
  require(!(member.flags & 1), "{}: encrypted members are not read", name());
  require(member.method == deflated || member.packed == member.size, "{}: damaged: {} bytes are stored as {}", name(),
          member.size, member.packed);
  Record header = read_at(file, member.header, 30);
  require(header.text(0, 4) == "PK\3\4", "{}: damaged: no member begins at byte {}", name(), member.header);
  start_ = member.header + 30 + static_cast<Int>(header.number(26, 2) + header.number(28, 2));
  require(start_ <= file.file_bytes() && member.packed <= file.file_bytes() - start_,
          "{}: cut short: {} bytes expected at byte {}, the file has {}", name(), member.packed, start_,
          file.file_bytes());
  file_.skip_to(start_);
  require(inflateInit2(&stream_, -MAX_WBITS) == Z_OK, "{}: no memory to unpack it", name());
}

void MemberReader::skip_to(Int position) {
  if (member_.method == deflated) return ByteReader::skip_to(position);
  if (position == position_) return;
  whole_ = false;
  file_.skip_to(start_ + position);
  position_ = position;
}

Int MemberReader::fetch(void* to, Int bytes) {
  bytes = std::min(bytes, member_.size - position_);
  if (bytes == 0) return 0;
  bytes = member_.method == stored ? file_.read_some(to, bytes) : unpack(to, bytes);
  auto* read = static_cast<const Bytef*>(to);
  for (Int i = 0; i < bytes && whole_; i += at_once) crc_ = crc32(crc_, read + i, std::min(at_once, bytes - i));
  bool all = whole_ && position_ + bytes == member_.size;
  require(!all || crc_ == member_.crc, "{}: damaged: its check sum (CRC-32) is wrong", name());
  return bytes;
}

Int MemberReader::unpack(void* to, Int bytes) {
  stream_.next_out = static_cast<Bytef*>(to);
  stream_.avail_out = static_cast<uInt>(std::min(bytes, at_once));
  uInt wanted = stream_.avail_out;
  while (stream_.avail_out == wanted) {
    if (stream_.avail_in == 0) {
      Int left = start_ + member_.packed - file_.position();
      stream_.next_in = packed_.data();
      stream_.avail_in = static_cast<uInt>(file_.read_some(packed_.data(), std::min<Int>(left, packed_.size())));
    }
    int code = inflate(&stream_, Z_NO_FLUSH);
    bool moved = stream_.avail_out < wanted;
    require(code == Z_OK || (code == Z_STREAM_END && moved), "{}: damaged at byte {} of its unpacked data ({})", name(),
            position_, code == Z_STREAM_END || code == Z_BUF_ERROR ? "it ends too early" : "no deflate data");
  }
  return wanted - stream_.avail_out;
}

}  // namespace kbcd
