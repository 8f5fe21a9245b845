// Reading .npz: stored and deflated members, zip64, each rank its rows; and archives that are broken.
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

const Bytes x_npy = npy("'<f8'", "(7, 3)", numbers<double>(counting(21)));
const Bytes y_npy = npy("'|u1'", "(7,)", numbers<std::uint8_t>(counting(7)));
const std::vector<std::pair<std::string, Bytes>> both = {{"X.npy", x_npy}, {"y.npy", y_npy}};

void check_loads(const Bytes& archive, const Dense& expected, const Values& options = {}) {
  File file(archive);
  Loaded loaded = load(file.path, options);
  BOOST_TEST(loaded.x.n() == expected.rows());
  BOOST_TEST(distance(loaded.x.local(), share(expected)) == 0);
  BOOST_TEST(!loaded.y.has_value());
}

void check_refused(const Bytes& archive, const std::string& text, const Values& options = {}) {
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
      check_loads(zip.of(both), x, {{"member", "X"}});
      check_loads(zip.of(both), y, {{"member", "y"}});
      check_loads(zip.of({{"arr_0.npy", x_npy}}), x);
      for (Int rows : {1, 3, 7}) check_loads(zip.of(both), x.topRows(rows), {{"rows", rows}, {"member", "X"}});
      check_loads(zip.of({{"y.npy", y_npy}}), y / 255 * 255, {{"dtype", DType::f64}});
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
    check_refused(Zip{.zip64 = zip64}.of(both), "'Z'", {{"member", "Z"}});
    check_refused(Zip{.zip64 = zip64}.of({}), "no members");
  }
  check_refused(Zip{}.of(both), "'label'", {{"label", 1}});
  check_refused(Zip{}.of(both), "rows = 8", {{"rows", 8}, {"member", "X"}});
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
      for (std::size_t length = good.size() - 30; length < good.size(); length += step())
        BOOST_TEST(refuses(File(good.substr(0, length)).path), length << " of " << good.size());
      for (std::size_t at = 0; at < good.size();
           at += step()) {  // a changed name or date may pass unseen; a crash may not
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
