// Reading .npz: stored and deflated members, zip64, each rank its rows; and archives that are broken.
#include "files.hpp"

namespace kbcd::tests {
namespace {

Bytes u16(std::size_t value) {
  return number<std::uint16_t>(static_cast<double>(value), false);
}
Bytes u32(std::size_t value) {
  return number<std::uint32_t>(static_cast<double>(value), false);
}
Bytes u64(std::size_t value) {
  return number<std::uint64_t>(static_cast<double>(value), false);
}

Bytes deflate_raw(const Bytes& plain) {
  Bytes packed(plain.size() + 1000, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// What a writer may do, and do wrong.
struct Zip {
  bool deflated = false, zip64 = false;
  int method = -1;  // instead of the right one
  int flags = 0;
  std::optional<std::size_t> size = {};  // instead of the right one, in the directory
  std::optional<std::size_t> packed = {};
  std::optional<std::size_t> offset = {};
  std::optional<std::size_t> count = {};
  std::size_t wrong_crc = 0;
  Bytes comment = "";

  Bytes of(const std::vector<std::pair<std::string, Bytes>>& members) const {
    constexpr std::size_t wide = 0xFFFFFFFF;
    Bytes out, directory;
    for (auto& [name, plain] : members) {
      Bytes data = deflated ? deflate_raw(plain) : plain;
      std::size_t crc =
          crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())) + wrong_crc;
      std::size_t sizes[] = {size.value_or(plain.size()), packed.value_or(data.size()), offset.value_or(out.size())};
      Bytes common = u16(flags) + u16(method >= 0 ? method : deflated ? 8 : 0) + u32(0) + u32(crc & wide);
      Bytes extra = zip64 ? u16(1) + u16(24) + u64(sizes[0]) + u64(sizes[1]) + u64(sizes[2]) : "";
      directory += "PK\1\2" + u16(45) + u16(45) + common +
                   (zip64 ? u32(wide) + u32(wide) : u32(sizes[1]) + u32(sizes[0])) + u16(name.size()) +
                   u16(extra.size()) + u16(0) + u16(0) + u16(0) + u32(0) + u32(zip64 ? wide : sizes[2]) + name + extra;
      Bytes local = u16(1) + u16(16) + u64(plain.size()) + u64(data.size());  // as NumPy writes it, always
      out += "PK\3\4" + u16(45) + common + u32(wide) + u32(wide) + u16(name.size()) + u16(local.size()) + name + local +
             data;
    }
    std::size_t start = out.size(), entries = count.value_or(members.size());
    out += directory;
    if (zip64)
      out += "PK\6\6" + u64(44) + u16(45) + u16(45) + u32(0) + u32(0) + u64(entries) + u64(entries) +
             u64(directory.size()) + u64(start) + "PK\6\7" + u32(0) + u64(start + directory.size()) + u32(1);
    return out + "PK\5\6" + u16(0) + u16(0) + u16(entries) + u16(entries) +
           (zip64 ? u32(wide) + u32(wide) : u32(directory.size()) + u32(start)) + u16(comment.size()) + comment;
  }
};

const Bytes x_npy = npy("'<f8'", "(7, 3)", numbers<double>(counting(21)));
const Bytes y_npy = npy("'|u1'", "(7,)", numbers<std::uint8_t>(counting(7)));
const std::vector<std::pair<std::string, Bytes>> both = {{"X.npy", x_npy}, {"y.npy", y_npy}};

void check_loads(const Bytes& archive, const Dense& expected, const LoadOptions& options = {}) {
  File file(archive);
  Loaded loaded = load(file.path, options);
  BOOST_TEST(loaded.x.n() == expected.rows());
  BOOST_TEST(distance(loaded.x.local(), share(expected)) == 0);
  BOOST_TEST(!loaded.y.has_value());
}

void check_refused(const Bytes& archive, const std::string& text, const LoadOptions& options = {}) {
  std::string message = refusal(File(archive).path, options);
  BOOST_TEST(message.find(text) != message.npos, "'" << text << "' expected in: " << message);
  BOOST_TEST(!message.empty(), "not refused; expected: " << text);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(npz)

BOOST_AUTO_TEST_CASE(members_are_found_however_they_are_packed) {
  Dense x = rows_by_rows(counting(21), 7), y = rows_by_rows(counting(7), 7);
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true}) {
      Zip zip{.deflated = deflated, .zip64 = zip64, .comment = deflated ? "a comment" : ""};
      check_loads(zip.of(both), x, {.member = "X"});
      check_loads(zip.of(both), y, {.member = "y"});
      check_loads(zip.of({{"arr_0.npy", x_npy}}), x);
      for (Int rows : {1, 3, 7}) check_loads(zip.of(both), x.topRows(rows), {.rows = rows, .member = "X"});
      check_loads(zip.of({{"y.npy", y_npy}}), y / 255 * 255, {.dtype = DType::f64});
    }
  std::vector<double> many = counting(60000), columns(60000);
  Dense large = rows_by_rows(many, 1000);
  for (Int i = 0; i < 1000; ++i)
    for (Int j = 0; j < 60; ++j) columns[j * 1000 + i] = large(i, j);
  for (bool deflated : {false, true}) {
    Zip zip{.deflated = deflated};
    check_loads(zip.of({{"a.npy", npy("'<f8'", "(1000, 60)", numbers<double>(many))}}), large);
    check_loads(zip.of({{"a.npy", npy("'<f8'", "(1000, 60)", numbers<double>(columns), true)}}), large);
  }
}

BOOST_AUTO_TEST_CASE(the_member_must_be_named) {
  for (bool zip64 : {false, true}) {
    check_refused(Zip{.zip64 = zip64}.of(both), "X, y");
    check_refused(Zip{.zip64 = zip64}.of(both), "'Z'", {.member = "Z"});
    check_refused(Zip{.zip64 = zip64}.of({}), "no members");
  }
  check_refused(Zip{}.of(both), "'label'", {.label = {Int{0}}});
  check_refused(Zip{}.of(both), "rows = 8", {.rows = 8, .member = "X"});
}

BOOST_AUTO_TEST_CASE(wrong_numbers_are_refused) {
  constexpr std::size_t huge = std::size_t{1} << 52;
  for (bool zip64 : {false, true})
    for (bool deflated : {false, true}) {
      auto with = [&](auto&& change) {
        Zip zip{.deflated = deflated, .zip64 = zip64};
        change(zip);
        return zip.of({{"X.npy", x_npy}});
      };
      for (std::size_t wrong :
           {std::size_t{0}, std::size_t{1}, std::size_t{127}, x_npy.size() - 1, x_npy.size() + 1, huge})
        check_refused(with([&](Zip& z) { z.size = wrong; }), "");
      for (std::size_t wrong : {std::size_t{0}, std::size_t{1}, std::size_t{100000}, huge, std::size_t{0xFFFFFFFE}})
        check_refused(with([&](Zip& z) { z.packed = wrong; }), "");
      for (std::size_t wrong : {std::size_t{1}, std::size_t{50}, std::size_t{100000}, huge, std::size_t{0xFFFFFFFE}})
        check_refused(with([&](Zip& z) { z.offset = wrong; }), "damaged");
      for (std::size_t wrong : {std::size_t{2}, std::size_t{0xFFFE}})
        check_refused(with([&](Zip& z) { z.count = wrong; }), "damaged");
      check_refused(with([](Zip& z) { z.count = 0; }), "no members");
      check_refused(with([](Zip& z) { z.method = 12; }), "method 12");
      check_refused(with([](Zip& z) { z.flags = 1; }), "encrypted");
      check_refused(with([](Zip& z) { z.method = z.deflated ? 0 : 8; }), "damaged");
      // Only a rank that reads all of a stored member can tell.
      if (deflated || comm::size() == 1) check_refused(with([](Zip& z) { z.wrong_crc = 1; }), "check sum");
    }
}

BOOST_AUTO_TEST_CASE(members_that_are_no_arrays_are_refused) {
  for (const Bytes& member : {Bytes(""), Bytes("text"), Bytes(200, 'x'), x_npy.substr(0, 60),
                              x_npy.substr(0, x_npy.size() - 1), npy("'<f8'", "(1000000000000,)", "12345678"),
                              npy("'|O'", "(3,)", Bytes(24, 'x')), npy("'<f8'", "(4611686018427387904, 4)", "12345678"),
                              npy("'<f8'", "(1,)", numbers<double>({std::numeric_limits<double>::infinity()}))})
    for (bool deflated : {false, true}) check_refused(Zip{.deflated = deflated}.of({{"X.npy", member}}), "");
  // A bomb: a member that unpacks to far more than its array says is not unpacked beyond it, nor kept.
  check_refused(Zip{.deflated = true}.of({{"X.npy", npy("'<f8'", "(2000000000,)", Bytes(1 << 20, '\0'))}}),
                "announces");
}

BOOST_AUTO_TEST_CASE(truncated_and_changed_archives) {
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true}) {
      Bytes good = Zip{.deflated = deflated, .zip64 = zip64}.of({{"X.npy", x_npy}});
      for (std::size_t length = 0; length < good.size(); length += 1 + length / 9)
        BOOST_TEST(refuses(File(good.substr(0, length)).path), length << " of " << good.size());
      for (std::size_t length = good.size() - 30; length < good.size(); ++length)
        BOOST_TEST(refuses(File(good.substr(0, length)).path), length << " of " << good.size());
      for (std::size_t at = 0; at < good.size(); ++at) {  // a changed name or date may pass unseen; a crash may not
        if (at > 60 && at + 200 < good.size() && at % 7) continue;
        Bytes changed = good;
        changed[at] = static_cast<char>(at % 2 ? 0xFF : changed[at] ^ 0x15);
        refuses(File(changed).path);
      }
    }
  BOOST_TEST(refuses(File("PK").path));
  BOOST_TEST(refuses(File("PK\3\4" + Bytes(100, '\0')).path));
  BOOST_TEST(refuses(File(Zip{}.of(both), true).path));  // gzipped on top
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
