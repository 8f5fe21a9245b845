// Text files whose first line is neither clearly names nor clearly data, and lines that are too long to be lines.
#include <chrono>

#include "modules/text/documents.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

std::string refused(const std::string& content, const Values& options = {}) {
  return refusal(File(content, false, ".csv").path, options);
}

Int rows_of_csv(const std::string& content, const Values& options = {}) {
  return load(File(content, false, ".csv").path, options).x.n();
}

struct Budget {
  std::size_t before = memory::budget();
  explicit Budget(std::size_t bytes) { memory::set_budget(bytes); }
  ~Budget() { memory::set_budget(before); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(doubtful_text)

BOOST_AUTO_TEST_CASE(a_first_line_of_misspelt_numbers_is_no_header) {
  for (const char* field : {"1_000", "1d5",   "1D5", "\u22121", "\u20131",  "0x10",  "0b1",       "$5",
                            "5%",    "1.2.3", "1e",  "1e5x",    "12abc",    "1 000", "\"1,000\"", "\u20AC5",
                            "(5)",   "+-1",   "nan", "-inf",    "Infinity", "NA",    "1\u00A0000"}) {
    for (const char* row : {"{},2\n3,4\n5,6\n", "2,{}\n3,4\n5,6\n", "{},{}\n3,4\n"}) {
      std::string content = row;
      for (auto at = content.find("{}"); at != content.npos; at = content.find("{}")) content.replace(at, 2, field);
      std::string message = refused(content);
      BOOST_TEST(has(message, "line 1, column"), content << message);
    }
    std::string content = std::string(field) + ",2\n3,4\n";
    BOOST_TEST(rows_of_csv(content, {{"header", true}}) == 1, field);  // who says so is believed
    BOOST_TEST(has(refused(content, {{"header", false}}), "line 1, column 1"), field);
  }
  BOOST_TEST(has(refused("1_000\n2\n3\n", {}), "line 1, column 1"));
  BOOST_TEST(has(refused("x,1d5\n3,4\n", {}), "header = true"));
  for (const char* line : {"l5,3,3", "7,O,0", "3,0,x1", "12345678901234567890,x,1"}) {
    std::string content = std::string(line) + "\n3,4,5\n6,7,8\n", message = refused(content);
    BOOST_TEST(has(message, "line 1, column"), line << message);
    BOOST_TEST(has(message, "header = true"), line << message);
    BOOST_TEST(rows_of_csv(content, {{"header", true}}) == 2, line);
  }
}

BOOST_AUTO_TEST_CASE(names_are_still_a_header) {
  for (const char* line :
       {"a,b", "a,2020", "x1,y2", "\"a\",\"b\"", ",b", "\u00E4,b", "a_1,b_2", "_1,b", "\u6E29\u5EA61,b"})
    BOOST_TEST(rows_of_csv(std::string(line) + "\n3,4\n5,6\n") == 2, line);
  for (const char* line : {"0,1,y", "country,1990,1991", "a,b,7"})
    BOOST_TEST(rows_of_csv(std::string(line) + "\n3,4,5\n") == 1, line);
  BOOST_TEST(rows_of_csv("id,name,2020_sales\n1,2,3\n") == 1);  // more names than doubts
  auto classes = load(File("3d,1,2\n2d,3,4\n", false, ".csv").path, {{"label", 1}}).classes;
  BOOST_TEST(classes == (std::vector<std::string>{"2d", "3d"}));
}

BOOST_AUTO_TEST_CASE(half_numbers_in_other_lines_are_errors) {
  for (const char* field :
       {"1_000", "1d5", "\u22121", "0x10", "$5", "12abc", "1e", "nan", "inf", "", "1 000", "NULL"}) {
    BOOST_TEST(has(refused(fmt::format("1,2\n{},4\n", field)), "line 2, column 1"), field);
    BOOST_TEST(has(refused(fmt::format("a,b\n1,2\n3,{}\n", field)), "line 3, column 2"), field);
    BOOST_TEST(has(refused(fmt::format("1,2\n{},4\n", field), {{"label", 1}}), "line 2, column 1"), field);
  }
}

// A line whose fields would take 16 times its bytes. Each rank must refuse it before it holds it.
BOOST_AUTO_TEST_CASE(lines_have_a_longest_length) {
  Budget budget(std::size_t{200} << 20);
  std::string longest(12'000'000, ',');
  for (bool gzip : {false, true}) {
    for (const char* kind : {".csv", ".svm"}) {
      std::string good = kind == std::string(".csv") ? "1,2\n" : "1 1:2\n";
      for (const std::string& content : {good + good + longest + "\n" + good, longest}) {
        File file(content, gzip, kind + std::string(gzip ? ".gz" : ""));
        auto start = std::chrono::steady_clock::now();
        std::string message = refusal(file.path);
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        std::string line = content[0] == ',' ? "line 1 has more than 3 MB" : "line 3 has more than 3 MB";
        BOOST_TEST(has(message, line), kind << message.substr(0, 300));
        BOOST_TEST(seconds.count() < 20);
      }
    }
    File texts("good\tfine words\n" + std::string(12'000'000, 'x') + "\n", gzip, gzip ? ".tsv.gz" : ".tsv");
    BOOST_TEST(has(message_of([&] { Documents(texts.path, {}); }), "line 2 has more than 3 MB"));
  }
  std::string wide(1'500'000, '1');  // below the limit, above the first buffer
  for (std::size_t i = 1; i < wide.size(); i += 2) wide[i] = ',';
  wide.back() = '1';
  BOOST_TEST(load(File(wide + "1\n" + wide + "1\n", false, ".csv").path, {}).x.d() == 750'000);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
