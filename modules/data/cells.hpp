// What one field of a table is: a number, nothing, true or false, a date, or text.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "modules/data/csv_header.hpp"

namespace kbcd {

inline bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  constexpr std::size_t longest = 8;
  if (text.size() > longest) return false;
  std::string small = lower(text);
  return std::find(words.begin(), words.end(), small) != words.end();
}

inline bool is_missing(std::string_view text) {
  return text.empty() || is_one_of(text, {"?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "-", "."});
}

// The same of a label: `none` may well be a class.
inline bool is_missing_label(std::string_view text) {
  return text.empty() || is_one_of(text, {"?", "na", "n/a", "#n/a", "<na>", "nan", "null"});
}

inline std::optional<double> boolean_of(std::string_view text) {
  if (is_one_of(text, {"true", "yes", "t", "y"})) return 1;
  if (is_one_of(text, {"false", "no", "f", "n"})) return 0;
  return {};
}

// The number that 1,5 is where commas do not separate fields.
inline std::optional<double> comma_number_of(std::string_view text) {
  auto comma = text.find(',');
  if (comma == text.npos || text.find('.') != text.npos || text.find(',', comma + 1) != text.npos) return {};
  std::string point(text);
  point[comma] = '.';
  return whole_number_text(point);
}

// 1,000 or 1 000 or 1'000.5 or 1_000: digits in groups of three.
inline bool is_grouped(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  auto digits = [&] {
    std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  std::size_t first = digits();
  if (first < 1 || first > 3 || text.empty() || std::string_view(", '._").find(text[0]) == text.npos) return false;
  char mark = text[0];
  while (!text.empty() && text[0] == mark) {
    text.remove_prefix(1);
    if (digits() != 3) return false;
  }
  if (!text.empty() && (text[0] == '.' || text[0] == ',')) text.remove_prefix(1), digits();
  return text.empty();
}

// What is left of a text without signs of currency, percent and brackets at its ends; all kinds of blanks and minus
// signs are plain ones.
inline std::string undressed(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> marks[] = {
      {"$", ""},      {"%", ""},      {"(", ""},       {")", ""},       {"\u20AC", ""},  {"\u00A3", ""},
      {"\u00A5", ""}, {"\u2030", ""}, {"\u00A0", " "}, {"\u202F", " "}, {"\u2212", "-"}, {"\u2013", "-"}};
  std::string plain;
  while (!text.empty()) {
    auto found =
        std::find_if(std::begin(marks), std::end(marks), [&](auto& mark) { return text.starts_with(mark.first); });
    bool known = found != std::end(marks);
    plain += known ? found->second : text.substr(0, 1);
    text.remove_prefix(known ? found->first.size() : 1);
  }
  return std::string(trimmed(plain));
}

// What is meant as a number but is none: 1e400, -inf, $5, 5%, 1,000.
inline bool is_misspelt_number(std::string_view text) {
  constexpr std::size_t longest = 64;
  if (text.size() > longest) return false;
  std::string plain = undressed(text);
  const char *begin = plain.data(), *end = begin + plain.size();
  double value = 0;
  auto [stop, error] = std::from_chars(begin + plain.starts_with('+'), end, value);
  return (stop == end && error != std::errc::invalid_argument) || is_grouped(plain);
}

// A date as it is written: 2024-01-31 and 31.12.2024 say what is the month; 1/2/2024 and 1-2-2024 do not.
struct DateText {
  int year = 0, month = 0, day = 0;  // of 1/2/2024: 1 as the month and 2 as the day
  double time = 0;                   // of the day, from 0 to 1
  bool ordered = true;

  // Days since 1970-01-01; nothing where there is no such day.
  std::optional<double> days(bool day_first = false) const {
    using namespace std::chrono;
    bool swap = day_first && !ordered;
    auto d = static_cast<unsigned>(swap ? month : day), m = static_cast<unsigned>(swap ? day : month);
    year_month_day date{std::chrono::year{year}, std::chrono::month{m}, std::chrono::day{d}};
    if (!date.ok()) return {};
    return static_cast<double>(sys_days(date).time_since_epoch().count()) + time;
  }
};

// Takes digits, at least and at most so many, from the front of a text.
inline bool take_digits(std::string_view& text, std::size_t least, std::size_t most, int& value) {
  std::size_t count = 0;
  for (value = 0; count < most && count < text.size() && text[count] >= '0' && text[count] <= '9'; ++count)
    value = 10 * value + (text[count] - '0');
  text.remove_prefix(count);
  return count >= least;
}

inline bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// The time zone at the end, Z or +02:00 or +0200, in hours east.
inline bool take_zone(std::string_view& text, double& east) {
  if (text.empty() || take(text, 'Z')) return true;
  int hours = 0, minutes = 0, sign = text[0] == '-' ? -1 : 1;
  if (!take(text, '+') && !take(text, '-')) return false;
  if (!take_digits(text, 2, 2, hours)) return false;
  take(text, ':');
  if (!text.empty() && !take_digits(text, 2, 2, minutes)) return false;
  east = sign * (hours + minutes / 60.0);
  return hours < 24 && minutes < 60;
}

// Nothing, or hh:mm, hh:mm:ss, with fractions of a second and a time zone, behind a blank or a T: days, which are those
// of UTC where there is a zone.
inline bool take_time(std::string_view& text, double& time) {
  if (text.empty()) return true;
  int hours = 0, minutes = 0, seconds = 0, fraction = 0;
  if (!take(text, ' ') && !take(text, 'T')) return false;
  if (!take_digits(text, 1, 2, hours) || !take(text, ':') || !take_digits(text, 2, 2, minutes)) return false;
  if (take(text, ':') && !take_digits(text, 2, 2, seconds)) return false;
  if (take(text, '.') && !take_digits(text, 1, 9, fraction)) return false;
  double east = 0;
  if (!take_zone(text, east)) return false;
  time = (hours * 3600 + minutes * 60 + seconds) / 86400.0 - east / 24;
  return text.empty() && hours < 24 && minutes < 60 && seconds < 60;
}

inline std::optional<DateText> date_of(std::string_view text) {
  if (text.size() < 8 || text.size() > 32 || text[0] < '0' || text[0] > '9') return {};
  DateText date;
  auto rest = text;
  int year = 0;
  if (take_digits(rest, 4, 4, year)) {
    char mark = rest.empty() ? ' ' : rest[0];
    bool good = (mark == '-' || mark == '/') && take(rest, mark) && take_digits(rest, 1, 2, date.month) &&
                take(rest, mark) && take_digits(rest, 1, 2, date.day);
    if (!good) return {};
  } else {
    rest = text;
    if (!take_digits(rest, 1, 2, date.month) || rest.empty()) return {};
    char mark = rest[0];
    bool good = (mark == '.' || mark == '/' || mark == '-') && take(rest, mark) && take_digits(rest, 1, 2, date.day) &&
                take(rest, mark) && take_digits(rest, 4, 4, year);
    if (!good) return {};
    date.ordered = mark == '.';
    if (date.ordered) std::swap(date.month, date.day);
  }
  date.year = year;
  if (!take_time(rest, date.time) || !(date.days() || date.days(true))) return {};
  return date;
}

// The kinds of fields that are counted in a column.
enum class Cell {
  missing,
  number,
  point_number,  // 1.5
  comma_number,  // 1,5
  three_digits,  // 1,500, which may be 1.5 or 1500
  boolean,
  date,
  slash_date,  // 1/2/2024
  day_first_date,
  month_first_date,
  misspelt,  // a number
  text,
  kinds
};

// commas: they do not separate fields.
inline Cell cell_of(std::string_view text, bool commas) {
  if (is_missing(text)) return Cell::missing;
  if (whole_number_text(text)) return text.find('.') == text.npos ? Cell::number : Cell::point_number;
  if (commas && comma_number_of(text)) {
    auto first = std::min(text.find_first_of("0123456789"), text.size() - 1);
    return is_grouped(text) && text[first] != '0' ? Cell::three_digits : Cell::comma_number;
  }
  if (boolean_of(text)) return Cell::boolean;
  if (auto date = date_of(text)) {
    if (date->ordered) return Cell::date;
    bool month_first = date->days().has_value(), day_first = date->days(true).has_value();
    return month_first && day_first ? Cell::slash_date : day_first ? Cell::day_first_date : Cell::month_first_date;
  }
  return is_misspelt_number(text) ? Cell::misspelt : Cell::text;
}

}  // namespace kbcd
