// One line of CSV taken apart, as RFC 4180 has it: fields in quotes may hold delimiters, and quotes doubled.
#pragma once

#include "modules/data/text_reader.hpp"

namespace kbcd {

// The fields of the line given last, and errors that name their place. Quotes around fields are gone, doubled ones are
// still double until name() is asked for.
class Fields {
 public:
  Fields(const std::string& path, char delimiter) : path_(path), delimiter_(delimiter) {}

  const std::vector<std::string_view>& of(std::string_view line, Int number) {
    number_ = number;
    fields_.clear();
    for (bool more = true; more;) {
      if (delimiter_ == ' ') line = trimmed(line);  // several blanks are one
      auto field = line.starts_with('"') ? quoted(line) : plain(line);
      more = field.size() < line.size();  // a delimiter follows
      line.remove_prefix(field.size() + more);
      fields_.push_back(field.starts_with('"') ? field.substr(1, field.size() - 2) : trimmed(field, " "));
    }
    return fields_;
  }

  // Whether a line holds no row; where rows have one column, it might be meant as one.
  bool skips(std::string_view line, Int number, Int columns) const {
    if (line.find_first_not_of(' ') != line.npos) return false;
    require(columns > 1, "{}: line {}: a value expected, the line is empty; write NA where one is missing", path_,
            number);
    return true;
  }
  void require_count(const std::vector<std::string_view>& row, Int columns) const {
    require(
        static_cast<Int>(row.size()) == columns,
        "{}: line {}: {} fields expected as in the first line, got {}; correct the line, and put fields that hold a "
        "separator in quotes",
        path_, number_, columns, row.size());
  }
  const std::vector<std::string_view>& last() const { return fields_; }
  // A field as a name, its doubled quotes made single.
  std::string name(Int column) const {
    std::string text(fields_[column]);
    for (auto at = text.find("\"\""); at != text.npos; at = text.find("\"\"", at + 1)) text.erase(at, 1);
    if (!is_utf8(text))
      bad(column, "UTF-8 text expected, got {}; convert the file: iconv -f latin1 -t utf-8 OLD >NEW", shown(text));
    return text;
  }
  double number(Int column) const {
    auto value = whole_number_text(fields_[column]);
    if (!value)
      bad(column,
          "a finite number expected, got {} (label says which columns hold labels; kbcd.read_table reads text and "
          "missing values)",
          shown(fields_[column]));
    return *value;
  }
  template <class... Args>
  [[noreturn]] void bad(Int column, fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: line {}, column {}: {}", path_, number_, column + 1, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string_view plain(std::string_view line) const {
    auto field = line.substr(0, line.find(delimiter_));
    if (field.find('"') != field.npos)
      bad(fields_.size(), "a quote inside a field that does not begin with one: {}", shown(field));
    return field;
  }
  std::string_view quoted(std::string_view line) const {
    auto end = line.find('"', 1);
    while (end != line.npos && line.substr(end + 1).starts_with('"')) end = line.find('"', end + 2);
    if (end == line.npos)
      bad(fields_.size(), "the quote is not closed on this line: {}; remove the line break in the field, or the quote",
          shown(line));
    auto rest = line.substr(end + 1);
    if (!rest.empty() && rest[0] != delimiter_)
      bad(fields_.size(), "'{}' expected behind the closing quote, got {}", delimiter_, shown(rest));
    return line.substr(0, end + 1);
  }

  const std::string& path_;
  char delimiter_;
  Int number_ = 0;
  std::vector<std::string_view> fields_;
};

}  // namespace kbcd
