#include "modules/params/params.hpp"

#include <algorithm>
#include <cmath>

namespace kbcd {
namespace {

constexpr double largest_count = 0x1p53;

constexpr std::pair<Kind, const char*> kinds[] = {{Kind::number, "number"}, {Kind::positive, "positive"},
                                                  {Kind::count, "count"},   {Kind::not_negative, "not_negative"},
                                                  {Kind::flag, "flag"},     {Kind::one_of, "one_of"},
                                                  {Kind::text, "text"},     {Kind::columns, "columns"}};

bool is_whole(double number) {
  return number == std::floor(number) && std::abs(number) <= largest_count;
}

bool is_column(const Value& value) {
  auto* number = std::get_if<double>(&value);
  return std::holds_alternative<std::string>(value) || (number && is_whole(*number));
}

bool are_columns(const Value& value) {
  auto* list = std::get_if<std::vector<Value>>(&value);
  return list ? !list->empty() && std::all_of(list->begin(), list->end(), is_column) : is_column(value);
}

// The number a parameter of this kind must be; `good` is false where it is none.
bool is_number(const Param& param, double x) {
  if (!std::isfinite(x)) return false;
  switch (param.kind) {
    case Kind::positive:
      return x > 0;
    case Kind::not_negative:
      return x >= 0;
    case Kind::count:
      return x >= 1 && is_whole(x) && x <= static_cast<double>(param.most.value_or(static_cast<Int>(largest_count)));
    default:
      return true;
  }
}

bool fits(const Param& param, const Value& value) {
  switch (param.kind) {
    case Kind::flag:
      return std::holds_alternative<bool>(value);
    case Kind::text:
      return std::holds_alternative<std::string>(value);
    case Kind::columns:
      return are_columns(value);
    case Kind::one_of:
      return std::find(param.choices.begin(), param.choices.end(), value) != param.choices.end();
    default:
      auto* number = std::get_if<double>(&value);
      return number && is_number(param, *number);
  }
}

std::string described(const Value& value) {
  if (auto* text = std::get_if<std::string>(&value)) return fmt::format("the string '{}'", text->substr(0, 40));
  if (auto* list = std::get_if<std::vector<Value>>(&value))
    return list->empty() ? "an empty list" : fmt::format("the list {{{}}}", text_of(value));
  return text_of(value);
}

const Param* find(const std::vector<Param>& declared, const std::string& name) {
  auto it = std::find_if(declared.begin(), declared.end(), [&](auto& param) { return param.name == name; });
  return it == declared.end() ? nullptr : &*it;
}

ColumnName column_of(const Value& value) {
  if (auto* name = std::get_if<std::string>(&value)) return *name;
  return static_cast<Int>(std::get<double>(value)) - 1;
}

}  // namespace

const char* name(Kind kind) {
  for (auto& [value, text] : kinds)
    if (value == kind) return text;
  return "";
}

std::string text_of(const Value& value) {
  if (auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
  if (auto* text = std::get_if<std::string>(&value)) return *text;
  std::string all;
  for (auto& one : std::get<std::vector<Value>>(value)) all += (all.empty() ? "" : ", ") + text_of(one);
  return all;
}

std::string text_of(const Values& values) {
  std::string all;
  for (auto& [key, value] : values) all += fmt::format("{}{}={}", all.empty() ? "" : ", ", key, text_of(value));
  return all;
}

std::string expected(const Param& param) {
  switch (param.kind) {
    case Kind::number:
      return "a number";
    case Kind::positive:
      return "a number > 0";
    case Kind::not_negative:
      return "a number >= 0";
    case Kind::count:
      return param.most ? fmt::format("a whole number from 1 to {}", *param.most) : "a whole number from 1 up";
    case Kind::flag:
      return "true or false";
    case Kind::text:
      return "a text";
    case Kind::columns:
      return "the name or number of a column, or a list of these,";
    case Kind::one_of:
      break;
  }
  std::string all;
  for (std::size_t i = 0; i < param.choices.size(); ++i)
    all += (i == 0 ? "" : i + 1 < param.choices.size() ? ", " : " or ") + text_of(param.choices[i]);
  return all;
}

std::string help_text(const std::vector<Param>& declared, int blanks) {
  std::string all;
  for (auto& param : declared) {
    all += fmt::format("\n{:{}}{}: {} ({}", "", blanks, param.name, param.help, expected(param));
    if (all.ends_with(',')) all.pop_back();
    if (param.instead_of) all += fmt::format("; instead of {}", *param.instead_of);
    if (param.otherwise) all += fmt::format("; {} unless given", text_of(*param.otherwise));
    all += ").";
  }
  return all;
}

std::string joined_names(const std::vector<Param>& declared) {
  std::string all;
  for (auto& param : declared) all += (all.empty() ? "" : ", ") + param.name;
  return all;
}

Params::Params(std::string owner, const std::vector<Param>& declared, const Values& given)
    : owner_(std::move(owner)), values_(given) {
  check(declared);
  for (auto& param : declared)
    if (param.otherwise) values_.try_emplace(param.name, *param.otherwise);
}

void Params::check(const std::vector<Param>& declared) const {
  for (auto& [key, value] : values_) {
    auto* param = find(declared, key);
    if (!param)
      complain(declared.empty() ? fmt::format("it takes no options, got '{}'", key)
                                : fmt::format("unknown option '{}'; known: {}", key, joined_names(declared)));
    bool relation = param->kind == Kind::positive || param->kind == Kind::not_negative;
    if (!fits(*param, value))
      complain(relation && std::holds_alternative<double>(value)
                   ? fmt::format("{} {} 0 expected, got {}", key,
                                 param->kind == Kind::positive ? ">" : ">=", described(value))
                   : fmt::format("{}: {} expected, got {}", key, expected(*param), described(value)));
  }
  for (auto& param : declared) {
    std::string names = param.name;
    int count = has(param.name);
    for (auto& other : declared)
      if (other.instead_of == param.name) names += " and " + other.name, count += has(other.name);
    bool alone = names == param.name;
    if (count > 1 || (param.required && count == 0))
      complain(alone ? fmt::format("{} expected: {}", param.name, param.help)
                     : fmt::format("exactly one of {} expected", names));
  }
}

template <class T>
std::optional<T> Params::get(const std::string& key) const {
  auto it = values_.find(key);
  if (it == values_.end()) return {};
  auto& value = it->second;
  if constexpr (std::is_same_v<T, Int>) {
    return static_cast<Int>(std::get<double>(value));
  } else if constexpr (std::is_same_v<T, DType>) {
    return parse_dtype(std::get<std::string>(value));
  } else if constexpr (std::is_same_v<T, std::vector<ColumnName>>) {
    std::vector<ColumnName> columns;
    auto* list = std::get_if<std::vector<Value>>(&value);
    for (auto& one : list ? *list : std::vector<Value>{value}) columns.push_back(column_of(one));
    return columns;
  } else {
    return std::get<T>(value);
  }
}

template std::optional<bool> Params::get(const std::string&) const;
template std::optional<double> Params::get(const std::string&) const;
template std::optional<Int> Params::get(const std::string&) const;
template std::optional<std::string> Params::get(const std::string&) const;
template std::optional<DType> Params::get(const std::string&) const;
template std::optional<std::vector<ColumnName>> Params::get(const std::string&) const;

void Params::complain(const std::string& message) const {
  fail("{}: {}", owner_, message);
}

}  // namespace kbcd
