// Tables: a description is fitted to a file, and the file is read by it. What was fitted must be sound, must fit the
// file that it was made of, and must give the same numbers line by line, as standard input is read.
#include "modules/data/table.hpp"

#include <cmath>
#include <cstdlib>

#include "fuzz.hpp"

namespace kbcd::fuzz {
namespace {

void check(bool good) {
  if (!good) std::abort();
}

Bytes content(const std::string& path) {
  Bytes bytes(1 << 20, '\0');
  bytes.resize(FileReader(path).read_some(bytes.data(), static_cast<Int>(bytes.size())));
  return bytes;
}

bool same(const Matrix& a, const Matrix& b) {
  check(a.rows() == b.rows() && a.cols() == b.cols());
  for (Int i = 0; i < a.rows(); ++i)
    for (Int j = 0; j < a.cols(); ++j)
      if (!std::isfinite(a.get(i, j)) || a.get(i, j) != b.get(i, j)) return false;
  return true;
}

}  // namespace

std::vector<Bytes> seeds() {
  return with_choices(6, {
                             "size,kind,when,ok,y\n1.5,a,2024-01-31,yes,1\n?,b,2024-02-01 12:30,no,2\n3,a,,NA,3\n",
                             "a;b;y\n1,5;x;2,5\n-2,25;\"x; \"\"y\"\"\";3\n",
                             "when|n\n13/2/2024|1\n3/4/2024|2\n",
                             "# note\nwhen\tn\n31.12.2024\t$5\n1.1.2025\t1,000\n",
                             "39, State-gov, 77516, <=50K\n50, ?, 83311, >50K.\n",
                             "  a   b\n  1   2e3\n 3    x\n",
                             "a,a,\n1,2,\n3,4,t\n",
                             "0,1,2\n1e400,-inf,nan\n1_000,5%,(7)\n",
                             "\xEF\xBB\xBF"
                             "k,b\r\n\"x\",1\r\n3+,2\r\n",
                         });
}

void parse(const std::string& path, unsigned choice) {
  auto options = pick<Values>(choice, {{},
                                       {{"header", true}},
                                       {{"header", false}, {"drop", std::vector<Value>{1}}},
                                       {{"label", 1}},
                                       {{"label", "y"}, {"categories", std::vector<Value>{1}}},
                                       {{"columns", std::vector<Value>{"a", 2}}}});
  auto [table, notes] = fit_table(path, options);
  check(table_of(values_of(table)).outputs() == table.outputs());
  check(static_cast<Int>(table.outputs().size()) == table.width());
  bool has_labels = !table.label_places.empty(), has_names = false;
  for (auto& column : table.columns) has_names = has_names || !column.name.empty();
  Values by;
  if (options.contains("header")) by = {{"header", options.at("header")}};
  if (has_names) by = {{"header", true}};
  try {
    by.insert_or_assign("labels", false);
    Matrix x = read_table(path, by, table).rows.x.local();
    Bytes text = content(path);
    if (!text.starts_with("\xEF\xBB\xBF")) check(same(x, encode_table(path, text, 1, by, table).x));
  } catch (const Error&) {
    check(has_labels);  // of a file without labels, all is known
  }
  read_table(path, {}, table);
}

}  // namespace kbcd::fuzz
