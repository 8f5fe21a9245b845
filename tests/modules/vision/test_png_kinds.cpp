// PNG files of every kind (colour types, depths, interlaced or not, transparent colours), written here chunk by chunk,
// against the numbers that they were made from; and files that are damaged on purpose.
#include <zlib.h>

#include <random>

#include "modules/vision/image_loader.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

using namespace kbcd::vision;
namespace fs = std::filesystem;

constexpr Int height = 11, width = 9;
enum Type { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

int channels_of(Type type) {
  return type == rgb ? 3 : type == grey_alpha ? 2 : type == rgb_alpha ? 4 : 1;
}

Bytes big(std::size_t value, int bytes = 4) {
  Bytes out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 255);
  return out;
}

Bytes chunk(const Bytes& kind, const Bytes& data) {
  Bytes body = kind + data;
  return big(data.size()) + body +
         big(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
}

Bytes packed(const Bytes& data) {
  uLongf size = compressBound(data.size());
  Bytes out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()), data.size());
  out.resize(size);
  return out;
}

struct Picture {
  Type type;
  int depth;
  bool interlaced;
  std::vector<unsigned> samples = {};  // by rows, pixels, channels
  Bytes before = {};                   // chunks between IHDR and IDAT

  unsigned at(Int y, Int x, int c) const { return samples[(y * width + x) * channels_of(type) + c]; }

  // The lines of a pass: every dy-th row from y0 on, every dx-th pixel from x0 on, with filter 0.
  Bytes pass(Int x0, Int y0, Int dx, Int dy) const {
    Bytes out;
    for (Int y = y0; y < height && x0 < width; y += dy) {
      out += '\0';
      unsigned bits = 0, filled = 0;
      for (Int x = x0; x < width; x += dx)
        for (int c = 0; c < channels_of(type); ++c) {
          unsigned value = at(y, x, c);
          if (depth >= 8) {
            out += big(value, depth / 8);
            continue;
          }
          bits = bits << depth | value, filled += static_cast<unsigned>(depth);
          if (filled == 8) out += static_cast<char>(bits), bits = filled = 0;
        }
      if (filled) out += static_cast<char>(bits << (8 - filled));
    }
    return out;
  }
  Bytes file() const {
    Bytes lines;
    if (!interlaced) lines = pass(0, 0, 1, 1);
    constexpr Int adam7[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                 {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    for (auto& p : adam7)
      if (interlaced) lines += pass(p[0], p[1], p[2], p[3]);
    Bytes header =
        big(width) + big(height) + Bytes{static_cast<char>(depth), static_cast<char>(type), 0, 0, interlaced};
    return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + before + chunk("IDAT", packed(lines)) + chunk("IEND", "");
  }
};

Picture random_picture(Type type, int depth, bool interlaced, unsigned seed) {
  Picture out{type, depth, interlaced};
  std::mt19937 engine(seed);
  for (Int i = 0; i < height * width * channels_of(type); ++i) out.samples.push_back(engine() % (1u << depth));
  return out;
}

std::vector<int> depths_of(Type type) {
  if (type == grey) return {1, 2, 4, 8, 16};
  if (type == palette) return {1, 2, 4, 8};
  return {8, 16};
}

// A folder of one picture: what it is read as, or the error.
struct Read {
  Dense pixels;  // 1 x (height width channels)
  std::string message;

  explicit Read(const Bytes& bytes, Int channels = 3) {
    std::string path = (fs::temp_directory_path() / fmt::format("kbcd_png_{}", getpid())).string();
    comm::bcast(path, 0);
    if (comm::rank() == 0) {
      fs::create_directories(path + "/a");
      std::ofstream(path + "/a/x.png", std::ios::binary) << bytes;
    }
    comm::barrier();
    message = message_of([&] {
      auto loaded = load_images({path}, {.channels = channels});
      pixels = dense(comm::allgather(loaded.images.rows().local()));
    });
    comm::barrier();
    if (comm::rank() == 0) fs::remove_all(path);
    comm::barrier();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(png_kinds)

BOOST_AUTO_TEST_CASE(every_kind_gives_the_numbers_it_was_made_from) {
  unsigned seed = 1;
  for (Type type : {grey, rgb, palette, grey_alpha, rgb_alpha})
    for (int depth : depths_of(type))
      for (bool interlaced : {false, true})
        for (bool transparent : {false, true}) {
          Picture picture = random_picture(type, depth, interlaced, ++seed);
          double most = (1 << depth) - 1;
          Bytes colours, alphas;
          for (int i = 0; i < 3 << depth && type == palette; ++i) colours += static_cast<char>(i * 37 + 11);
          for (int i = 0; i < 1 << depth && i < 5; ++i) alphas += static_cast<char>(i * 50);
          int keys = type == palette ? 0 : type == grey ? 1 : type == rgb ? 3 : 0;
          Bytes key;
          for (int c = 0; c < keys; ++c) key += big(picture.at(2, 3, c), 2);
          bool has_alphas = transparent && type == palette, has_key = transparent && keys > 0;
          if (type == palette) picture.before += chunk("PLTE", colours);
          if (has_alphas) picture.before += chunk("tRNS", alphas);
          if (has_key) picture.before += chunk("tRNS", key);

          Dense expected(1, height * width * 3);
          for (Int y = 0; y < height; ++y)
            for (Int x = 0; x < width; ++x) {
              bool same = has_key;
              for (int c = 0; c < keys; ++c) same = same && picture.at(y, x, c) == picture.at(2, 3, c);
              for (int c = 0; c < 3; ++c) {
                unsigned own = picture.at(y, x, type == rgb || type == rgb_alpha ? c : 0);
                double value = own / most, alpha = same ? 0 : 1;
                if (type == palette) value = static_cast<unsigned char>(colours[own * 3 + c]) / 255.0;
                if (has_alphas && own < alphas.size()) alpha = static_cast<unsigned char>(alphas[own]) / 255.0;
                if (type == grey_alpha || type == rgb_alpha) alpha = picture.at(y, x, channels_of(type) - 1) / most;
                expected(0, (y * width + x) * 3 + c) = 255 * value * alpha;
              }
            }
          Read read(picture.file());
          BOOST_TEST(read.message == "");
          BOOST_TEST(distance(read.pixels, expected) <= 0.5 + 1e-9,
                     "type " << type << ", " << depth << " bits" << (interlaced ? ", interlaced" : "")
                             << (transparent ? ", transparent" : "") << ": " << distance(read.pixels, expected));
        }
}

BOOST_AUTO_TEST_CASE(grey_of_colours) {
  Picture picture = random_picture(rgb, 8, false, 3);
  Read read(picture.file(), 1);
  for (Int i = 0; i < height * width && read.message.empty(); ++i)
    BOOST_TEST(std::abs(read.pixels(0, i) - 0.2126 * picture.samples[3 * i] - 0.7152 * picture.samples[3 * i + 1] -
                        0.0722 * picture.samples[3 * i + 2]) <= 0.5 + 1e-9);
}

BOOST_AUTO_TEST_CASE(odd_files_are_refused_or_read_right) {
  Picture picture = random_picture(rgb, 8, false, 4);
  Bytes good = picture.file();
  auto refused = [](const char* what, const Bytes& bytes) {
    Read read(bytes);
    BOOST_TEST(has(read.message, "x.png: "), what << ": " << read.message);
  };
  auto header = [](std::size_t w, std::size_t h, int depth, int type, int interlace = 0) {
    return "\x89PNG\r\n\x1a\n" +
           chunk("IHDR",
                 big(w) + big(h) +
                     Bytes{static_cast<char>(depth), static_cast<char>(type), 0, 0, static_cast<char>(interlace)}) +
           chunk("IDAT", packed(Bytes(100, '\0'))) + chunk("IEND", "");
  };
  refused("no width", header(0, 4, 8, 2));
  refused("no height", header(4, 0, 8, 2));
  refused("huge", header(0x7fffffff, 0x7fffffff, 8, 6));
  refused("large", header(60000, 60000, 16, 6));
  refused("wide", header(0x7ffffff, 1, 16, 6));
  refused("a type that is none", header(4, 4, 8, 5));
  refused("a depth that is none", header(4, 4, 3, 0));
  refused("an order of lines that is none", header(4, 4, 8, 0, 2));
  refused("too few lines", header(30, 30, 8, 2));
  refused("no palette", random_picture(palette, 8, false, 5).file());
  Picture beyond = random_picture(palette, 8, false, 6);
  beyond.before = chunk("PLTE", "rgbRGB");
  refused("colours beyond the palette", beyond.file());
  refused("cut off", good.substr(0, 60));
  Bytes changed = good;
  changed[60] ^= 1;
  refused("a checksum", changed);

  Read plain(good);
  for (const char* kind : {"zTXt", "iCCP", "iTXt"}) {  // 100 MB in 100 kB, which nobody needs to unpack
    Picture bomb = picture;
    bomb.before = chunk(kind, Bytes("k\0\0", 3) + packed(Bytes(100'000'000, '\0')));
    Read read(bomb.file());
    BOOST_TEST(read.message == "", kind);
    BOOST_TEST(distance(read.pixels, plain.pixels) == 0, kind);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
