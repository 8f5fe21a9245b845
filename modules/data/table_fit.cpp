// Fitting the description of a table: each rank counts what the fields of its rows are, column by column; from the
// counts of all ranks follows what a column is. So the result does not depend on the number of ranks.
#include <algorithm>
#include <map>

#include "modules/data/csv_fields.hpp"
#include "modules/data/csv_plan.hpp"
#include "modules/data/table.hpp"
#include "modules/data/table_judge.hpp"

namespace kbcd {
namespace {

// The columns that options choose.
struct Choice {
  std::vector<Int> labels, used;
  std::vector<bool> category;
};

Choice choose(const CsvPlan& plan, const Params& options, const std::string& path) {
  Choice choice;
  auto places = [&](const char* option) {
    std::vector<Int> found;
    for (auto& wanted : options.get<std::vector<ColumnName>>(option).value_or(std::vector<ColumnName>{}))
      found.push_back(csv_column(wanted, plan, path, option));
    return found;
  };
  std::vector<bool> used(plan.columns, !options.has("columns"));
  for (Int column : places("columns")) used[column] = true;
  for (Int column : places("drop")) used[column] = false;
  choice.category.resize(plan.columns);
  for (Int column : places("categories")) {
    require(used[column], "{}: categories: column {} is not used", path, column + 1);
    choice.category[column] = true;
  }
  std::vector<bool> label(plan.columns);
  for (Int column : places("label")) {
    require(!label[column], "{}: label: column {} is named twice", path, column + 1);
    label[column] = true, used[column] = false;
    choice.labels.push_back(column);
  }
  for (Int j = 0; j < plan.columns; ++j)
    if (used[j]) choice.used.push_back(j);
  require(!choice.used.empty(), "{}: at least one column must be left for X, beside labels and what is dropped", path);
  return choice;
}

// Columns are known by their names where these differ.
bool different_names(const CsvPlan& plan, const Table& table, std::vector<std::string>& notes) {
  std::map<std::string, Int> seen;
  for (auto& name : plan.names) ++seen[name];
  auto again = [&](auto& column) { return seen[column.name] > 1; };
  auto found = std::find_if(table.columns.begin(), table.columns.end(), again);
  if (found == table.columns.end()) return true;
  notes.push_back(fmt::format("two columns are named '{}': columns are known by their places", found->name));
  return false;
}

const std::vector<Param> fit_options = {
    {.name = "header", .help = "whether the first line names the columns", .kind = Kind::flag},
    {.name = "label", .help = "the columns that make y", .kind = Kind::columns},
    {.name = "drop", .help = "columns to leave out", .kind = Kind::columns},
    {.name = "columns", .help = "the columns to use, instead of all", .kind = Kind::columns},
    {.name = "categories", .help = "columns of categories, though they hold numbers", .kind = Kind::columns},
    {.name = "plain", .help = "every column holds numbers", .kind = Kind::flag}};

}  // namespace

FittedTable fit_table(const std::string& path, const Values& values) {
  Params options("read_table: " + path, fit_options, values);
  bool plain = options.get<bool>("plain").value_or(false);
  CsvPlan plan;
  Choice choice;
  comm::together([&] {
    CsvLook look{.header = options.get<bool>("header"), .table = !plain};
    for (const char* option : {"label", "drop", "columns", "categories"})
      add_names(look.names, options.get<std::vector<ColumnName>>(option));
    plan = csv_plan(path, look);
    choice = choose(plan, options, path);
  });
  FittedTable fitted;
  Table& table = fitted.table;
  table.count = plan.columns, table.label_places = choice.labels;
  for (Int j : choice.labels) table.label_names.push_back(plan.names.empty() ? "" : plan.names[j]);
  if (plain) {
    for (Int j : choice.used) table.columns.push_back({plan.names.empty() ? "" : plan.names[j], j});
  } else {
    auto share = share_text(path, plan.start, {}, [](auto line) { return is_csv_row(line) ? 0 : no_row; });
    std::vector<Int> places = choice.used;
    places.insert(places.end(), choice.labels.begin(), choice.labels.end());
    std::vector<Counts> counts(places.size());
    comm::together([&] {
      Fields fields(path, plan.delimiter);
      each_line(path, share, [&](std::string_view line, Int number) {
        if (fields.skips(line, number, plan.columns)) return;
        fields.require_count(fields.of(line, number), plan.columns);
        for (std::size_t k = 0; k < counts.size(); ++k)
          count(counts[k], fields, places[k], plan.delimiter != ',', number);
      });
    });
    counts = merged(counts);
    Judge judge(path, plan, share.n);
    for (std::size_t k = choice.used.size(); k < places.size(); ++k) judge.label(places[k], counts[k]);
    for (std::size_t k = 0; k < choice.used.size(); ++k)
      if (auto column = judge.column(choice.used[k], counts[k], choice.category[choice.used[k]]))
        table.columns.push_back(*column);
    fitted.notes = judge.notes;
    require(!table.columns.empty(), "{}: no column is left for X: {}", path, fmt::join(judge.notes, "; "));
  }
  table.header = !plan.names.empty() && different_names(plan, table, fitted.notes);
  return fitted;
}

}  // namespace kbcd
