// Whether the first line of a CSV file names the columns, by its look.
#pragma once

#include <cctype>

#include "modules/data/text_reader.hpp"

namespace kbcd {

inline std::string lower(std::string_view field) {
  std::string text(field);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

inline bool is_whole_number(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789") == field.npos;
}

// A malformed number, such as 1.2.3, or NaN or Inf.
inline bool is_failed_number(std::string_view field) {
  std::string text = lower(field);
  if (text.starts_with('-') || text.starts_with('+')) text.erase(0, 1);
  if (text == "nan" || text == "inf" || text == "infinity") return true;
  return text.find_first_of("0123456789") != text.npos && text.find_first_not_of("0123456789+-.e") == text.npos;
}

inline bool stands_for_nothing(std::string_view field) {
  std::string text = lower(field);
  return text == "na" || text == "n/a" || text == "null" || text == "?" || text == "-";
}

// Text that begins with a digit, behind signs and symbols (also those of Unicode): 1d5, −1, $5, 0x10, 2nd.
inline bool begins_like_number(std::string_view field) {
  constexpr std::string_view symbols[] = {"\u2212", "\u2012", "\u2013", "\u2014", "\uFF0D", "\uFF0B",
                                          "\u20AC", "\u00A3", "\u00A5", "\u00A0", "\u202F"};
  for (bool more = true; more && !field.empty();) {
    std::size_t skipped = std::ispunct(static_cast<unsigned char>(field[0])) || field[0] == ' ';
    for (auto symbol : symbols)
      if (field.starts_with(symbol)) skipped = symbol.size();
    more = skipped > 0 && field[0] != '_';
    if (more) field.remove_prefix(skipped);
  }
  return !field.empty() && std::isdigit(static_cast<unsigned char>(field[0]));
}

// The name of a pixel, row by column, as tables of pictures have it: 28x28 (but 0x10 is a number).
inline bool is_pixel(std::string_view field) {
  std::size_t cross = field.find('x');
  auto whole = [](std::string_view text) { return is_whole_number(text) && text[0] != '0'; };
  return cross != field.npos && whole(field.substr(0, cross)) && whole(field.substr(cross + 1));
}

// Whole numbers that count columns, as names do: 0,1,2 or 2019,2020; not 5,5,0.
inline bool count_up(const std::vector<double>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != numbers[i - 1] + 1) return false;
  return true;
}

// Numbers that look like the names of columns: 0,1,2 as data frames without names have, or years; over others.
inline bool may_be_names(const std::vector<double>& first, const std::vector<std::string_view>& second) {
  if (first.size() < 3 || first.size() != second.size() || !count_up(first)) return false;
  bool years = first[0] >= 1900 && first.back() <= 2100;
  std::vector<double> below;
  for (auto field : second) below.push_back(whole_number_text(field).value_or(0));
  return (first[0] == 0 || years) && !count_up(below);
}

// A header has a name in a column that has a number in the next row. It has no fractions, and nothing in place of a
// number: a first row with a malformed number must be an error, not a header. Where as many fields look like a number
// that is misspelt as like a name, or most are whole numbers that do not count up, somebody has to say what the line
// is.
inline bool looks_like_header(const std::vector<std::string_view>& first, const std::vector<std::string_view>& second,
                              const std::string& path, Int line) {
  Int names = 0, doubtful = 0, column = 0;
  std::vector<double> numbers;
  for (std::size_t j = 0; j < first.size(); ++j) {
    if (is_whole_number(first[j])) numbers.push_back(whole_number_text(first[j]).value_or(0));
    if (first[j].empty() || is_whole_number(first[j])) continue;
    if (whole_number_text(first[j]) || is_failed_number(first[j]) || stands_for_nothing(first[j])) return false;
    if (j >= second.size() || !whole_number_text(second[j])) continue;
    if (begins_like_number(first[j]) && !is_pixel(first[j])) {
      if (doubtful++ == 0) column = static_cast<Int>(j);
    } else {
      if (names == 0 && doubtful == 0) column = static_cast<Int>(j);
      ++names;
    }
  }
  bool mostly_data = names > 0 && static_cast<Int>(numbers.size()) > names && !count_up(numbers);
  require((doubtful == 0 || names > doubtful) && !mostly_data,
          "{}: line {}, column {}: {} is no number, and hardly the name of a column; correct it, or say with header = "
          "true that the line names the columns (--header yes), with header = false that it does not (--header no)",
          path, line, column + 1, shown(first[column]));
  require(!may_be_names(numbers, second),
          "{}: line {}: {},{},{}… may be data or the names of columns; say with header = true that they are names "
          "(--header yes), with header = false that they are data (--header no)",
          path, line, first[0], first[1], first[2]);
  return names > 0;
}

}  // namespace kbcd
