// The parameters of a kernel, a feature map or a loader, declared as data in its own file:
//
//     {.name = "nu", .help = "smoothness", .kind = Kind::one_of, .choices = {0.5, 1.5, 2.5}, .otherwise = 1.5}
//
// Checks, messages, help and the flags of the commands come from that declaration alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/matrix.hpp"

namespace kbcd {

using ColumnName = std::variant<Int, std::string>;  // a number (from 0) or a name in the header

// A value as a user writes it: true, 2.5, "text", or a list of such.
struct Value : std::variant<bool, double, std::string, std::vector<Value>> {
  Value(bool value) : variant(value) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) Value(T number)
      : variant(static_cast<double>(number)) {}
  Value(const char* text) : variant(std::string(text)) {}
  Value(std::string text) : variant(std::move(text)) {}
  Value(DType dtype) : variant(std::string(kbcd::name(dtype))) {}
  Value(std::vector<Value> list) : variant(std::move(list)) {}
};

using Values = std::map<std::string, Value>;

std::string text_of(const Value& value);    // "2.5", "true", "name", "a, 2"
std::string text_of(const Values& values);  // "gamma=0.02, sigma=5"

enum class Kind {
  number,
  positive,      // a number > 0
  not_negative,  // a number >= 0
  count,         // a whole number from 1 up
  one_of,        // one of the choices, which are numbers or texts
  flag,          // true or false
  text,
  columns  // of a file: a name or a number from 1, or a list of such
};

const char* name(Kind kind);

struct Param {
  std::string name, help;
  Kind kind;
  std::vector<Value> choices = {};          // of Kind::one_of
  std::optional<Int> most = {};             // of Kind::count
  std::optional<Value> otherwise = {};      // its default
  bool required = false;                    // it, or the one that replaces it, must be given
  std::optional<std::string> instead_of{};  // the parameter that this one may replace
};

std::string expected(const Param& param);  // "a number > 0", "0.5, 1.5 or 2.5"
// A line each, after so many blanks: "nu: smoothness (0.5, 1.5 or 2.5; 1.5 unless given)."
std::string help_text(const std::vector<Param>& declared, int blanks = 2);
std::string joined_names(const std::vector<Param>& declared);

// Values that were checked against a declaration.
class Params {
 public:
  // `owner` begins every message: "kernel.rbf".
  Params(std::string owner, const std::vector<Param>& declared, const Values& given);

  bool has(const std::string& key) const { return values_.contains(key); }  // given, or known otherwise
  // T: bool, double, Int, std::string, DType or std::vector<ColumnName>.
  template <class T>
  std::optional<T> get(const std::string& key) const;
  double number(const std::string& key) const { return get<double>(key).value(); }
  const Values& values() const { return values_; }
  [[noreturn]] void complain(const std::string& message) const;

 private:
  void check(const std::vector<Param>& declared) const;

  std::string owner_;
  Values values_;
};

}  // namespace kbcd
