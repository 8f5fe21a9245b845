// Zip archives, as NumPy and SciPy write them (.npz): members are stored or deflated. Sizes and places come from the
// archive's central directory; each is checked against the file before it is used.
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <vector>

#include "modules/data/byte_reader.hpp"

namespace kbcd {

struct ZipMember {
  std::string name;                         // without .npy
  Int method, flags, packed, size, header;  // `header`: where the local header is
  std::uint32_t crc;
};

std::vector<ZipMember> read_members(FileReader& file);

// The bytes of one member, unpacked as they are asked for.
class MemberReader : public ByteReader {
 public:
  MemberReader(FileReader& file, const ZipMember& member);
  ~MemberReader() override { inflateEnd(&stream_); }
  Int size() const { return member_.size; }
  void skip_to(Int position) override;

 protected:
  Int most() const override { return member_.size; }
  Int fetch(void* to, Int bytes) override;

 private:
  Int unpack(void* to, Int bytes);

  FileReader& file_;
  const ZipMember& member_;
  Int start_ = 0;
  bool whole_ = true;  // so far every byte was read, so that the check sum can be made
  uLong crc_ = crc32(0, nullptr, 0);
  z_stream stream_{};
  std::array<Bytef, 1 << 16> packed_;
};

}  // namespace kbcd
