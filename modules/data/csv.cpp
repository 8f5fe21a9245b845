// CSV and TSV: one row a line, fields separated by commas, tabs or semicolons, quoted as in RFC 4180 (but no line break
// within quotes, since a file is read by byte ranges). The columns that `label` chooses make y; the others, X. With
// `names`, a file of one column of labels makes X.
#include <algorithm>
#include <map>

#include "modules/data/class_names.hpp"
#include "modules/data/csv_fields.hpp"
#include "modules/data/csv_header.hpp"
#include "modules/data/loader.hpp"
#include "modules/data/text_reader.hpp"

namespace kbcd {
namespace {

bool is_row(std::string_view line) {
  return line.find_first_not_of(' ') != line.npos;
}

// The most frequent of the delimiters outside quotes; comma where there is none.
char delimiter_of(std::string_view line) {
  std::map<char, Int> count{{',', 0}, {'\t', 0}, {';', 0}};
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (auto found = count.find(c); found != count.end() && !quoted) ++found->second;
  }
  char best = ',';
  for (auto [c, times] : count)
    if (times > count[best]) best = c;
  return best;
}

// What the first lines show; every rank reads them.
struct Plan {
  char delimiter = ',';
  TextPlace start;                 // behind the header
  std::vector<std::string> names;  // of all columns, where there is a header
  Int columns = 0;
  std::vector<Int> labels;    // columns that make y
  std::vector<Int> features;  // the others
  bool classes = false;       // the label is a name
};

Int label_column(const ColumnName& wanted, const Plan& plan, const std::string& path) {
  if (auto* number = std::get_if<Int>(&wanted)) {
    require(*number >= 0 && *number < plan.columns, "{}: label: a column in 1..{} expected, got {}", path, plan.columns,
            *number + 1);
    return *number;
  }
  auto& name = std::get<std::string>(wanted);
  require(!plan.names.empty(), "{}: label '{}' is the name of a column, but the file has no header", path, name);
  auto found = std::count(plan.names.begin(), plan.names.end(), name);
  require(found == 1, "{}: label: {} column is named '{}'; the header has {}", path, found ? "more than one" : "no",
          name, fmt::join(plan.names, ", "));
  return std::find(plan.names.begin(), plan.names.end(), name) - plan.names.begin();
}

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
    Int column = label_column(wanted, plan, path);
    require(!taken[column], "{}: label: column {} is named twice", path, column + 1);
    taken[column] = true;
    plan.labels.push_back(column);
  }
  for (Int j = 0; j < plan.columns; ++j)
    if (!taken[j]) plan.features.push_back(j);
  require(!plan.features.empty(), "{}: every column is a label; at least one must be left for X", path);
}

Plan make_plan(const std::string& path, const Params& options) {
  LineReader lines(path);
  Plan plan;
  std::string row[2];
  TextPlace behind[2];
  Int count = 0, number = 0;
  for (std::string_view line; count < 2 && lines.next(line);) {
    ++number;
    if (!is_row(line)) continue;
    row[count] = line;
    behind[count++] = {lines.offset(), number};
  }
  require(count > 0, "{}: at least one row expected, the file has none", path);
  plan.delimiter = delimiter_of(row[0]);
  Fields first(path, plan.delimiter), second(path, plan.delimiter);
  auto& fields = first.of(row[0], behind[0].lines);
  plan.columns = static_cast<Int>(fields.size());
  auto given = options.get<bool>("header");
  auto by_look = [&] {
    return count == 2 && looks_like_header(fields, second.of(row[1], behind[1].lines), path, behind[0].lines);
  };
  if (given ? *given : by_look()) {
    require(count == 2, "{}: at least one row expected below the header, the file has none", path);
    plan.start = behind[0];
    for (Int j = 0; j < plan.columns; ++j) plan.names.push_back(first.name(j));
  }
  choose_columns(plan, options, path);
  auto& data = plan.names.empty() ? fields : second.of(row[1], behind[1].lines);
  Int label = plan.labels.size() == 1 ? plan.labels[0] : static_cast<Int>(data.size());
  plan.classes = label < static_cast<Int>(data.size()) && !data[label].empty() && !whole_number_text(data[label]) &&
                 !is_failed_number(data[label]);
  return plan;
}

double read_label(const Fields& fields, const std::vector<std::string_view>& row, Int column, const Plan& plan,
                  ClassNames& names) {
  if (row[column].empty()) fields.bad(column, "a label expected, the field is empty");
  if (plan.classes) return static_cast<double>(names.number(fields.name(column)));
  if (plan.labels.size() == 1 && !whole_number_text(row[column]))
    fields.bad(column, "a finite number expected as label, as in the first row, got {}", shown(row[column]));
  return fields.number(column);
}

template <class T>
void read_rows(const std::string& path, const TextShare& share, const Plan& plan, const Matrix& x, const Matrix& y,
               ClassNames& names) {
  auto to = x.view<T>();
  auto labels = y.view<double>();
  Fields fields(path, plan.delimiter);
  Int i = 0;
  each_line(path, share, [&](std::string_view line, Int number) {
    if (!is_row(line)) {
      require(plan.columns > 1, "{}: line {}: a number expected, the line is empty", path, number);
      return;
    }
    auto& row = fields.of(line, number);
    require(static_cast<Int>(row.size()) == plan.columns,
            "{}: line {}: {} fields expected as in the first line, got {}", path, number, plan.columns, row.size());
    for (std::size_t k = 0; k < plan.labels.size(); ++k)
      labels(i, k) = read_label(fields, row, plan.labels[k], plan, names);
    for (std::size_t j = 0; j < plan.features.size(); ++j)
      to(i, j) = narrowed<T>(fields.number(plan.features[j]), path, number);
    ++i;
  });
}

Loaded load_csv(const std::string& path, const Params& options) {
  Plan plan;
  comm::together([&] { plan = make_plan(path, options); });
  auto share = share_text(path, plan.start, options.get<Int>("rows"),
                          [](std::string_view line) { return is_row(line) ? 0 : no_row; });
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
    if (!is_row(line)) continue;
    ++i;
    for (char delimiter = delimiter_of(line); !line.empty();) {
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
