// Values for parameters, from their declaration alone: what a contract test gives to whatever is registered.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "modules/params/params.hpp"

namespace kbcd::tests {

inline std::vector<Value> good_values(const Param& param) {
  switch (param.kind) {
    case Kind::number:
      return {-0.5, 0, 1.5};
    case Kind::positive:
      return {0.7, 2};
    case Kind::not_negative:
      return {0, 1.5};
    case Kind::count:
      return {1, std::min<Int>(2, param.most.value_or(7)), std::min<Int>(7, param.most.value_or(7))};
    case Kind::one_of:
      return param.choices;
    case Kind::flag:
      return {false, true};
    case Kind::text:
      return {"text"};
    case Kind::columns:
      return {1, "name", std::vector<Value>{1, "name"}};
  }
  return {};
}

inline std::vector<Value> bad_values(const Param& param) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  switch (param.kind) {
    case Kind::number:
      return {nan, infinity, "5", true};
    case Kind::positive:
      return {0, -1, nan, infinity, -infinity, "5", true};
    case Kind::not_negative:
      return {-1, nan, infinity, "5", true};
    case Kind::count:
      return {0, -1, 1.5, nan, infinity, "5", param.most ? static_cast<double>(*param.most + 1) : 1e300};
    case Kind::one_of:
      return {-12345, nan, "none of these", true};
    case Kind::flag:
      return {0, "true"};
    case Kind::text:
      return {5, true};
    case Kind::columns:
      return {1.5, true, std::vector<Value>{}, std::vector<Value>{1.5}};
  }
  return {};
}

// What must be given, and then every parameter in turn with each of its values.
inline std::vector<Values> good_values(const std::vector<Param>& declared) {
  Values least;
  for (auto& param : declared)
    if (param.required) least.insert_or_assign(param.name, good_values(param).back());
  std::vector<Values> all = {least};
  for (auto& param : declared)
    for (auto& value : good_values(param)) {
      Values values = least;
      if (param.instead_of) values.erase(*param.instead_of);
      values.insert_or_assign(param.name, value);
      all.push_back(values);
    }
  return all;
}

// One value that is wrong, one that is missing, or two that exclude each other.
inline std::vector<Values> bad_values(const std::vector<Param>& declared) {
  std::vector<Values> all;
  Values least = good_values(declared).front();
  for (auto& param : declared) {
    for (auto& value : bad_values(param)) {
      Values values = least;
      if (param.instead_of) values.erase(*param.instead_of);
      values.insert_or_assign(param.name, value);
      all.push_back(values);
    }
    if (param.required) {
      Values values = least;
      values.erase(param.name);
      all.push_back(values);
    }
    if (param.instead_of && least.contains(*param.instead_of)) {
      Values values = least;
      values.insert_or_assign(param.name, good_values(param).front());
      all.push_back(values);
    }
  }
  return all;
}

// Every parameter has a name and a help, and one of Kind::one_of has choices.
inline bool is_documented(const std::vector<Param>& declared) {
  return std::all_of(declared.begin(), declared.end(), [](auto& param) {
    return !param.name.empty() && !param.help.empty() && (param.kind != Kind::one_of || !param.choices.empty());
  });
}

inline bool same(const Value& a, const Value& b) {
  auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return x && y ? std::abs(*x - *y) <= 1e-12 * std::abs(*y) : text_of(a) == text_of(b);
}

}  // namespace kbcd::tests
