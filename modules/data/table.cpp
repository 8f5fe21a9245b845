#include "modules/data/table.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace kbcd {
namespace {

constexpr std::string_view kinds[] = {"number", "boolean", "date", "date d/m/y", "date m/d/y", "category"};
constexpr Int most_columns = 1 << 24;

bool is_date(ColumnKind kind) {
  return kind != ColumnKind::number && kind != ColumnKind::boolean && kind != ColumnKind::category;
}

using List = std::vector<Value>;

const List& list(const Values& values, const char* key) {
  auto it = values.find(key);
  auto* found = it == values.end() ? nullptr : std::get_if<List>(&it->second);
  require(found, "table: {}: a list expected", key);
  return *found;
}

std::vector<std::string> texts(const Values& values, const char* key) {
  std::vector<std::string> all;
  for (auto& value : list(values, key)) {
    auto* text = std::get_if<std::string>(&value);
    require(text, "table: {}: texts expected", key);
    all.push_back(*text);
  }
  return all;
}

std::vector<double> numbers(const Values& values, const char* key, bool whole, double least, double most) {
  std::vector<double> all;
  for (auto& value : list(values, key)) {
    auto* number = std::get_if<double>(&value);
    require(number && *number >= least && *number <= most && (!whole || *number == std::floor(*number)),
            "table: {}: {} from {} to {} expected", key, whole ? "whole numbers" : "numbers", least, most);
    all.push_back(*number);
  }
  return all;
}

double number(const Values& values, const char* key, double most) {
  auto it = values.find(key);
  auto* found = it == values.end() ? nullptr : std::get_if<double>(&it->second);
  require(found && *found >= 0 && *found <= most && *found == std::floor(*found),
          "table: {}: a whole number from 0 to {} expected", key, most);
  return *found;
}

template <class T, class F>
List listed(const std::vector<T>& of, const F& f) {
  List all;
  for (auto& one : of) all.push_back(Value(f(one)));
  return all;
}

void require_sound(const Table& table) {
  std::set<Int> places(table.label_places.begin(), table.label_places.end());
  require(places.size() == table.label_places.size(), "table: label_places: one is there twice");
  std::set<std::string> names;
  for (auto& column : table.columns) {
    require(places.insert(column.place).second, "table: places: {} is there twice", column.place + 1);
    require(!table.header || names.insert(column.name).second, "table: names: '{}' is there twice", column.name);
    std::set<std::string> categories(column.categories.begin(), column.categories.end());
    require(categories.size() == column.categories.size(), "table: categories: one of column {} is there twice",
            column.place + 1);
    require((column.kind == ColumnKind::category) == !categories.empty(), "table: column {}: {}", column.place + 1,
            categories.empty() ? "a category has no values" : "categories of what is none");
  }
}

}  // namespace

Int TableColumn::width() const {
  if (kind == ColumnKind::category) return static_cast<Int>(categories.size()) + other;
  return (is_date(kind) ? 3 : 1) + missing;
}

Int Table::width() const {
  Int all = 0;
  for (auto& column : columns) all += column.width();
  return all;
}

std::vector<std::string> Table::outputs() const {
  std::vector<std::string> all;
  for (auto& column : columns) {
    std::string name = header ? column.name : fmt::format("column {}", column.place + 1);
    if (column.kind != ColumnKind::category) all.push_back(name);
    if (is_date(column.kind))
      for (const char* part : {"weekday sin", "weekday cos"}) all.push_back(name + " " + part);
    for (auto& category : column.categories) all.push_back(name + (category.empty() ? " missing" : "=" + category));
    if (column.other) all.push_back(name + " other");
    if (column.missing) all.push_back(name + " missing");
  }
  return all;
}

Values values_of(const Table& table) {
  Values values;
  auto number = [](auto x) { return static_cast<double>(x); };
  auto place = [](Int x) { return static_cast<double>(x + 1); };
  values.insert_or_assign("header", number(table.header));
  values.insert_or_assign("count", number(table.count));
  values.insert_or_assign("label_places", listed(table.label_places, place));
  values.insert_or_assign("label_names", listed(table.label_names, [](auto& x) { return x; }));
  auto put = [&](const char* key, auto f) { values.insert_or_assign(key, listed(table.columns, f)); };
  put("names", [](auto& c) { return c.name; });
  put("places", [&](auto& c) { return place(c.place); });
  put("kinds", [](auto& c) { return std::string(kinds[static_cast<int>(c.kind)]); });
  put("fill", [](auto& c) { return c.fill; });
  put("missing", [&](auto& c) { return number(c.missing); });
  put("other", [&](auto& c) { return number(c.other); });
  put("categories_of", [&](auto& c) { return number(c.categories.size()); });
  List categories;
  for (auto& column : table.columns)
    for (auto& category : column.categories) categories.push_back(category);
  values.insert_or_assign("categories", categories);
  return values;
}

Table table_of(const Values& values) {
  Table table;
  table.header = number(values, "header", 1) != 0;
  table.count = static_cast<Int>(number(values, "count", most_columns));
  auto last = static_cast<double>(table.count);
  for (double place : numbers(values, "label_places", true, 1, last))
    table.label_places.push_back(static_cast<Int>(place) - 1);
  table.label_names = texts(values, "label_names");
  auto names = texts(values, "names"), kind_names = texts(values, "kinds"), categories = texts(values, "categories");
  auto places = numbers(values, "places", true, 1, last), missing = numbers(values, "missing", true, 0, 1),
       other = numbers(values, "other", true, 0, 1),
       fill = numbers(values, "fill", false, std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()),
       sizes = numbers(values, "categories_of", true, 0, most_columns);
  std::size_t n = names.size(), at = 0;
  for (std::size_t size : {kind_names.size(), places.size(), missing.size(), other.size(), fill.size(), sizes.size()})
    require(size == n && n > 0, "table: lists of one length expected, got {} and {}", n, size);
  require(table.label_names.size() == table.label_places.size(), "table: as many label_names as label_places expected");
  for (std::size_t j = 0; j < n; ++j) {
    auto kind = std::find(std::begin(kinds), std::end(kinds), kind_names[j]) - std::begin(kinds);
    require(kind < std::ssize(kinds), "table: kinds: '{}' is not known", kind_names[j]);
    auto size = static_cast<std::size_t>(sizes[j]);
    require(size <= categories.size() - at, "table: categories: more expected");
    TableColumn column{
        names[j],     static_cast<Int>(places[j]) - 1, static_cast<ColumnKind>(kind), fill[j], missing[j] != 0,
        other[j] != 0};
    for (; size > 0; --size) column.categories.push_back(categories[at++]);
    table.columns.push_back(std::move(column));
  }
  require(at == categories.size(), "table: categories: fewer expected");
  require_sound(table);
  return table;
}

}  // namespace kbcd
