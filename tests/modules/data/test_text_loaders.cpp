// Reading libsvm and CSV text: the right values on any number of ranks, and files that are broken.
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

void check_x(const DataSet& x, const Dense& expected) {
  BOOST_TEST(x.n() == expected.rows());
  BOOST_TEST(distance(x.to_dense().local(), share(expected)) == 0);
}

void check_libsvm(const Bytes& content, const Dense& x, const Dense& y, const Values& options = {}) {
  for (bool gzip : {false, true}) {
    File file(content, gzip, gzip ? ".svm.gz" : ".svm");
    Loaded loaded = load(file.path, options);
    check_x(loaded.x, x);
    check_x(*loaded.y, y);
    BOOST_TEST(loaded.classes.empty());
  }
}

Loaded check_csv(const Bytes& content, const Dense& x, const Values& options = {}) {
  for (bool gzip : {false, true}) {
    File file(content, gzip, gzip ? ".csv.gz" : ".csv");
    check_x(load(file.path, options).x, x);
  }
  return load(File(content, false, ".csv").path, options);
}

// The file must be refused with a message that has these texts.
void check_refused(const Bytes& content, const std::string& extension, const std::vector<std::string>& texts,
                   const Values& options = {}) {
  for (bool gzip : {false, true}) {
    if (gzip && comm::size() > 1) continue;
    std::string message = refusal(File(content, gzip, extension).path, options);
    BOOST_TEST(!message.empty(), "not refused: " << content.substr(0, 100));
    for (auto& text : texts)
      BOOST_TEST(message.find(text) != message.npos, "'" << text << "' expected in: " << message);
  }
}

Dense table(std::initializer_list<std::initializer_list<double>> rows) {
  Dense out(rows.size(), rows.begin()->size());
  Int i = 0;
  for (auto& row : rows) {
    Int j = 0;
    for (double value : row) out(i, j++) = value;
    ++i;
  }
  return out;
}

// 1000 rows, some of them long, some without entries; with comments and blank lines in between.
struct Sample {
  Bytes libsvm, csv;
  Dense x = Dense::Zero(1000, 50), y = Dense(1000, 1);
  Sample() {
    std::mt19937 engine(3);
    for (Int i = 0; i < 1000; ++i) {
      y(i, 0) = static_cast<double>(engine() % 7) - 3;
      libsvm += fmt::format("{:+}", y(i, 0));
      for (Int j = 0; j < 50; ++j) {
        if (engine() % (1 + i % 90) < 3) x(i, j) = std::ldexp(static_cast<double>(engine()), -20) - 1000;
        if (x(i, j) != 0) libsvm += fmt::format(" {}:{}", j + 1, x(i, j));
        csv += fmt::format("{},", x(i, j));
      }
      libsvm += i % 7 == 0 ? " # 1:2 a comment\n" : "\n";
      if (i % 11 == 0) libsvm += i % 2 ? "\n \t\r\n" : "# 5:5\n";
      csv += fmt::format("{}\n", y(i, 0));
      if (i % 13 == 0) csv += "\n  \r\n";
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(text_loaders)

BOOST_AUTO_TEST_CASE(a_larger_file_of_either_kind) {
  Sample sample;
  check_libsvm(sample.libsvm, sample.x, sample.y);
  check_libsvm(sample.libsvm.substr(0, sample.libsvm.size() - 1), sample.x, sample.y);
  check_libsvm("\xEF\xBB\xBF" + sample.libsvm + "\n\n# end", sample.x, sample.y, {{"sparse", true}});
  check_libsvm(sample.libsvm, sample.x, sample.y, {{"sparse", false}});
  for (Int rows : {1, 2, 3, 500, 999, 1000})
    check_libsvm(sample.libsvm, sample.x.topRows(rows), sample.y.topRows(rows), {{"rows", rows}});
  for (Int rows : {1, 499, 1000}) {
    Loaded loaded = check_csv(sample.csv, sample.x.topRows(rows), {{"rows", rows}, {"label", 51}});
    check_x(*loaded.y, sample.y.topRows(rows));
  }
}

BOOST_AUTO_TEST_CASE(libsvm_small_files) {
  check_libsvm("1 1:2\n", table({{2}}), table({{1}}));
  check_libsvm("1 1:2", table({{2}}), table({{1}}));
  check_libsvm("+1 1:2 3:-.5e1  \r\n-1.5\t2:+7 # 9:9\r\n\r\n0\r\n", table({{2, 0, -5}, {0, 7, 0}, {0, 0, 0}}),
               table({{1}, {-1.5}, {0}}));
  check_libsvm("1,2.5 1:1\n-3,4 2:1\n", table({{1, 0}, {0, 1}}), table({{1, 2.5}, {-3, 4}}));
  check_libsvm("1 1:1\n2 2:2\n", table({{1, 0, 0, 0}, {0, 2, 0, 0}}), table({{1}, {2}}), {{"features", 4}});
  check_libsvm("0\n0\n", table({{0, 0}, {0, 0}}), table({{0}, {0}}), {{"features", 2}});
  check_libsvm("1 1:1e-400\n", table({{0}}), table({{1}}));  // rounds to 0, as 1e-320 rounds to what there is
}

BOOST_AUTO_TEST_CASE(libsvm_form_and_type) {
  auto form = [](const Bytes& content, const Values& options = {}) {
    DataSet x = load(File(content).path, options).x;
    return std::pair(x.sparse(), x.dtype());
  };
  Bytes third = "1 3:1\n2 1:5\n", less = "1 4:1\n2 1:5\n";
  BOOST_TEST((form(third) == std::pair(false, DType::f64)));
  BOOST_TEST((form(less) == std::pair(true, DType::f64)));
  BOOST_TEST((form(third, {{"dtype", DType::f32}, {"sparse", true}}) == std::pair(true, DType::f32)));
  BOOST_TEST((form(less, {{"dtype", DType::f32}, {"sparse", false}}) == std::pair(false, DType::f32)));
  BOOST_TEST((form(third, {{"features", 9}}) == std::pair(true, DType::f64)));
  BOOST_TEST(load(File("1 2147483647:1\n").path, {}).x.d() == 2147483647);
}

BOOST_AUTO_TEST_CASE(lines_longer_than_a_ranks_bytes) {
  std::string row = "7";
  Dense x(1, 400);
  for (Int j = 0; j < 400; ++j) {
    x(0, j) = static_cast<double>(j) / 8;
    row += fmt::format(" {}:{}", j + 1, x(0, j));
  }
  check_libsvm(row + "\n", x, table({{7}}));
  check_libsvm(
      "1 1:1\n" + row + "\n2 1:1\n3 1:1\n",
      [&] {
        Dense all = Dense::Zero(4, 400);
        all.col(0).setOnes();
        all.row(1) = x;
        return all;
      }(),
      table({{1}, {7}, {2}, {3}}));
  Bytes text = Bytes(3 << 20, ' ') + "1 1:1\n2 1:2";  // longer than any buffer
  check_libsvm(text, table({{1}, {2}}), table({{1}, {2}}));
}

BOOST_AUTO_TEST_CASE(malformed_libsvm) {
  struct Case {
    Bytes line;
    std::string text;
  };
  std::vector<Case> cases = {{"1 0:2", "from 1"},
                             {"1 2:1 2:1", "ascend"},
                             {"1 3:1 2:1", "2 behind 3"},
                             {"1 90:1 2:1", "2 behind 90"},
                             {"1 -1:2", "index:value expected, got '-1:2'"},
                             {"1 1.5:2", "index:value"},
                             {"1 a:2", "'a:2'"},
                             {"1 1", "index:value expected, got '1'"},
                             {"1 1:", "end of the line"},
                             {"1 1: 2", "finite number"},
                             {"1 :2", "':2'"},
                             {"1 1:x", "'x'"},
                             {"1 1:2x", "'2x'"},
                             {"1 1:2:3", "'2:3'"},
                             {"1 1:2,2:3", "'2,2:3'"},
                             {"1 1:nan", "finite"},
                             {"1 1:-inf", "finite"},
                             {"1 1:1e999", "finite"},
                             {"1 1:+-2", "finite"},
                             {"1 1:0x10", "finite"},
                             {"1:2 3:4", "label"},
                             {"nan 1:2", "label"},
                             {"x 1:2", "label, got 'x'"},
                             {", 1:2", "label"},
                             {"1, 1:2", "label"},
                             {"1,2 1:2", "1 label(s)"},
                             {"1 qid:3 1:2", "ranking"},
                             {"qid:3 1:2", "label"},
                             {"1 99999999999999999999:2", "'99999999999999999999:2'"},
                             {"1 2147483648:2", "at most 2147483647"},
                             {"1 1:2 \xff\xfe", "\\xff\\xfe"},
                             {Bytes("1 1:2\0 2:1", 10), "\\x00"},
                             {"1 1:2\r2 1:3", "\\x0d"},
                             {"1;1:2", "label"},
                             {"1 1:2 \xc2\xa0", "index:value"}};
  BOOST_TEST(cases.size() >= 30);
  for (auto& [line, text] : cases)
    for (auto* end : {"\n", "\r\n"})
      for (int before : {0, 1, 9}) {
        Bytes content;
        for (int i = 0; i < before; ++i) content += fmt::format("{} 1:1{}", i, i % 2 ? "\n" : " # x\n");
        int number = 1 + before + 2 * (before > 0);
        if (before) content += "# comment\n\n";
        content += line + end;
        for (int i = 0; i < 4; ++i) content += fmt::format("{} 1:1\n", i);
        bool first =
            before == 0 && (line == "1, 1:2" || line == "1,2 1:2" || line == ", 1:2");  // then all others are wrong
        check_refused(content, ".svm",
                      first ? std::vector<std::string>{"line"} : std::vector{text, fmt::format("line {}:", number)});
      }
}

BOOST_AUTO_TEST_CASE(libsvm_that_does_not_fit_its_options) {
  for (const char* content : {"", "\n", "# only\n\n", " \t\r\n"}) check_refused(content, ".svm", {"at least one row"});
  check_refused("1\n2\n", ".svm", {"features"});
  check_refused("1 1:2\n1 3:2\n", ".svm", {"line 2", "at most 2"}, {{"features", 2}});
  check_refused("1 1:2\n", ".svm", {"features"}, {{"features", 0}});
  check_refused("1 1:2\n", ".svm", {"features"}, {{"features", Int{1} << 40}});
  check_refused("1 1:2\n", ".svm", {"rows = 2", "1"}, {{"rows", 2}});
  check_refused("1 1:2\n", ".svm", {"rows"}, {{"rows", 0}});
  check_refused("1 1:2\n", ".svm", {"'label'", "libsvm", "sparse, features"}, {{"label", 1}});
  check_refused("1 1:2\n", ".svm", {"'scale'"}, {{"scale", true}});
  check_refused("1 1:1e300\n", ".svm", {"line 1", "f32"}, {{"dtype", DType::f32}});
  Bytes rows;
  for (int i = 0; i < 100; ++i) rows += "1 2147483647:1\n";
  check_refused(rows, ".svm", {"leave them sparse", "GB"}, {{"sparse", false}});
  Bytes labels = "1";  // so many targets, and many rows without them
  for (int i = 0; i < 30000; ++i) labels += ",1";
  for (int i = 0; i < 10000; ++i) labels += "\n1 1:1";
  check_refused(labels, ".svm", {"line 2", "30001 label(s)"});
}

BOOST_AUTO_TEST_CASE(csv_of_every_kind) {
  Dense x = table({{1, 2}, {3, 4}, {-5e-3, 6}});
  for (const char* content :
       {"1,2\n3,4\n-5e-3,6\n", "1,2\r\n3,4\r\n-.005,+6", "a,b\n1,2\n3,4\n-5e-3,6\n", "1\t2\n3\t4\n-5e-3\t6",
        "1;2\n3;4\n-5e-3;6\n", "\"a,b\",\"c\"\"d\"\n\"1\",2\n3,\"4\"\n-5e-3,6\n\n\n",
        "\xEF\xBB\xBF"
        "1,2\n3,4\n-5e-3,6\n",
        " 1 , 2\n\n3,4  \n \r\n-5e-3,6\n", "a,2\n1,2\n3,4\n-5e-3,6"})
    check_csv(content, x);
  check_csv("1,2\n3,4\n", table({{3, 4}}), {{"header", true}});
  check_csv("1\n2\n3\n\n", table({{1}, {2}, {3}}));
  check_csv("x\n1\n2", table({{1}, {2}}));
  BOOST_TEST((load(File("1,2\n", false, ".csv").path, {{"dtype", DType::f32}}).x.dtype() == DType::f32));
  for (const char* content : {"1,2\n3,4\n", "a,b\n1,2\n3,4\n", "1;2\n3;4", "1\t2\n3\t4\n"})  // without an extension
    check_x(load(File(content).path, {}).x, content[0] == 'a' || content[0] == '1' ? table({{1, 2}, {3, 4}}) : x);
  BOOST_TEST(load(File("1 1:2\n", false, ".csv").path, {}).y.has_value());  // libsvm, whatever its name
}

BOOST_AUTO_TEST_CASE(csv_labels) {
  Bytes content = "x,kind,z\n1,dog,2\n3,\"cat, big\",4\n5,\"dog\",6\n7,Äpfel,8\n9,3e5,1\n";
  Dense x = table({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 1}});
  for (const Value& label : {Value("kind"), Value(2)}) {
    Loaded loaded = check_csv(content, x, {{"label", label}});
    check_x(*loaded.y, table({{2}, {1}, {2}, {3}, {0}}));
    BOOST_TEST((loaded.classes == std::vector<std::string>{"3e5", "cat, big", "dog", "Äpfel"}));
  }
  content = "a,b,c\n1,2,3\n4,5,6\n";
  Loaded loaded = check_csv(content, table({{2}, {5}}), {{"label", std::vector<Value>{"c", 1}}});
  check_x(*loaded.y, table({{3, 1}, {6, 4}}));
  BOOST_TEST(loaded.classes.empty());
  BOOST_TEST(!check_csv(content, table({{1, 2, 3}, {4, 5, 6}})).y.has_value());
  check_refused(content, ".csv", {"'d'", "a, b, c"}, {{"label", "d"}});
  check_refused(content, ".csv", {"1..3", "4"}, {{"label", 4}});
  check_refused(content, ".csv", {"1..3", "0"}, {{"label", 0}});
  check_refused(content, ".csv", {"twice"}, {{"label", std::vector<Value>{"a", 1}}});
  check_refused(content, ".csv", {"left for X"}, {{"label", std::vector<Value>{"a", "b", "c"}}});
  check_refused("a,a\n1,2\n", ".csv", {"more than one", "'a'"}, {{"label", "a"}});
  check_refused("1,2\n", ".csv", {"no header"}, {{"label", "a"}});
}

BOOST_AUTO_TEST_CASE(malformed_csv) {
  struct Case {
    Bytes line;
    std::string text;
  };
  std::vector<Case> cases = {{"1,x,0", "column 2: a finite number expected, got 'x'"},
                             {"1,,0", "column 2"},
                             {",1,0", "column 1"},
                             {" ,1,0", "column 1"},
                             {"\"\",1,0", "column 1"},
                             {"1,2", "3 fields expected as in the first line, got 2"},
                             {"1", "got 1"},
                             {"1,2,3,4", "got 4"},
                             {"1,2,3,", "got 4"},
                             {"1;2;3", "got 1"},
                             {"1\t2\t3", "got 1"},
                             {"nan,1,0", "column 1"},
                             {"1,inf,0", "column 2"},
                             {"1,-Infinity,0", "column 2"},
                             {"1,1e999,0", "column 2"},
                             {"1,0x1,0", "column 2"},
                             {"1,2 3,0", "column 2"},
                             {"1,2%,0", "column 2"},
                             {"1,$2,0", "column 2"},
                             {"1,NA,0", "'NA'"},
                             {"1,?,0", "'?'"},
                             {"1,\"2,0", "not closed"},
                             {"\"", "not closed"},
                             {"1,\"2\"\",0", "not closed"},
                             {"1,\"2\"3,0", "behind the closing quote"},
                             {"1,2\"3\",0", "quote inside"},
                             {"1,2,", "column 3: a label expected"},
                             {"1,2,a", "column 3: a finite number expected as label"},
                             {"1,2,nan", "label"},
                             {"1,\xff\xfe,0", "\\xff\\xfe"},
                             {Bytes("1,2\0,0", 7), "\\x00"},
                             {"1,2\r3,4,0", "fields"},
                             {"# comment", "fields"},
                             {",,", "column 3"},
                             {"1,+-2,0", "column 2"},
                             {"1,\"\"\"2\"\"\",0", "column 2"}};
  BOOST_TEST(cases.size() >= 30);
  for (auto& [line, text] : cases)
    for (auto* end : {"\r\n", ""})
      for (int before : {1, 9})
        for (bool header : {false, true}) {
          Bytes content = header ? "a,b,c\n" : "";
          for (int i = 0; i < before; ++i) content += fmt::format("{},1,1\n", i);
          int number = 1 + before + 1 + header;
          content += "\n" + line + end;
          for (int i = 0; i < 4 && *end; ++i) content += fmt::format("{},2,1\n", i);
          check_refused(content, ".csv", {text, fmt::format("line {}", number)}, {{"label", 3}});
        }
}

BOOST_AUTO_TEST_CASE(csv_that_does_not_fit) {
  for (const char* content : {"", "\n", "  \r\n\n"}) check_refused(content, ".csv", {"at least one row"});
  check_refused("a,b\n", ".csv", {"at least one row", "header"}, {{"header", true}});
  check_refused("1,2\na,b\n", ".csv", {"line 2", "column 1"});
  check_refused("a,b\n1,2\n", ".csv", {"line 1", "column 1"}, {{"header", false}});
  check_refused("1\n\n2\n", ".csv", {"line 2", "empty"});
  check_refused("1,2\n", ".csv", {"rows = 2"}, {{"rows", 2}});
  check_refused("1,2\n", ".csv", {"'sparse'", "header, label"}, {{"sparse", true}});
  check_refused("1,2\n", ".csv", {"'member'"}, {{"member", "X"}});
  check_refused("1,1e300\n", ".csv", {"line 1", "f32"}, {{"dtype", DType::f32}});
  check_refused(
      "\xff\xfe"
      "a,b\n1,2\n",
      ".csv", {"UTF-16", "iconv"});
  check_refused("1,caf\xe9\n2,b\n", ".csv", {"line 1", "UTF-8", "iconv"}, {{"label", 2}});
  check_refused(Bytes("1\0,\0"
                      "2\0\n\0",
                      8),
                ".csv", {"line 1", "zero byte", "UTF-16", "iconv"});
  Bytes wide(30000, ',');  // so many columns, and many rows without them
  for (int i = 0; i < 10000; ++i) wide += "\n1";
  check_refused(wide, ".csv", {"fields"}, {{"header", true}});
  Bytes good = "a,b\n1,2\n3,4\n", packed = File(good, true).content();
  for (std::size_t length = 18; length < packed.size(); ++length)
    BOOST_TEST(refuses(File(packed.substr(0, length), false, ".csv.gz").path), length);
}

BOOST_AUTO_TEST_CASE(any_byte_changed_does_no_harm) {
  for (const Bytes& good : {Bytes("1 1:2 3:4 # c\n-1 2:5\n"), Bytes("a,\"b\",c\n1,2,x\n3,\"4\",y\n")})
    for (std::size_t at = 0; at < good.size(); at += step())
      for (char value : Bytes("\0\n\r\"',:;#09-e \xff", 15)) {
        Bytes changed = good;
        changed[at] = value;
        for (const char* extension : {".svm", ".csv"}) refuses(File(changed, false, extension).path);
      }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
