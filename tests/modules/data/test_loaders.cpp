// Reading .npy and idx, plain and gzipped: every type and order, each rank its rows; and files that are broken.
#include "tests/support/declared.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

Bytes idx(char type, const std::vector<double>& shape, const Bytes& payload) {
  return Bytes{0, 0, type, static_cast<char>(shape.size())} + numbers<std::uint32_t>(shape, true) + payload;
}

// The file must load, and give each rank exactly its rows.
void check_loads(const File& file, const Dense& expected, DType type, const Values& options = {}) {
  DataSet x = load(file.path, options).x;
  BOOST_TEST(x.n() == expected.rows());
  BOOST_TEST((x.dtype() == type));
  BOOST_TEST(distance(x.local(), share(expected)) <= 1e-7 * (type == DType::f32));
}

const Bytes good_npy = npy("'<f8'", "(4, 3)", numbers<double>(counting(12)));
const Bytes good_idx = idx(0x0E, {4, 3}, numbers<double>(counting(12), true));

template <class U>
void check_npy_type(const std::string& code, DType type, double first) {
  std::vector<double> values = counting(15, first);
  for (bool big : {false, true})
    check_loads(File(npy(fmt::format("'{}{}'", big ? '>' : '<', code), "(5, 3)", numbers<U>(values, big))),
                rows_by_rows(values, 5), type);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loaders)

BOOST_AUTO_TEST_CASE(npy_of_every_type_and_byte_order) {
  check_npy_type<float>("f4", DType::f32, -7.25);
  check_npy_type<double>("f8", DType::f64, -7.1);
  check_npy_type<std::uint8_t>("u1", DType::f32, 240);
  check_npy_type<std::uint16_t>("u2", DType::f32, 65000);
  check_npy_type<std::uint32_t>("u4", DType::f64, 4e9);
  check_npy_type<std::uint64_t>("u8", DType::f64, 9e15);
  check_npy_type<std::int8_t>("i1", DType::f32, -100);
  check_npy_type<std::int16_t>("i2", DType::f32, -30000);
  check_npy_type<std::int32_t>("i4", DType::f64, -2e9);
  check_npy_type<std::int64_t>("i8", DType::f64, -9e15);
  check_loads(File(npy("'|b1'", "(3,)", numbers<std::uint8_t>({1, 0, 1}))), rows_by_rows({1, 0, 1}, 3), DType::f32);
  // Truth values are no grey levels, whatever their shape.
  check_loads(File(npy("'|b1'", "(1, 1, 2)", {0, 1})), rows_by_rows({0, 1}, 1), DType::f32);
}

BOOST_AUTO_TEST_CASE(npy_of_half_precision) {
  // 1, -2, the largest, the smallest above 0, a third, -0
  std::vector<double> bits = {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x3555, 0x8000};
  Dense expected = rows_by_rows({1, -2, 65504, std::ldexp(1, -24), 0.333251953125, 0}, 3);
  for (bool big : {false, true})
    check_loads(File(npy(big ? "'>f2'" : "'<f2'", "(3, 2)", numbers<std::uint16_t>(bits, big))), expected, DType::f32);
  for (double bad : {0x7C00, 0x7E00, 0xFC00})  // Inf, NaN, -Inf
    BOOST_TEST(refuses_bytes(npy("'<f2'", "(1,)", numbers<std::uint16_t>({bad}))));
}

// Texts are class names, numbered in their order over all ranks.
BOOST_AUTO_TEST_CASE(npy_of_texts) {
  auto utf32 = [](const std::vector<std::u32string>& texts, std::size_t width, bool big) {
    Bytes out;
    for (auto& text : texts)
      for (std::size_t k = 0; k < width; ++k) out += number<std::uint32_t>(k < text.size() ? text[k] : 0, big);
    return out;
  };
  Dense expected = rows_by_rows({2, 0, 3, 1, 2}, 5);
  std::vector<std::string> names = {"a", "b c", "r\xC3\xB6t", "\xF0\x9F\x98\x80"};
  auto check = [&](const Bytes& content, const Dense& numbers, const std::vector<std::string>& classes,
                   const Values& more = {}) {
    Values options = more;
    options.emplace("names", true);
    Loaded loaded = load(File(content).path, options);
    BOOST_TEST(loaded.x.n() == numbers.rows());
    BOOST_TEST(distance(loaded.x.local(), share(numbers)) == 0);
    BOOST_TEST(loaded.classes == classes);
  };
  for (bool big : {false, true}) {
    Bytes texts = utf32({U"r\u00F6t", U"a", U"\U0001F600", U"b c", U"r\u00F6t"}, 4, big);
    for (const char* shape : {"(5,)", "(5, 1)"}) check(npy(big ? "'>U4'" : "'<U4'", shape, texts), expected, names);
    check(npy(big ? "'>U4'" : "'<U4'", "(5,)", texts), rows_by_rows({1, 0}, 2), {"a", names[2]}, {{"rows", 2}});
  }
  check(npy("'|S3'", "(3,)", Bytes("no\0yesno\0", 9)), rows_by_rows({0, 1, 0}, 3), {"no", "yes"});
  check(npy("'|S1'", "(3,)", "131"), rows_by_rows({0, 1, 0}, 3), {"1", "3"});

  auto refused = [](const Bytes& content, const std::string& text, const Values& options) {
    std::string message = refusal(File(content).path, options);
    BOOST_TEST(message.find(text) != message.npos, "'" << text << "' expected in: " << message);
  };
  Values named = {{"names", true}};
  refused(npy("'<U1'", "(2,)", utf32({U"a", U"b"}, 1, false)), "texts are read as labels: give them with --y", {});
  for (const Values& options : {Values{}, named}) {
    refused(npy("'|S1'", "(2, 2)", "abcd"), "one column of texts", options);
    refused(npy("'|S1'", "()", "a"), "a single text", options);
    refused(npy("'|O'", "(2,)", Bytes(40, 'x')), "a.astype(str)", options);
  }
  refused(npy("'|S1'", "(3,)", "ab"), "announces 3 more bytes", named);
  refused(npy("'|S1'", "(0,)", ""), "at least one row", named);
  refused(npy("'|S0'", "(1000000000000,)", ""), "empty", named);
  refused(npy("'<U9'", "(9223372036854775807,)", Bytes(36, 'a')), "impossible", named);
  refused(npy("'|S1'", "(2,)", "ab"), "rows = 3", {{"names", true}, {"rows", 3}});
  refused(npy("'|S1'", "(3,)", Bytes("a\0b", 3)), "row 2: a label expected, the text is empty", named);
  refused(npy("'|S3'", "(2,)", Bytes("a\0\0nan", 6)), "row 2: a label expected, 'nan'", named);
  refused(npy("'|S2'", "(2,)", "aaa\xFF"), "row 2: UTF-8", named);
  refused(npy("'|S3'", "(2,)", "aaaa\nb"), "row 2: a text without control", named);
  refused(npy("'|S3'", "(1,)", Bytes("a\0b", 3)), "row 1: a text without control", named);
  for (char32_t bad : {0xD800u, 0x110000u, 0xFFFFFFFFu})
    refused(npy("'<U1'", "(2,)", utf32({U"a", {bad}}, 1, false)), "row 2: UTF-8", named);
  refused(npy("'<f8'", "(2,)", Bytes(16, 0)), "names = true is for texts, the array holds f8", named);
}

BOOST_AUTO_TEST_CASE(npy_of_every_shape_order_version_and_number_of_rows) {
  for (int rows : {1, 2, 3, 7}) {
    std::vector<double> values = counting(rows * 6), columns(values.size());
    Dense expected = rows_by_rows(values, rows);
    Bytes payload = numbers<double>(values);
    for (int version : {1, 2, 3})
      check_loads(File(npy("'<f8'", fmt::format("({}, 6)", rows), payload, false, version)), expected, DType::f64);
    check_loads(File(npy("'<f8'", fmt::format("({}, 2, 3)", rows), payload)), expected, DType::f64);
    check_loads(File(npy("'<f8'", fmt::format("({},)", rows * 6), payload)), rows_by_rows(values, rows * 6),
                DType::f64);
    check_loads(File(npy("'<f8'", fmt::format("({}, 6)", rows), payload), true), expected, DType::f64);
    for (Int j = 0; j < 6; ++j)
      for (Int i = 0; i < rows; ++i) columns[j * rows + i] = expected(i, j);
    Bytes by_columns = npy("'<f8'", fmt::format("({}, 6)", rows), numbers<double>(columns), true);
    for (bool gzip : {false, true}) check_loads(File(by_columns, gzip), expected, DType::f64);
  }
}

// The same array means the same rows in either order: columns are the last dimensions, the last running fastest.
BOOST_AUTO_TEST_CASE(npy_of_three_dimensions_in_fortran_order) {
  std::vector<double> values = counting(24), fortran(24);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 3; ++k) fortran[i + 4 * (j + 2 * k)] = values[(i * 2 + j) * 3 + k];
  check_loads(File(npy("'<f8'", "(4, 2, 3)", numbers<double>(fortran), true)), rows_by_rows(values, 4), DType::f64);
}

BOOST_AUTO_TEST_CASE(idx_of_every_type_plain_and_gzipped) {
  std::vector<double> v = counting(12, 1);
  Dense expected = rows_by_rows(v, 4);
  for (bool gzip : {false, true}) {
    check_loads(File(idx(0x08, {4, 3}, numbers<std::uint8_t>(v, true)), gzip), expected, DType::f32);
    check_loads(File(idx(0x09, {4, 3}, numbers<std::int8_t>(v, true)), gzip), expected, DType::f32);
    check_loads(File(idx(0x0B, {4, 3}, numbers<std::int16_t>(v, true)), gzip), expected, DType::f32);
    check_loads(File(idx(0x0C, {4, 3}, numbers<std::int32_t>(v, true)), gzip), expected, DType::f64);
    check_loads(File(idx(0x0D, {4, 3}, numbers<float>(v, true)), gzip), expected, DType::f32);
    check_loads(File(idx(0x0E, {4, 3}, numbers<double>(v, true)), gzip), expected, DType::f64);
    check_loads(File(idx(0x08, {12}, numbers<std::uint8_t>(v)), gzip), rows_by_rows(v, 12), DType::f32);
    check_loads(File(idx(0x08, {2, 2, 3}, numbers<std::uint8_t>(v)), gzip), rows_by_rows(v, 2) / 255, DType::f32);
    check_loads(File(idx(0x0D, {2, 2, 3}, numbers<float>(v, true)), gzip), rows_by_rows(v, 2), DType::f32);
  }
}

BOOST_AUTO_TEST_CASE(options_choose_rows_type_and_scale) {
  Dense all = rows_by_rows(counting(12), 4);
  File file(good_npy), bytes(idx(0x08, {2, 2, 3}, numbers<std::uint8_t>(counting(12))));
  for (Int rows = 1; rows <= 4; ++rows) check_loads(file, all.topRows(rows), DType::f64, {{"rows", rows}});
  check_loads(file, all, DType::f32, {{"dtype", DType::f32}});
  check_loads(bytes, rows_by_rows(counting(12), 2), DType::f64, {{"dtype", DType::f64}, {"scale", false}});
  check_loads(File(npy("'|u1'", "(2,)", {0, 51})), rows_by_rows({0, 0.2}, 2), DType::f32, {{"scale", true}});
  BOOST_TEST(refuses(file.path, {{"rows", 5}}));
  BOOST_TEST(refuses(file.path, {{"rows", 0}}));
  BOOST_TEST(refuses(file.path, {{"rows", -1}}));
  BOOST_TEST(refuses(file.path, {{"scale", true}}));
}

BOOST_AUTO_TEST_CASE(truncated_files_are_refused_wherever_they_end) {
  for (const Bytes& good : {good_npy, good_idx})
    for (std::size_t length = 0; length < good.size(); length += step())
      BOOST_TEST(refuses(File(good.substr(0, length)).path), length << " of " << good.size() << " bytes");
}

BOOST_AUTO_TEST_CASE(truncated_and_damaged_gzip_is_refused) {
  std::vector<double> noise(100);  // does not compress, so that every byte counts
  std::mt19937_64 engine(1);
  for (double& v : noise) v = std::ldexp(static_cast<double>(engine() >> 12), -40);
  Bytes good = File(idx(0x0E, {20, 5}, numbers<double>(noise, true)), true).content();
  for (std::size_t length = 0; length + 16 < good.size(); length += 1 + length / 20)
    BOOST_TEST(refuses_bytes(good.substr(0, length)), length << " of " << good.size() << " bytes");
  for (std::size_t at = 12; at < good.size(); at += 13) {
    Bytes damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    refuses(File(damaged).path);  // a changed number may pass unseen; a crash or another error may not
  }
}

BOOST_AUTO_TEST_CASE(headers_with_any_byte_changed_do_no_harm) {
  for (const Bytes& good : {good_npy, good_idx})
    for (std::size_t at = 0; at < good.size() - 96; at += step())
      for (char value : Bytes("\0\1\t'(),-9AT\x7f\x80\xff", 14)) {
        Bytes changed = good;
        changed[at] = value;
        refuses(File(changed).path);
      }
}

BOOST_AUTO_TEST_CASE(what_is_no_data_file_is_refused) {
  BOOST_TEST(refuses_bytes("just a text, not\na table"));
  BOOST_TEST(refuses_bytes("\x93NUMPZ" + good_npy.substr(6)));
  BOOST_TEST(refuses_bytes(idx(0x0A, {4, 3}, Bytes(12, 'x'))));
  BOOST_TEST(refuses_bytes(idx(0x08, {}, Bytes(12, 'x'))));
  BOOST_TEST(refuses(std::filesystem::temp_directory_path().string()));
  BOOST_TEST(refuses((std::filesystem::temp_directory_path() / "kbcd_test_no_such_file").string()));
  BOOST_TEST(refuses((std::filesystem::temp_directory_path() / std::string(300, 'x')).string()));  // too long a name
  for (const char* descr : {"'<c8'", "'|S1'", "'<U4'", "'<f16'", "'<f3'", "'|O'", "'<M8[ns]'",
                            "'<U99999999999999999999'", "'<U'", "[('a', '<f4')]", "'f4'", "'<tA'", "'<e4'", "<f4", ""})
    BOOST_TEST(refuses_bytes(npy(descr, "(4, 3)", Bytes(400, 0))), descr);
  Bytes version_4 = good_npy;
  version_4[6] = 4;
  BOOST_TEST(refuses_bytes(version_4));
}

BOOST_AUTO_TEST_CASE(shapes_that_are_none_or_too_large_are_refused) {
  for (const char* shape : {"()",
                            "(,)",
                            "(-4, 3)",
                            "(4, x)",
                            "(4x3)",
                            "(4.5, 3)",
                            "(4, 3",
                            "4, 3)",
                            "",
                            "(0, 3)",
                            "(4, 0)",
                            "(5, 3)",
                            "(4, 4)",
                            "(99999999999999999999, 3)",
                            "(4611686018427387904, 4)",
                            "(9223372036854775807,)",
                            "(1152921504606846975,)",
                            "(3037000500, 3037000500)",
                            "(1000000000000, 1)",
                            "(1, 1000000000000)"})
    for (bool fortran : {false, true})
      for (bool gzip : {false, true})
        if (!gzip || std::string(shape).size() > 8)  // the length of a gzipped file is known only at its end
          BOOST_TEST(refuses_bytes(npy("'<f8'", shape, numbers<double>(counting(12)), fortran), gzip), shape);
  BOOST_TEST(refuses_bytes(npy("'|u1'", "(9223372036854775807,)", Bytes(12, 1))));
  BOOST_TEST(refuses_bytes(idx(0x08, {4294967295.0, 4294967295.0, 4294967295.0}, Bytes(12, 1))));
  BOOST_TEST(refuses_bytes(idx(0x0E, {4294967295.0}, Bytes(12, 1)), true));
}

BOOST_AUTO_TEST_CASE(numbers_that_cannot_be_used_are_refused) {
  double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  for (double value : bad)
    for (int at : {0, 7, 11}) {
      auto values = counting(12);
      values[at] = value;
      BOOST_TEST(refuses_bytes(npy("'<f8'", "(4, 3)", numbers<double>(values))));
    }
  BOOST_TEST(refuses(File(npy("'<f8'", "(1,)", numbers<double>({1e300}))).path, {{"dtype", DType::f32}}));
  Bytes beyond_f64 = npy("'<i8'", "(1,)", Bytes("\x01\x00\x00\x00\x00\x00\x20\x00", 8));  // 2^53 + 1
  BOOST_TEST(refuses_bytes(beyond_f64));
}

// Every registered loader says what it gives and what its options are.
BOOST_AUTO_TEST_CASE(declarations_are_complete) {
  auto declares = [](const std::vector<Param>& params, const std::string& name) {
    return std::any_of(params.begin(), params.end(), [&](auto& param) { return param.name == name; });
  };
  BOOST_TEST(kbcd::loaders().size() >= 6u);
  for (auto& loader : kbcd::loaders()) {
    BOOST_TEST(!loader.gives.empty(), loader.name);
    BOOST_TEST(is_documented(loader.options), loader.name);
    for (auto& param : common_options()) BOOST_TEST(!declares(loader.options, param.name), loader.name);
    for (auto& named : {loader.part, loader.columns})
      if (named) BOOST_TEST(declares(loader.options, *named), loader.name << " " << *named);
    for (auto& values : good_values(loader.options)) BOOST_CHECK_NO_THROW(Params("load", loader.options, values));
    for (auto& values : bad_values(loader.options)) BOOST_CHECK_THROW(Params("load", loader.options, values), Error);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
