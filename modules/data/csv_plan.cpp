#include "modules/data/csv_plan.hpp"

#include <algorithm>
#include <unordered_set>

#include "modules/data/cells.hpp"
#include "modules/data/csv_fields.hpp"
#include "modules/data/csv_header.hpp"

namespace kbcd {
namespace {

constexpr std::size_t lines_looked_at = 20;

struct Line {
  std::string text;
  TextPlace behind;
};

std::vector<Line> first_rows(const NextLine& next) {
  std::vector<Line> rows;
  Int number = 0, offset = 0;
  for (std::string_view line; rows.size() < lines_looked_at && next(line, offset);) {
    ++number;
    if (is_csv_row(line)) rows.push_back({std::string(line), {offset, number}});
  }
  return rows;
}

void require_text(const Line& first, const std::string& path) {
  require(first.text.find('\0') == std::string::npos,
          "{}: line {}: a zero byte; this is no text, or text in UTF-16: iconv -f UTF-16LE -t UTF-8 OLD >NEW", path,
          first.behind.lines);
  require(
      first.text.find('\r') == std::string::npos,
      "{}: line {}: a carriage return inside the line; if lines end with it alone, convert the file: tr '\\r' '\\n' "
      "<OLD >NEW",
      path, first.behind.lines);
}

Int count_outside_quotes(std::string_view line, char delimiter) {
  bool quoted = false;
  Int count = 0;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    count += c == delimiter && !quoted;
  }
  return count;
}

// Lines above the table that begin with #, % or | and have other fields than the first line that does not.
std::size_t comments(const std::vector<Line>& rows) {
  auto marked = [](auto& row) { return std::string_view("#%|").find(row.text[0]) != std::string_view::npos; };
  auto first = std::find_if_not(rows.begin(), rows.end(), marked);
  if (first == rows.end()) return 0;
  char delimiter = csv_delimiter(first->text);
  Int count = count_outside_quotes(first->text, delimiter);
  auto alike = [&](auto& row) { return count_outside_quotes(row.text, delimiter) == count; };
  return std::find_if(rows.begin(), first, alike) - rows.begin();
}

// Rows without other delimiters that blanks divide into equally many fields, one of them a number. A header may lack
// the name of the first column, which is an error later.
bool blanks_separate(const std::vector<Line>& rows, const std::string& path) {
  std::vector<std::size_t> counts;
  bool number = false;
  for (auto& row : rows) {
    if (row.text.find_first_of(",;|\t\"") != std::string::npos) return false;
    Fields fields(path, ' ');
    auto& found = fields.of(row.text, row.behind.lines);
    counts.push_back(found.size());
    number = std::any_of(found.begin(), found.end(), [](auto text) { return whole_number_text(text).has_value(); });
  }
  bool lacks_one = rows.size() > 1 && counts[0] + 1 == counts.back();
  auto alike = [&](std::size_t count) { return count == counts.back(); };
  return number && counts.back() > 1 && std::all_of(counts.begin() + lacks_one, counts.end(), alike);
}

bool has_most(const std::vector<std::string>& names, const std::vector<std::string>& of) {
  std::unordered_set<std::string_view> known(names.begin(), names.end());
  auto has = [&](auto& name) { return known.contains(name); };
  auto found = std::count_if(of.begin(), of.end(), has);
  return !of.empty() && 2 * found >= static_cast<Int>(of.size());
}

// Dates and words such as yes, below what is neither, show a header as numbers do.
bool names_stand_over(const std::vector<std::string_view>& first, std::vector<std::string_view> second,
                      const std::string& path, Int line) {
  auto typed = [](std::string_view text) { return date_of(text) || boolean_of(text); };
  for (std::size_t j = 0; j < std::min(first.size(), second.size()); ++j)
    if (typed(second[j]) && !typed(first[j])) second[j] = "0";
  return looks_like_header(first, second, path, line);
}

bool any_number(const std::vector<std::string_view>& fields) {
  return std::any_of(fields.begin(), fields.end(), [](auto text) { return whole_number_text(text).has_value(); });
}

bool has_header(const std::vector<Line>& rows, const CsvPlan& plan, const Fields& first,
                const std::vector<std::string_view>& fields, const CsvLook& look, const std::string& path) {
  if (look.header) return *look.header;
  std::vector<std::string> names;
  if (!look.names.empty())
    for (Int j = 0; j < plan.columns; ++j) names.push_back(first.name(j));
  if (has_most(names, look.names)) return true;
  bool words = !any_number(fields), typed = !words;
  for (std::size_t i = 1; i < rows.size() && (i == 1 || words); ++i) {
    Fields below(path, plan.delimiter);
    auto& row = below.of(rows[i].text, rows[i].behind.lines);
    if (names_stand_over(fields, row, path, rows[0].behind.lines)) return true;
    typed = typed || any_number(row) || std::any_of(row.begin(), row.end(), [](auto text) { return date_of(text); });
  }
  require(!look.table || typed || rows.size() > 1, "{}: one line of names and no rows below it", path);
  require(!look.table || typed,
          "{}: every column holds text, so that the look of line {} does not tell whether it names the columns; say it "
          "with header = true or false (--header yes or --header no)",
          path, rows[0].behind.lines);
  return false;
}

}  // namespace

bool is_csv_row(std::string_view line) {
  return line.find_first_not_of(' ') != line.npos;
}

char csv_delimiter(std::string_view line) {
  char best = ',';
  for (char delimiter : {'\t', ';', '|'})
    if (count_outside_quotes(line, delimiter) > count_outside_quotes(line, best)) best = delimiter;
  return best;
}

CsvPlan csv_plan(const std::string& path, const NextLine& next, const CsvLook& look) {
  auto rows = first_rows(next);
  require(!rows.empty(), "{}: at least one row expected, the file has none", path);
  require_text(rows[0], path);
  CsvPlan plan;
  if (std::size_t above = comments(rows)) {
    plan.start = rows[above - 1].behind;
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(above));
  }
  plan.delimiter = !look.one_column && blanks_separate(rows, path) ? ' ' : csv_delimiter(rows[0].text);
  Fields first(path, plan.delimiter);
  auto& fields = first.of(rows[0].text, rows[0].behind.lines);
  plan.columns = static_cast<Int>(fields.size());
  if (has_header(rows, plan, first, fields, look, path)) {
    require(rows.size() > 1, "{}: at least one row expected below the header, the file has none", path);
    plan.start = rows[0].behind;
    for (Int j = 0; j < plan.columns; ++j) plan.names.push_back(first.name(j));
    first.of(rows[1].text, rows[1].behind.lines);
  }
  plan.row.assign(fields.begin(), fields.end());
  return plan;
}

CsvPlan csv_plan(const std::string& path, const CsvLook& look) {
  LineReader lines(path);
  auto next = [&](std::string_view& line, Int& offset) {
    bool more = lines.next(line);
    offset = lines.offset();
    return more;
  };
  return csv_plan(path, next, look);
}

Int csv_column(const ColumnName& wanted, const CsvPlan& plan, const std::string& path, const char* option) {
  if (auto* number = std::get_if<Int>(&wanted)) {
    auto named = std::find(plan.names.begin(), plan.names.end(), fmt::format("{}", *number + 1));
    if (*number >= plan.columns && named != plan.names.end()) return named - plan.names.begin();  // a year, say
    require(*number >= 0 && *number < plan.columns, "{}: {}: a column in 1..{}, or its name, expected, got {}", path,
            option, plan.columns, *number + 1);
    return *number;
  }
  auto& name = std::get<std::string>(wanted);
  require(!plan.names.empty(),
          "{}: {} '{}' is the name of a column, but the file has no header; give its number, or header = true "
          "(--header yes)",
          path, option, name);
  auto found = std::count(plan.names.begin(), plan.names.end(), name);
  require(found == 1, "{}: {}: {} column is named '{}'; the header has {}", path, option,
          found ? "more than one" : "no", name, listed(plan.names));
  return std::find(plan.names.begin(), plan.names.end(), name) - plan.names.begin();
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", " : "") + (names[i].empty() ? "''" : names[i]);
  return names.size() <= most ? text : fmt::format("{} and {} more", text, names.size() - most);
}

void add_names(std::vector<std::string>& names, const std::optional<std::vector<ColumnName>>& columns) {
  for (auto& column : columns.value_or(std::vector<ColumnName>{}))
    if (auto* name = std::get_if<std::string>(&column)) names.push_back(*name);
}

}  // namespace kbcd
