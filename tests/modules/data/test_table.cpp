// Tables: what a field is; descriptions that are damaged; the same description and rows on any number of ranks, and
// line by line. (read_table_spec.lua has the tables.)
#include "modules/data/table.hpp"

#include "modules/data/cells.hpp"
#include "tests/support/files.hpp"

namespace kbcd::tests {
namespace {

// Rows of numbers, categories, dates and missing values, of a generator that is no function of the ranks.
Bytes many_rows(int rows) {
  Bytes text = "id,size,kind,when,ok,y\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("r{},{},{},2024-01-{:02},{},{}\n", i, i % 11 ? fmt::format("{}", i * 0.25) : "NA",
                        i % 13 ? fmt::format("k{}", i * i % 7) : "?", i % 28 + 1, i % 2 ? "yes" : "no", i % 3);
  return text;
}

Values changed(Values values, const char* key, const Value& value) {
  values.insert_or_assign(key, value);
  return values;
}

using List = std::vector<Value>;

}  // namespace

BOOST_AUTO_TEST_SUITE(table_reader)

BOOST_AUTO_TEST_CASE(what_a_field_is) {
  auto all = [](Cell expected, std::initializer_list<const char*> texts, bool commas = false) {
    for (const char* text : texts) BOOST_TEST((cell_of(text, commas) == expected), text);
  };
  all(Cell::missing, {"", "?", "NA", "n/a", "#N/A", "<NA>", "NaN", "NULL", "None", "-", "."});
  all(Cell::number, {"0", "-1", "+5", "1e3", "007", "9007199254740993"});
  all(Cell::point_number, {"1.5", ".5", "5.", "-0.25e-3"});
  all(Cell::comma_number, {"1,5", "0,125", "-0,500", "1234,567", ",5"}, true);
  all(Cell::three_digits, {"1,500", "-12,000", "+999,999"}, true);
  all(Cell::boolean, {"true", "FALSE", "Yes", "no", "t", "F", "y", "N"});
  all(Cell::date, {"2024-01-31", "2024/1/31", "31.12.2024", "2024-01-31 12:30", "2024-01-31T23:59:59.25+0530"});
  all(Cell::slash_date, {"1/2/2024", "01-02-2024"});
  all(Cell::day_first_date, {"31/1/2024", "13-1-2024 10:00"});
  all(Cell::month_first_date, {"1/31/2024"});
  all(Cell::misspelt, {"1,000", "1 000", "1'000.5", "1_000", "$5", "$1,000.50", "5%", "(7)", "\u22121", "7 \u20AC",
                       "1e400", "-inf", "+Infinity", "-nan", "1\u00A0000"});
  all(Cell::text, {"3+", "10-20", "0x10", "12a", "1.2.3", "2024-13-01", "30/30/2024", "2024-02-30", "1:30", "24:00",
                   "2024-01-31 25:00", "2024-01-31T10:00+99:00", "x", "5 kg", "()", "$", "%", "1,00", "1,0000"});
}

BOOST_AUTO_TEST_CASE(the_same_on_any_number_of_ranks_and_line_by_line) {
  Bytes text = many_rows(300);
  File file(text, false, ".csv");
  auto [table, notes] = fit_table(file.path, {{"label", "y"}});
  BOOST_TEST(notes.size() == 1u);  // the id
  BOOST_TEST(
      fmt::format("{}", fmt::join(table.outputs(), "|")) ==
      "size|size missing|kind missing|kind=k0|kind=k1|kind=k2|kind=k4|when|when weekday sin|when weekday cos|ok");
  auto read = read_table(file.path, {}, table);
  Matrix all = read.rows.x.gather(Index::range(0, 300)), labels = read.rows.y->gather(Index::range(0, 300));
  Matrix lines = encode_table("text", text, 1, {}, table).x;
  for (Int i = 0; i < 300; ++i) {
    BOOST_TEST(labels.get(i, 0) == i % 3);
    BOOST_TEST(all.get(i, 0) == (i % 11 ? static_cast<double>(i) * 0.25 : 0));
    BOOST_TEST(all.get(i, 1) == (i % 11 == 0));
    BOOST_TEST(all.get(i, 2) == (i % 13 == 0));
    BOOST_TEST(all.get(i, 10) == i % 2);
    for (Int j = 0; j < all.cols(); ++j) BOOST_TEST(all.get(i, j) == lines.get(i, j));
  }
}

BOOST_AUTO_TEST_CASE(damaged_descriptions) {
  File file(many_rows(50), false, ".csv");
  Values good = values_of(fit_table(file.path, {{"label", "y"}}).table);
  BOOST_TEST(table_of(good).outputs().size() == 11u);
  for (auto& [key, value] : good) {
    Values lost = good;
    lost.erase(key);
    BOOST_TEST(has(message_of([&] { table_of(lost); }), key));
    BOOST_TEST(has(message_of([&] { table_of(changed(good, key.c_str(), Value("x"))); }), key));
  }
  auto refused = [&](const char* key, const List& value, const char* expected) {
    std::string message = message_of([&] { table_of(changed(good, key, value)); });
    BOOST_TEST(has(message, expected), key << ": " << message);
  };
  refused("places", {2., 3., 4.}, "one length");
  refused("places", {2., 3., 4., 4.}, "twice");
  refused("places", {2., 3., 4., 6.}, "twice");  // the label's
  refused("places", {2., 3., 4., 7.}, "from 1 to 6");
  refused("names", {"a", "b", "c", "a"}, "'a' is there twice");
  refused("kinds", {"number", "category", "date", "colour"}, "'colour' is not known");
  refused("kinds", {"category", "number", "date", "boolean"}, "categor");
  refused("fill", {1., 2., 3., std::nan("")}, "fill");
  refused("missing", {1., 2., 0., 0.}, "missing");
  refused("categories_of", {0., 1e9, 0., 0.}, "categories_of");
  refused("categories_of", {0., 6., 0., 0.}, "more expected");
  refused("categories_of", {0., 4., 0., 0.}, "fewer expected");
  refused("categories", {"", "a", "a", "b", "c"}, "twice");
  refused("label_names", {}, "label_names");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace kbcd::tests
