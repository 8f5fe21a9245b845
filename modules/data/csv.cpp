// CSV and TSV: one row a line, fields separated by commas, tabs, semicolons, bars or blanks, quoted as in RFC 4180 (but
// no line break within quotes, since a file is read by byte ranges). The columns that `label` chooses make y; the
// others, X. With `names`, a file of one column of labels makes X.
#include <algorithm>

#include "modules/data/class_names.hpp"
#include "modules/data/csv_fields.hpp"
#include "modules/data/csv_label.hpp"
#include "modules/data/csv_plan.hpp"
#include "modules/data/loader.hpp"
#include "modules/data/text_reader.hpp"

namespace kbcd {
namespace {

// What the first lines show, and which columns make X and y.
struct Plan : CsvPlan {
  std::vector<Int> labels;    // columns that make y
  std::vector<Int> features;  // the others
  bool classes = false;       // the label is a name
};

void choose_columns(Plan& plan, const Params& options, const std::string& path) {
  auto label = options.get<std::vector<ColumnName>>("label");
  if (options.get<bool>("names").value_or(false)) {
    require(plan.columns == 1 && !label, "{}: names = true is for one column without label, it has {}", path,
            plan.columns);
    plan.labels = {0};
    return;
  }
  std::vector<bool> taken(plan.columns);
  for (auto& wanted : label.value_or(std::vector<ColumnName>{})) {
    Int column = csv_column(wanted, plan, path, "label");
    require(!taken[column], "{}: label: column {} is named twice", path, column + 1);
    taken[column] = true;
    plan.labels.push_back(column);
  }
  for (Int j = 0; j < plan.columns; ++j)
    if (!taken[j]) plan.features.push_back(j);
  require(!plan.features.empty(), "{}: every column is a label; at least one must be left for X", path);
}

Plan make_plan(const std::string& path, const Params& options) {
  CsvLook look{.header = options.get<bool>("header"), .one_column = options.get<bool>("names").value_or(false)};
  Plan plan{csv_plan(path, look), {}, {}, false};
  choose_columns(plan, options, path);
  plan.classes = plan.labels.size() == 1 && plan.labels[0] < static_cast<Int>(plan.row.size()) &&
                 holds_names(plan.row[plan.labels[0]], plan.delimiter != ',');
  return plan;
}

template <class T>
void read_rows(const std::string& path, const TextShare& share, const Plan& plan, const Matrix& x, const Matrix& y,
               ClassNames& names) {
  auto to = x.view<T>();
  auto labels = y.view<double>();
  Fields fields(path, plan.delimiter);
  Int i = 0;
  each_line(path, share, [&](std::string_view line, Int number) {
    if (fields.skips(line, number, plan.columns)) return;
    fields.require_count(fields.of(line, number), plan.columns);
    for (std::size_t k = 0; k < plan.labels.size(); ++k)
      labels(i, k) = read_label(fields, plan.labels[k], plan.classes, plan.labels.size() == 1, names);
    for (std::size_t j = 0; j < plan.features.size(); ++j)
      to(i, j) = narrowed<T>(fields.number(plan.features[j]), path, number);
    ++i;
  });
}

Loaded load_csv(const std::string& path, const Params& options) {
  Plan plan;
  comm::together([&] { plan = make_plan(path, options); });
  auto share = share_text(path, plan.start, options.get<Int>("rows"),
                          [](std::string_view line) { return is_csv_row(line) ? 0 : no_row; });
  Matrix x, y;
  ClassNames names;
  comm::together([&] {
    Int rows = share.possible_rows(plan.columns);
    DType dtype = options.get<DType>("dtype").value_or(DType::f64);
    require_dense_room(path, share.n, plan.columns, dtype, fewer_rows);
    x = Matrix(rows, plan.features.size(), dtype);
    y = Matrix(rows, plan.labels.size(), DType::f64);
    dispatch(x.dtype(), [&]<class T>() { read_rows<T>(path, share, plan, x, y, names); });
  });
  std::vector<std::string> classes;
  if (plan.classes) classes = names.merge(y);
  std::vector<std::string> columns;
  for (Int j : plan.names.empty() ? std::vector<Int>{} : plan.features) columns.push_back(plan.names[j]);
  if (plan.labels.empty()) return {DataSet(share.n, x, path), {}, {}, columns};
  DataSet labels(share.n, y, path);
  if (plan.features.empty()) return {labels, {}, classes};
  return {DataSet(share.n, x, path), labels, classes, columns};
}

// Its extension says so; or a line with delimiters, or a number alone, where one of the first two lines has a number.
Match is_csv(const FileStart& start) {
  if (start.extension == ".csv" || start.extension == ".tsv") return Match::named;
  if (start.bytes.find('\0') != start.bytes.npos) return Match::no;
  std::string_view rest = start.bytes;
  for (int i = 0; i < 2 && !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_csv_row(line)) continue;
    ++i;
    bool blanks = line.find_first_of(",;|\t") == line.npos;
    for (char delimiter = blanks ? ' ' : csv_delimiter(line); !line.empty();) {
      auto field = line.substr(0, line.find(delimiter));
      if (whole_number_text(trimmed(field, " \""))) return Match::likely;
      line.remove_prefix(std::min(field.size() + 1, line.size()));
    }
  }
  return Match::no;
}

const RegisteredLoader csv({
    .name = "CSV",
    .gives = "X; y from the columns that label names, and classes where they hold names",
    .options = {{.name = "header",
                 .help = "whether the first line names the columns; by default by its look",
                 .kind = Kind::flag},
                {.name = "label", .help = "the columns that make y", .kind = Kind::columns},
                {.name = "names",
                 .help = "whether the only column holds labels; X has their numbers then and there is no y",
                 .kind = Kind::flag}},
    .matches = is_csv,
    .load = load_csv,
});

}  // namespace
}  // namespace kbcd
