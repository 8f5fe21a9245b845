// A folder of one PNG file. libpng itself is not instrumented.
#include <unistd.h>

#include <filesystem>

#include "fuzz.hpp"
#include "modules/vision/image_loader.hpp"

namespace kbcd::fuzz {
namespace {

namespace fs = std::filesystem;

Bytes big(std::size_t value) {
  return tests::number<std::uint32_t>(static_cast<double>(value), true);
}

Bytes chunk(const Bytes& kind, const Bytes& data) {
  Bytes body = kind + data;
  std::size_t crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big(data.size()) + body + big(crc);
}

// 2 x 2 pixels.
Bytes png(char bits, char colour, const Bytes& line, const Bytes& palette = "") {
  Bytes lines = Bytes(1, '\0') + line + Bytes(1, '\1') + line;
  std::vector<Bytef> packed(compressBound(lines.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, reinterpret_cast<const Bytef*>(lines.data()), lines.size());
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big(2) + big(2) + Bytes{bits, colour, 0, 0, 0}) + palette +
         chunk("IDAT", {packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size)}) + chunk("IEND", "");
}

}  // namespace

std::vector<Bytes> seeds() {
  return {
      png(8, 2, "rgbRGB") + '\0',
      png(8, 0, "ab") + '\1',
      png(16, 4, "aAbBcCdD") + '\2',
      png(1, 3, "\x80", chunk("PLTE", "rgbRGB")) + '\0',
  };
}

void parse(const std::string& path, unsigned choice) {
  static const fs::path folder = fs::path("/dev/shm") / fmt::format("kbcd_fuzz_{}_png", getpid());
  struct Link {
    explicit Link(const std::string& to) {
      fs::create_directories(folder / "class");
      fs::create_symlink(to, folder / "class" / "x.png");
    }
    ~Link() { fs::remove_all(folder); }
  } link(path);
  auto options = pick<vision::ImageOptions>(choice, {{}, {.channels = 1}, {.channels = 3, .skip = true}});
  vision::load_images({folder}, options);
}

}  // namespace kbcd::fuzz
