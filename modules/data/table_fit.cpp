// Fitting the description of a table: each rank counts what the fields of its rows are, column by column; from the
// counts of all ranks follows what a column is. So the result does not depend on the number of ranks.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "modules/data/cells.hpp"
#include "modules/data/csv_fields.hpp"
#include "modules/data/csv_plan.hpp"
#include "modules/data/table.hpp"

namespace kbcd {
namespace {

constexpr Int most_values = 20000;    // different texts of a column that are counted
constexpr Int most_categories = 100;  // that get a column of their own
constexpr Int least_category = 10;    // rows of one; fewer in tables of less than 1000 rows
constexpr Int few_values = 20;        // a column of numbers with more of them is no category
constexpr double nearly_all = 0.9, mostly_different = 0.8;

constexpr auto cell_kinds = static_cast<std::size_t>(Cell::kinds);

// What the rows have in one column.
struct Counts {
  std::array<Int, cell_kinds> cells{};
  Int odd_line = 0;  // the first that is no number
  std::string odd;
  std::unordered_map<std::string, Int> values;
  bool many = false;  // more values than are counted

  Int of(std::initializer_list<Cell> kinds) const {
    Int sum = 0;
    for (Cell kind : kinds) sum += cells[static_cast<std::size_t>(kind)];
    return sum;
  }
  Int numbers() const { return of({Cell::number, Cell::point_number, Cell::comma_number}); }
  void add_value(const std::string& value, Int times) {
    if (many) return;
    values[value] += times;
    if (static_cast<Int>(values.size()) > most_values) many = true, values.clear();
  }
};

void count(Counts& counts, const Fields& fields, Int column, bool commas, Int line) {
  auto text = trimmed(fields.last()[column]);
  Cell cell = cell_of(text, commas);
  ++counts.cells[static_cast<std::size_t>(cell)];
  if (cell == Cell::missing) return;
  if (cell > Cell::comma_number && counts.odd_line == 0) counts.odd_line = line, counts.odd = shown(text);
  if (counts.many) return;
  std::string name = fields.name(column);
  if (name.find('\0') != name.npos) fields.bad(column, "text expected, got {}, which holds a zero byte", shown(name));
  counts.add_value(std::string(trimmed(name)), 1);
}

// Counts as text, to send between ranks; no field holds a line break.
std::string packed(const Counts& counts) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", fmt::join(counts.cells, " "), counts.odd_line, counts.odd,
                                 counts.many ? 1 : 0, counts.values.size());
  for (auto& [value, times] : counts.values) text += fmt::format("{} {}\n", times, value);
  return text;
}

class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : rest_(text) {}
  void add_to(Counts& counts) {
    auto cells = line();
    for (Int& cell : counts.cells) cell += number(cells);
    auto odd_line = line();
    Int odd = number(odd_line);
    auto text = line();
    if (counts.odd_line == 0) counts.odd_line = odd, counts.odd = text;
    if (line() == "1") counts.many = true, counts.values.clear();
    auto size = line();
    for (Int left = number(size); left > 0; --left) {
      auto entry = line();
      Int times = number(entry);
      counts.add_value(std::string(entry), times);
    }
  }

 private:
  std::string_view line() {
    auto found = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(found.size() + 1, rest_.size()));
    return found;
  }
  // Takes a number and the blank behind it.
  static Int number(std::string_view& text) {
    Int value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(std::min<std::size_t>(stop - text.data() + 1, text.size()));
    return value;
  }
  std::string_view rest_;
};

std::vector<Counts> merged(const std::vector<Counts>& mine) {
  std::string text;
  for (auto& counts : mine) text += packed(counts);
  std::vector<Counts> all(mine.size());
  for (auto& from : comm::allgather(text)) {
    Unpacker unpacker(from);
    for (auto& counts : all) unpacker.add_to(counts);
  }
  return all;
}

// Decides what the columns are.
class Judge {
 public:
  Judge(const std::string& path, const CsvPlan& plan, Int rows) : path_(path), plan_(plan), rows_(rows) {}

  // Nothing where the column is dropped.
  std::optional<TableColumn> column(Int place, const Counts& counts, bool category) {
    std::string name = plan_.names.empty() ? "" : plan_.names[place];
    shown_ = name.empty() ? fmt::format("column {}", place + 1) : fmt::format("column {} ({})", place + 1, name);
    option_ = name.empty() || name.find(',') != name.npos ? fmt::format("{}", place + 1) : name;
    TableColumn column{name, place};
    Int missing = counts.of({Cell::missing}), present = rows_ - missing;
    if (present == 0) return dropped("no row has a value in it");
    auto kind = category ? ColumnKind::category : kind_of(counts, present);
    column.kind = kind;
    column.missing = kind != ColumnKind::category && missing > 0;
    return kind != ColumnKind::category || choose_categories(column, counts, present, category) ? std::optional(column)
                                                                                                : std::nullopt;
  }
  std::vector<std::string> notes;

 private:
  std::optional<TableColumn> dropped(const std::string& why) {
    notes.push_back(fmt::format("{} is dropped: {}", shown_, why));
    return {};
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: {}: {}", path_, shown_, fmt::format(format, std::forward<Args>(args)...));
  }

  ColumnKind kind_of(const Counts& counts, Int present) const {
    Int points = counts.of({Cell::point_number}), commas = counts.of({Cell::comma_number}), numbers = counts.numbers();
    if (numbers == present && points > 0 && commas > 0)
      refuse("some numbers have a decimal point and some a decimal comma; write all of them with a point");
    if (numbers == present) return ColumnKind::number;
    if (counts.of({Cell::boolean}) == present) return ColumnKind::boolean;
    if (counts.of({Cell::date}) == present) return ColumnKind::date;
    Int day_first = counts.of({Cell::day_first_date}), month_first = counts.of({Cell::month_first_date});
    if (counts.of({Cell::slash_date}) + day_first + month_first == present && (day_first == 0 || month_first == 0)) {
      if (day_first == 0 && month_first == 0)
        refuse("line {}: {} may be day/month or month/day; write dates as 2024-01-31, or leave it out: --drop {}",
               counts.odd_line, counts.odd, option_);
      return day_first > 0 ? ColumnKind::day_month_date : ColumnKind::month_day_date;
    }
    if (Int grouped = counts.of({Cell::grouped}); grouped > 0 && numbers + grouped == present)
      refuse(
          "line {}: {}: numbers with separators between thousands are not read; write 1000, or leave the column out: "
          "--drop {}",
          counts.odd_line, counts.odd, option_);
    auto values = static_cast<Int>(counts.values.size());
    if (static_cast<double>(numbers) >= nearly_all * static_cast<double>(present) &&
        (counts.many || values > few_values))
      refuse(
          "line {}: a finite number expected as in {} of {} rows, got {}; correct it, or leave the field empty (missing), "
          "or the column out: --drop {}; --categories {} reads the column as text",
          counts.odd_line, numbers, present, counts.odd, option_, option_);
    return ColumnKind::category;
  }

  // The frequent values by name; false where there are none.
  bool choose_categories(TableColumn& column, const Counts& counts, Int present, bool wanted) {
    auto values = static_cast<Int>(counts.values.size());
    Int least = std::clamp<Int>(rows_ / 100, 1, least_category);
    if (counts.many) return drop(fmt::format("it has more than {} different texts", most_values));
    if (!wanted && values > least_category &&
        static_cast<double>(values) > mostly_different * static_cast<double>(present))
      return drop(fmt::format("{} of its {} values are different (an id, or free text)", values, present));
    std::vector<std::pair<Int, std::string>> frequent;  // by falling numbers of rows, then by name
    for (auto& [value, times] : counts.values)
      if (times >= least) frequent.emplace_back(-times, value);
    std::sort(frequent.begin(), frequent.end());
    if (static_cast<Int>(frequent.size()) > most_categories) frequent.resize(most_categories);
    if (frequent.empty()) return drop(fmt::format("none of its {} values has {} rows", values, least));
    column.other = static_cast<Int>(frequent.size()) < values;
    for (auto& [times, value] : frequent) column.categories.push_back(value);
    std::sort(column.categories.begin(), column.categories.end());
    if (present < rows_) column.categories.insert(column.categories.begin(), "");
    if (column.width() == 1) return drop(fmt::format("every row has {}", shown(column.categories[0])));
    return true;
  }
  bool drop(const std::string& why) {
    dropped(why);
    return false;
  }

  const std::string& path_;
  const CsvPlan& plan_;
  Int rows_;
  std::string shown_, option_;
};

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
    std::vector<Counts> counts(choice.used.size());
    comm::together([&] {
      Fields fields(path, plan.delimiter);
      each_line(path, share, [&](std::string_view line, Int number) {
        if (fields.skips(line, number, plan.columns)) return;
        fields.require_count(fields.of(line, number), plan.columns);
        for (std::size_t k = 0; k < counts.size(); ++k)
          count(counts[k], fields, choice.used[k], plan.delimiter != ',', number);
      });
    });
    counts = merged(counts);
    Judge judge(path, plan, share.n);
    for (std::size_t k = 0; k < counts.size(); ++k)
      if (auto column = judge.column(choice.used[k], counts[k], choice.category[choice.used[k]]))
        table.columns.push_back(*column);
    fitted.notes = judge.notes;
    require(!table.columns.empty(), "{}: no column is left for X: {}", path, fmt::join(judge.notes, "; "));
  }
  table.header = !plan.names.empty() && different_names(plan, table, fitted.notes);
  return fitted;
}

}  // namespace kbcd
