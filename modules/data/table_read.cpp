// Reading a table by its description: columns are found by their names, or by their places where a file has no header,
// and each field becomes the numbers that the description says.
#include <algorithm>
#include <numbers>
#include <unordered_map>
#include <unordered_set>

#include "modules/data/cells.hpp"
#include "modules/data/class_names.hpp"
#include "modules/data/csv_fields.hpp"
#include "modules/data/csv_label.hpp"
#include "modules/data/csv_plan.hpp"
#include "modules/data/table.hpp"

namespace kbcd {
namespace {

// Where a file has what the description names.
struct Matched {
  std::vector<Int> columns;  // of each of the table's
  std::vector<Int> labels;
  std::vector<std::string> notes;
};

// Places by names; of a name that is there twice, the first.
class Places {
 public:
  explicit Places(const std::vector<std::string>& names) {
    for (std::size_t j = 0; j < names.size(); ++j)
      if (!first_.emplace(names[j], j).second) again_.insert(names[j]);
  }
  Int of(const std::string& name) const {  // -1: there is none
    auto found = first_.find(name);
    return found == first_.end() ? -1 : found->second;
  }
  bool twice(const std::string& name) const { return again_.contains(name); }

 private:
  std::unordered_map<std::string_view, Int> first_;
  std::unordered_set<std::string_view> again_;
};

Matched match_names(const Table& table, const CsvPlan& plan, const std::string& path, std::vector<Int> labels,
                    bool wanted) {
  Matched matched;
  Places places(plan.names);
  std::vector<std::string> lost, more;
  for (auto& column : table.columns) {
    require(!places.twice(column.name), "{}: two columns are named '{}', which the model uses; rename one", path,
            column.name);
    matched.columns.push_back(places.of(column.name));
    if (matched.columns.back() < 0) lost.push_back(column.name);
  }
  require(
      lost.empty(),
      "{}: the model needs the column{} {}; the header has {} (--header no if that line holds data: columns are then "
      "taken by their places)",
      path, lost.size() == 1 ? "" : "s", listed(lost), listed(plan.names));
  if (labels.empty())
    for (auto& name : table.label_names) {
      Int place = places.of(name);
      require(place >= 0 || !wanted,
              "{}: no column is named '{}', which held the labels in training; say with label (--label) which one does",
              path, name);
      if (place >= 0) labels.push_back(place);
    }
  std::vector<bool> used(plan.columns);
  for (auto* list : {&matched.columns, &labels})
    for (Int j : *list) used[j] = true;
  for (Int j = 0; j < plan.columns; ++j)
    if (!used[j]) more.push_back(plan.names[j]);
  if (!more.empty()) matched.notes.push_back(fmt::format("columns that are not used: {}", listed(more)));
  matched.labels = labels;
  return matched;
}

Matched match_places(const Table& table, const CsvPlan& plan, const std::string& path, std::vector<Int> labels) {
  if (labels.empty() && plan.columns == table.count) labels = table.label_places;
  std::vector<Int> features;
  for (Int j = 0; j < plan.columns; ++j)
    if (std::find(labels.begin(), labels.end(), j) == labels.end()) features.push_back(j);
  auto targets = static_cast<Int>(table.label_places.size());
  require(static_cast<Int>(features.size()) == table.count - targets,
          "{}: {} columns expected as in the training data{}, got {}{}", path, table.count - targets,
          targets ? fmt::format(", or {} with the labels", table.count) : "", features.size(),
          labels.empty() ? "" : " besides the labels");
  Matched matched;
  for (auto& column : table.columns) {
    auto before = [&](Int place) { return place < column.place; };
    auto labels_before = std::count_if(table.label_places.begin(), table.label_places.end(), before);
    matched.columns.push_back(features[column.place - labels_before]);
  }
  matched.labels = labels;
  if (table.header != !plan.names.empty())
    matched.notes.push_back(fmt::format(
        "columns are taken by their places: {}",
        table.header ? "this file has no header" : "those of the training data had no names, or two the same"));
  return matched;
}

Matched match(const Table& table, const CsvPlan& plan, const std::string& path, const Params& options) {
  std::vector<Int> labels;
  for (auto& wanted : options.get<std::vector<ColumnName>>("label").value_or(std::vector<ColumnName>{}))
    labels.push_back(csv_column(wanted, plan, path, "label"));
  bool by_name = table.header && !plan.names.empty();
  return by_name ? match_names(table, plan, path, labels, options.get<bool>("labels").value_or(true))
                 : match_places(table, plan, path, labels);
}

// One row as numbers.
class RowEncoder {
 public:
  RowEncoder(const Table& table, const Matched& matched, bool commas)
      : table_(table), matched_(matched), commas_(commas), places_(table.columns.size()) {
    for (std::size_t k = 0; k < places_.size(); ++k)
      for (auto& category : table.columns[k].categories) places_[k].emplace(category, places_[k].size());
  }

  // put(column of X, value) for everything that may not be 0.
  template <class Put>
  void encode(const Fields& fields, Put&& put) {
    Int at = 0;
    for (std::size_t k = 0; k < places_.size(); ++k) {
      auto& column = table_.columns[k];
      Int place = matched_.columns[k];
      if (column.kind == ColumnKind::category)
        put_category(fields, k, at, put);
      else
        put_number(fields, place, column, at, put);
      at += column.width();
    }
  }

  Int surprises = 0;  // values that are missing where no training row had that

 private:
  template <class Put>
  void put_category(const Fields& fields, std::size_t k, Int at, Put&& put) const {
    auto& column = table_.columns[k];
    Int place = matched_.columns[k];
    std::string text;
    if (!is_missing(trimmed(fields.last()[place]))) text = trimmed(fields.name(place));
    auto found = places_[k].find(text);
    if (found != places_[k].end())
      put(at + static_cast<Int>(found->second), 1);
    else if (column.other)
      put(at + static_cast<Int>(places_[k].size()), 1);
  }

  template <class Put>
  void put_number(const Fields& fields, Int place, const TableColumn& column, Int at, Put&& put) {
    auto text = trimmed(fields.last()[place]);
    auto value = value_of(text, column.kind);
    if (!value && !is_missing(text)) complain(fields, place, column, text);
    put(at, value.value_or(column.fill));
    if (value && column.kind >= ColumnKind::date && column.kind <= ColumnKind::month_day_date) {
      double angle = std::floor(*value) * 2 * std::numbers::pi / 7;
      put(at + 1, std::sin(angle));
      put(at + 2, std::cos(angle));
    }
    if (!value && column.missing) put(at + column.width() - 1, 1);
    if (!value && !column.missing) ++surprises;
  }

  std::optional<double> value_of(std::string_view text, ColumnKind kind) const {
    if (kind == ColumnKind::number) {
      auto number = whole_number_text(text);
      return number || !commas_ ? number : comma_number_of(text);
    }
    if (kind == ColumnKind::boolean) {
      if (text == "0" || text == "1") return text == "1";
      return boolean_of(text);
    }
    auto date = date_of(text);
    if (!date || (kind == ColumnKind::date && !date->ordered)) return {};
    return date->days(kind == ColumnKind::day_month_date);
  }

  [[noreturn]] static void complain(const Fields& fields, Int place, const TableColumn& column, std::string_view text) {
    const char* expected = column.kind == ColumnKind::number    ? "a finite number"
                           : column.kind == ColumnKind::boolean ? "true or false"
                                                                : "a date";
    fields.bad(place, "{} expected{}, as in the training data, got {}; correct it, or leave the field empty (missing)",
               expected, column.name.empty() ? "" : fmt::format(" for '{}'", column.name), shown(text));
  }

  const Table& table_;
  const Matched& matched_;
  bool commas_;
  std::vector<std::unordered_map<std::string, std::size_t>> places_;
};

const std::vector<Param> read_options = {
    {.name = "header", .help = "whether the first line names the columns", .kind = Kind::flag},
    {.name = "label", .help = "the columns that make y", .kind = Kind::columns},
    {.name = "labels", .help = "whether y is wanted", .kind = Kind::flag},
    {.name = "dtype", .help = "of X", .kind = Kind::one_of, .choices = {"f32", "f64"}}};

CsvLook look_of(const Params& options, const Table& table) {
  CsvLook look{.header = options.get<bool>("header")};
  for (auto& column : table.columns)
    if (!column.name.empty()) look.names.push_back(column.name);
  return look;
}

}  // namespace

TableRows read_table(const std::string& path, const Values& values, const Table& table) {
  Params options("read_table: " + path, read_options, values);
  CsvPlan plan;
  Matched matched;
  comm::together([&] {
    plan = csv_plan(path, look_of(options, table));
    matched = match(table, plan, path, options);
    if (!options.get<bool>("labels").value_or(true)) matched.labels.clear();
  });
  auto share = share_text(path, plan.start, {}, [](auto line) { return is_csv_row(line) ? 0 : no_row; });
  auto& labels = matched.labels;
  bool commas = plan.delimiter != ',';
  bool names_expected =
      labels.size() == 1 && labels[0] < std::ssize(plan.row) && holds_names(plan.row[labels[0]], commas);
  Matrix x, y;
  ClassNames names;
  Int surprises = 0;
  comm::together([&] {
    DType dtype = options.get<DType>("dtype").value_or(DType::f64);
    require_dense_room(path, share.n, table.width(), dtype, "use fewer columns (--columns) or more machines");
    x = Matrix::zeros(share.possible_rows(plan.columns), table.width(), dtype);
    y = Matrix(x.rows(), static_cast<Int>(labels.size()), DType::f64);
    dispatch(dtype, [&]<class T>() {
      auto to = x.view<T>();
      Fields fields(path, plan.delimiter);
      RowEncoder encoder(table, matched, commas);
      Int i = 0;
      each_line(path, share, [&](std::string_view line, Int number) {
        if (fields.skips(line, number, plan.columns)) return;
        fields.require_count(fields.of(line, number), plan.columns);
        for (std::size_t k = 0; k < labels.size(); ++k)
          y.set(i, static_cast<Int>(k),
                read_label(fields, labels[k], names_expected, labels.size() == 1, names, commas));
        encoder.encode(fields, [&](Int j, double value) { to(i, j) = narrowed<T>(value, path, number); });
        ++i;
      });
      surprises = encoder.surprises;
    });
  });
  double missing = comm::allreduce(static_cast<double>(surprises), comm::Reduction::sum);
  if (missing > 0)
    matched.notes.push_back(fmt::format(
        "{} values are missing in columns where the training data had none missing; the median stands for them",
        missing));
  TableRows read{{DataSet(share.n, x, path)}, matched.notes};
  if (names_expected) read.rows.classes = names.merge(y);
  if (!labels.empty()) read.rows.y = DataSet(share.n, y, path);
  return read;
}

EncodedRows encode_table(const std::string& name, std::string_view text, Int first, const Values& values,
                         const Table& table) {
  Params options("read_table: " + name, read_options, values);
  std::string_view rest = text;
  auto next = [&](std::string_view& line, Int& offset) {
    if (rest.empty()) return false;
    line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    offset = static_cast<Int>(text.size() - rest.size());
    return true;
  };
  auto plan = csv_plan(name, next, look_of(options, table));
  auto matched = match(table, plan, name, options);
  rest = text.substr(plan.start.offset);
  Int number = first + plan.start.lines - 1, offset = 0, rows = 0;
  Matrix x = Matrix::zeros(std::count(rest.begin(), rest.end(), '\n') + 1, table.width());
  Fields fields(name, plan.delimiter);
  RowEncoder encoder(table, matched, plan.delimiter != ',');
  for (std::string_view line; next(line, offset);) {
    ++number;
    if (fields.skips(line, number, plan.columns)) continue;
    fields.require_count(fields.of(line, number), plan.columns);
    encoder.encode(fields, [&](Int j, double value) { x.set(rows, j, value); });
    ++rows;
  }
  return {x.row_block(0, rows), !plan.names.empty()};
}

}  // namespace kbcd
