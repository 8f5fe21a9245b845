// Pictures in files: CIFAR's batches and folders of PNG, against files that are written here, good and damaged.
#include <png.h>

#include "modules/vision/image_loader.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

using namespace kbcd::vision;
namespace fs = std::filesystem;

// A folder that rank 0 makes, gone with the object (collective).
struct Folder {
  std::string path;
  Folder() {
    static int count = 0;
    path = (fs::temp_directory_path() / fmt::format("kbcd_vision_{}_{}", getpid(), count++)).string();
    comm::bcast(path, 0);
    if (comm::rank() == 0) fs::create_directories(path);
    comm::barrier();
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    comm::barrier();
    if (comm::rank() == 0) fs::remove_all(path);
  }
  void write(const std::string& name, const Bytes& bytes) const {
    if (comm::rank() == 0) {
      fs::create_directories(fs::path(path + "/" + name).parent_path());
      std::ofstream(path + "/" + name, std::ios::binary) << bytes;
    }
    comm::barrier();
  }
};

Bytes png(Int height, Int width, png_uint_32 format, const Bytes& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = format;
  png_alloc_size_t size = 0;
  BOOST_REQUIRE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr));
  Bytes out(size, '\0');
  BOOST_REQUIRE(png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr));
  out.resize(size);
  return out;
}

Bytes grey(Int height, Int width, int first) {
  Bytes pixels;
  for (Int i = 0; i < height * width; ++i) pixels += static_cast<char>(first + 7 * i);
  return png(height, width, PNG_FORMAT_GRAY, pixels);
}

Bytes cifar_record(int label, int first) {
  Bytes bytes(1, static_cast<char>(label));
  for (int i = 0; i < 3072; ++i) bytes += static_cast<char>((first + i * 5) % 251);
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vision_loaders)

BOOST_AUTO_TEST_CASE(cifar_batches) {
  File first(cifar_record(3, 1) + cifar_record(9, 2), false, ".bin"), second(cifar_record(0, 3), false, ".bin");
  auto loaded = load_images({first.path, second.path}, {});
  BOOST_TEST(loaded.images.n() == 3);
  BOOST_TEST((loaded.images.shape() == ImageShape{32, 32, 3}));
  Dense expected(3, 3072), labels(3, 1);
  labels << 3, 9, 0;
  for (Int i = 0; i < 3; ++i)
    for (Int p = 0; p < 1024; ++p)
      for (Int c = 0; c < 3; ++c) expected(i, p * 3 + c) = static_cast<double>((i + 1 + (c * 1024 + p) * 5) % 251);
  BOOST_TEST(distance(loaded.images.rows().local(), share(expected)) == 0);
  BOOST_TEST(distance(loaded.y->local(), share(labels)) == 0);
  BOOST_TEST(load_images({first.path}, {.rows = 1}).images.n() == 1);

  File cut(cifar_record(1, 1) + cifar_record(2, 2).substr(0, 100), false, ".bin"), empty("", false, ".bin");
  File wrong(cifar_record(10, 1) + cifar_record(2, 2), false, ".bin");
  for (auto* file : {&cut, &empty, &wrong}) {
    std::string message = message_of([&] { load_images({file->path}, {}); });
    BOOST_TEST(has(message, file->path), message);
    for (auto& other : comm::allgather(message)) BOOST_TEST(other == message);
  }
  auto rest = load_images({cut.path, empty.path, wrong.path}, {.skip = true});
  BOOST_TEST(rest.images.n() == 2);
  BOOST_TEST(rest.skipped.size() == 3);
  BOOST_TEST(has(rest.skipped[0], "100 bytes into picture 2"));
  BOOST_TEST(has(message_of([&] { load_images({"/nowhere/x.bin"}, {}); }), "/nowhere/x.bin"));
}

BOOST_AUTO_TEST_CASE(png_folders) {
  Folder folder;
  Bytes colours, clear;
  for (int i = 0; i < 24; ++i) colours += static_cast<char>(i * 11);
  for (int i = 0; i < 8; ++i) clear += Bytes{static_cast<char>(i * 20), 50, 60, static_cast<char>(i % 2 ? 255 : 0)};
  folder.write("b/1.png", grey(2, 4, 3));
  folder.write("b/2.PNG", png(2, 4, PNG_FORMAT_RGB, colours));
  folder.write("a/x.png", png(2, 4, PNG_FORMAT_RGBA, clear));
  folder.write("a/notes.txt", "not a picture, and not taken for one");
  auto loaded = load_images({folder.path}, {});
  BOOST_TEST(loaded.classes == (std::vector<std::string>{"a", "b"}));
  BOOST_TEST((loaded.images.shape() == ImageShape{2, 4, 3}));
  Dense expected(3, 24), labels(3, 1);
  labels << 0, 1, 1;
  for (Int p = 0; p < 8; ++p)
    for (Int c = 0; c < 3; ++c) {
      expected(0, p * 3 + c) = p % 2 ? static_cast<unsigned char>(clear[p * 4 + c]) : 0;  // transparent: black
      expected(1, p * 3 + c) = 3 + 7 * p;
      expected(2, p * 3 + c) = static_cast<unsigned char>(colours[p * 3 + c]);
    }
  BOOST_TEST(distance(loaded.images.rows().local(), share(expected)) == 0);
  BOOST_TEST(distance(loaded.y->local(), share(labels)) == 0);
  auto grey_ones = load_images({folder.path}, {.channels = 1, .classes = {"b", "c", "a"}});
  BOOST_TEST((grey_ones.images.shape() == ImageShape{2, 4, 1}));
  labels << 2, 0, 0;
  BOOST_TEST(distance(grey_ones.y->local(), share(labels)) == 0);
  BOOST_TEST(has(message_of([&] { load_images({folder.path}, {.classes = {"b"}}); }), folder.path + "/a"));
}

BOOST_AUTO_TEST_CASE(pngs_that_are_none) {
  Folder folder;
  BOOST_TEST(has(message_of([&] { load_images({folder.path}, {}); }), folder.path));
  folder.write("a/1.png", grey(3, 3, 1));
  folder.write("a/2.png", "GIF89a, to be sure");
  folder.write("b/1.png", grey(3, 4, 1));
  folder.write("c/readme.txt", "");
  folder.write("d/1.png", grey(3, 3, 2).substr(0, 60));
  folder.write("d/2.png", grey(3, 3, 2));
  folder.write("d/3.png", "");
  auto loaded = load_images({folder.path}, {.skip = true});
  BOOST_TEST(loaded.images.n() == 2);
  BOOST_TEST(loaded.skipped.size() == 5);
  for (auto& part : {"/c", "/a/2.png", "/b/1.png", "/d/1.png", "/d/3.png"}) {
    int found = 0;
    for (auto& text : loaded.skipped) found += has(text, folder.path + part);
    BOOST_TEST(found == 1, part);
  }
  auto refusal = [&](const std::string& name) {
    std::string message = message_of([&] { load_images({folder.path}, {}); });
    BOOST_TEST(has(message, name), message);
    for (auto& other : comm::allgather(message)) BOOST_TEST(other == message);
    if (comm::rank() == 0) fs::remove_all(folder.path + name);
    comm::barrier();
  };
  refusal("/c");
  refusal("/a/2.png");
  refusal("/b/1.png");
}

BOOST_AUTO_TEST_CASE(a_size_beyond_the_file_is_refused_before_memory_is_asked_for) {
  Folder folder;
  folder.write("a/1.png", grey(4096, 4096, 0).substr(0, 100));
  std::string message = message_of([&] { load_images({folder.path}, {}); });
  BOOST_TEST(has(message, "4096x4096 pixels cannot stand in 100 bytes"), message);
}

// A file cut or changed anywhere is refused or read, and nothing else happens.
BOOST_AUTO_TEST_CASE(damaged_pngs) {
  Bytes good = grey(6, 5, 9);
  int refused = 0, read = 0;
  auto attempt = [&](const Bytes& bytes) {
    Folder folder;
    folder.write("a/1.png", bytes);
    std::string message = message_of([&] { load_images({folder.path}, {}); });
    BOOST_TEST((message.empty() || has(message, "1.png")), message);
    ++(message.empty() ? read : refused);
  };
  for (std::size_t cut = 0; cut < good.size(); cut += step()) attempt(good.substr(0, cut));
  for (std::size_t at = 0; at < good.size(); at += step()) {
    Bytes bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    attempt(bytes);
  }
  BOOST_TEST(refused > read);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kbcd::tests
