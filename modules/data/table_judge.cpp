#include "modules/data/table_judge.hpp"

#include <algorithm>

namespace kbcd {
namespace {

constexpr Int most_categories = 100;  // that get a column of their own
constexpr Int least_category = 10;    // rows of one; fewer in tables of less than 1000 rows
constexpr Int few_values = 20;        // a column of numbers with more of them is no category
constexpr double nearly_all = 0.9, mostly = 0.5, mostly_different = 0.8;

bool is_share(Int part, double share, Int whole) {
  return static_cast<double>(part) >= share * static_cast<double>(whole);
}

}  // namespace

Judge::Judge(const std::string& path, const CsvPlan& plan, Int rows)
    : path_(path), plan_(plan), rows_(rows), commas_(plan.delimiter != ',') {}

std::optional<TableColumn> Judge::column(Int place, const Counts& counts, bool category) {
  TableColumn column{begin(place, false), place};
  Int missing = counts.of({Cell::missing}), present = rows_ - missing;
  bool kept = present > 0 || drop("no row has a value in it");
  if (!kept) return {};
  column.kind = category ? ColumnKind::category : kind_of(counts, present);
  if (column.kind == ColumnKind::category)
    kept = choose_categories(column, counts, present, category);
  else
    column.missing = missing > 0;
  return kept ? std::optional(column) : std::nullopt;
}

void Judge::label(Int place, const Counts& counts) {
  begin(place, true);
  require_clear_numbers(counts, rows_ - counts.of({Cell::missing}));
}

// The column that messages are about; gives its name.
std::string Judge::begin(Int place, bool is_label) {
  std::string name = plan_.names.empty() ? "" : plan_.names[place];
  shown_ = name.empty() ? fmt::format("column {}", place + 1) : fmt::format("column {} ({})", place + 1, name);
  bool by_number = name.empty() || name.find(',') != name.npos || whole_number_text(name);
  option_ = by_number ? fmt::format("{}", place + 1) : name.find(' ') == name.npos ? name : fmt::format("'{}'", name);
  is_label_ = is_label;
  return name;
}

// Says that a column is dropped, and why; always false.
bool Judge::drop(const std::string& why) {
  notes.push_back(fmt::format("{} is dropped: {}", shown_, why));
  return false;
}

template <class... Args>
void Judge::refuse(fmt::format_string<Args...> format, Args&&... args) const {
  fail("{}: {}: {}", path_, shown_, fmt::format(format, std::forward<Args>(args)...));
}

void Judge::refuse_odd(const OddField& odd, std::string_view expected) const {
  fail("{}: line {}, {}: {}, got {}; correct it{}{}", path_, odd.line, shown_, expected, odd.text,
       is_label_ ? "" : ", or leave the field empty (missing)", remedies());
}

std::string Judge::remedies() const {
  constexpr auto text = "; --drop {} leaves the column out, --categories {} reads it as text";
  return is_label_ ? "" : fmt::format(text, option_, option_);
}

// Numbers must not be taken for categories since some of them are misspelt.
void Judge::require_clear_numbers(const Counts& counts, Int present) const {
  Int numbers = counts.numbers(), like_numbers = numbers + counts.of({Cell::misspelt});
  if (numbers == present) return require_one_point(counts);
  if (like_numbers == present)
    refuse_odd(counts.no_number,
               "a plain number expected, without signs of currency or percent and marks between thousands");
  Int texts = 0, most = 0;  // different ones, and rows of the most frequent
  for (auto& [value, times] : counts.values)
    if (cell_of(value, commas_) > Cell::three_digits) ++texts, most = std::max(most, times);
  auto values = static_cast<Int>(counts.values.size());
  bool many = counts.many || values > few_values;
  bool number = (many && is_share(like_numbers, nearly_all, present)) ||
                (values - texts > few_values && texts <= few_values && is_share(like_numbers, mostly, present)) ||
                (like_numbers > present - like_numbers && most == 1);
  if (number)
    refuse_odd(counts.no_number, fmt::format("a finite number expected as in {} of {} rows", numbers, present));
}

void Judge::require_one_point(const Counts& counts) const {
  Int commas = counts.of({Cell::comma_number}), either = counts.of({Cell::three_digits});
  if (counts.of({Cell::point_number}) > 0 && commas + either > 0)
    refuse("some numbers have a decimal point and some a comma; write all of them with a point");
  if (either > 0 && commas == 0)
    refuse("numbers such as 1,500 may be 1.5 or 1500; write them as 1.5 or 1500{}", remedies());
}

void Judge::require_clear_dates(const Counts& counts, Int present) const {
  Int dates = counts.dates(), either = counts.of({Cell::slash_date});
  if (dates > present - dates && dates < present)
    refuse_odd(counts.no_date, fmt::format("a date expected as in {} of {} rows", dates, present));
  if (dates < present) return;
  if (either == present)
    refuse("line {}: {} may be day/month or month/day; write dates as 2024-01-31{}", counts.no_number.line,
           counts.no_number.text, remedies());
  Int ways = 0;
  for (Cell way : {Cell::date, Cell::day_first_date, Cell::month_first_date}) ways += counts.of({way}) > 0;
  if (ways > 1 || (either > 0 && counts.of({Cell::date}) > 0))
    refuse("dates are written in two ways; write all of them as 2024-01-31{}", remedies());
}

ColumnKind Judge::kind_of(const Counts& counts, Int present) const {
  require_clear_numbers(counts, present);
  if (counts.numbers() == present) return ColumnKind::number;
  if (counts.of({Cell::boolean}) == present) return ColumnKind::boolean;
  require_clear_dates(counts, present);
  if (counts.dates() < present) return ColumnKind::category;
  if (counts.of({Cell::date}) > 0) return ColumnKind::date;
  return counts.of({Cell::day_first_date}) > 0 ? ColumnKind::day_month_date : ColumnKind::month_day_date;
}

// The frequent values by name; false where there are none.
bool Judge::choose_categories(TableColumn& column, const Counts& counts, Int present, bool wanted) {
  auto values = static_cast<Int>(counts.values.size());
  Int least = std::clamp<Int>(rows_ / 100, 1, least_category);
  if (counts.many) return drop(fmt::format("it has more than {} different texts", most_values));
  if (!wanted && values > least_category && is_share(values, mostly_different, present))
    return drop(fmt::format("{} of its {} values are different (an id, or free text)", values, present));
  std::vector<std::pair<Int, std::string>> frequent;  // by falling numbers of rows, then by name
  for (auto& [value, times] : counts.values)
    if (times >= least) frequent.emplace_back(-times, value);
  std::sort(frequent.begin(), frequent.end());
  if (static_cast<Int>(frequent.size()) > most_categories) frequent.resize(most_categories);
  if (frequent.empty() && present == rows_)
    return drop(fmt::format("none of its {} values has {} rows", values, least));
  column.other = static_cast<Int>(frequent.size()) < values;
  for (auto& [times, value] : frequent) column.categories.push_back(value);
  std::sort(column.categories.begin(), column.categories.end());
  if (present < rows_) column.categories.insert(column.categories.begin(), "");
  if (column.width() == 1) return drop(fmt::format("every row has {}", shown(column.categories[0])));
  return true;
}

}  // namespace kbcd
