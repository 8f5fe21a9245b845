// The one header that includes sol2, and how a C++ function becomes a documented, argument-checked Lua function.
//
// These settings are not a matter of taste: with LuaJIT, without the second one every exception loses its message and
// argument checks are compiled out.
#pragma once

#define SOL_ALL_SAFETIES_ON 1
#define SOL_EXCEPTIONS_SAFE_PROPAGATION 0
#define SOL_PRINT_ERRORS 0
#include <sol/sol.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"

namespace kbcd {

class Matrix;
class Index;
class DataSet;
class Block;
struct BlockT;
class Selector;
struct SelectorT;
class Kernel;
class FeatureMap;
class Factor;
namespace comm {
class Request;
}

}  // namespace kbcd

template <>
struct sol::is_container<kbcd::Index> : std::false_type {};  // it has begin() and end(), but is a type of its own

namespace kbcd {
namespace lua {

// What a C++ type is called in Lua.
template <class T>
constexpr const char* type_name = "value";
template <>
inline constexpr const char* type_name<Matrix> = "Matrix";
template <>
inline constexpr const char* type_name<Index> = "Index";
template <>
inline constexpr const char* type_name<DataSet> = "DataSet";
template <>
inline constexpr const char* type_name<Block> = "Block";
template <>
inline constexpr const char* type_name<BlockT> = "transposed Block";
template <>
inline constexpr const char* type_name<Selector> = "Selector";
template <>
inline constexpr const char* type_name<SelectorT> = "transposed Selector";
template <>
inline constexpr const char* type_name<Kernel> = "Kernel";
template <>
inline constexpr const char* type_name<FeatureMap> = "FeatureMap";
template <>
inline constexpr const char* type_name<Factor> = "Factor";
template <>
inline constexpr const char* type_name<comm::Request> = "Request";

std::string describe(lua_State* L, int index);  // "number 2.5", "Matrix", "nil"

// How an argument of C++ type T is recognised and read.
template <class T>
struct Argument {  // a bound type, by reference or by shared_ptr
  template <class U>
  struct Pointee {
    using type = U;
  };
  template <class U>
  struct Pointee<std::shared_ptr<U>> {
    using type = U;
  };
  using Bound = typename Pointee<T>::type;
  static constexpr bool optional = false;
  static std::string expected() { return type_name<Bound>; }
  static bool check(lua_State* L, int i) {
    return lua_type(L, i) == LUA_TUSERDATA && sol::stack::check<T>(L, i, &sol::no_panic);
  }
  static T& get(lua_State* L, int i) { return sol::stack::get<T&>(L, i); }
};
template <>
struct Argument<double> {
  static constexpr bool optional = false;
  static std::string expected() { return "number"; }
  static bool check(lua_State* L, int i) { return lua_type(L, i) == LUA_TNUMBER; }
  static double get(lua_State* L, int i) { return lua_tonumber(L, i); }
};
template <>
struct Argument<Int> {
  static constexpr bool optional = false;
  static std::string expected() { return "whole number"; }
  static bool check(lua_State* L, int i) {
    double value = lua_tonumber(L, i);
    return lua_type(L, i) == LUA_TNUMBER && value == std::floor(value) && std::abs(value) <= 0x1p53;
  }
  static Int get(lua_State* L, int i) { return static_cast<Int>(lua_tonumber(L, i)); }
};
template <>
struct Argument<bool> {
  static constexpr bool optional = false;
  static std::string expected() { return "true or false"; }
  static bool check(lua_State* L, int i) { return lua_type(L, i) == LUA_TBOOLEAN; }
  static bool get(lua_State* L, int i) { return lua_toboolean(L, i); }
};
template <>
struct Argument<std::string> {
  static constexpr bool optional = false;
  static std::string expected() { return "string"; }
  static bool check(lua_State* L, int i) { return lua_type(L, i) == LUA_TSTRING; }
  static std::string get(lua_State* L, int i) { return sol::stack::get<std::string>(L, i); }
};
template <>
struct Argument<sol::table> {
  static constexpr bool optional = false;
  static std::string expected() { return "table"; }
  static bool check(lua_State* L, int i) { return lua_type(L, i) == LUA_TTABLE; }
  static sol::table get(lua_State* L, int i) { return sol::table(L, i); }
};
template <>
struct Argument<sol::protected_function> {
  static constexpr bool optional = false;
  static std::string expected() { return "function"; }
  static bool check(lua_State* L, int i) { return lua_type(L, i) == LUA_TFUNCTION; }
  static sol::protected_function get(lua_State* L, int i) { return sol::protected_function(L, i); }
};
template <>
struct Argument<sol::object> {  // anything, also nothing
  static constexpr bool optional = true;
  static std::string expected() { return "value"; }
  static bool check(lua_State*, int) { return true; }
  static sol::object get(lua_State* L, int i) { return i > lua_gettop(L) ? sol::object() : sol::object(L, i); }
};
template <class T>
struct Argument<sol::optional<T>> {
  static constexpr bool optional = true;
  static std::string expected() { return Argument<T>::expected(); }
  static bool check(lua_State* L, int i) { return lua_isnoneornil(L, i) || Argument<T>::check(L, i); }
  static sol::optional<T> get(lua_State* L, int i) {
    return lua_isnoneornil(L, i) ? sol::optional<T>() : sol::optional<T>(Argument<T>::get(L, i));
  }
};
template <>
struct Argument<sol::variadic_args> {  // must come last
  static constexpr bool optional = true;
  static std::string expected() { return "value"; }
  static bool check(lua_State*, int) { return true; }
  static sol::variadic_args get(lua_State* L, int i) { return sol::variadic_args(L, i); }
};
template <>
struct Argument<sol::this_state> {  // takes no argument
  static sol::this_state get(lua_State* L, int) { return sol::this_state(L); }
};

// The heading of a function's documentation, such as "Matrix:rows(first [, last])", taken apart.
struct Signature {
  explicit Signature(std::string_view heading);
  std::string name;               // "Matrix:rows"
  std::string key;                // "rows"
  std::vector<std::string> args;  // "self", "first", "last"
};

[[noreturn]] void bad_argument(lua_State* L, const Signature& signature, int index, const std::string& expected);
[[noreturn]] void too_many_arguments(const Signature& signature, int expected, int got);

template <class F>
struct Traits : Traits<decltype(&F::operator())> {};
template <class R, class C, class... A>
struct Traits<R (C::*)(A...) const> {
  using Result = R;
  using Arguments = std::tuple<std::decay_t<A>...>;
};

template <class F>
auto call_checked(const F& f, const Signature& signature, lua_State* L) {
  using Arguments = typename Traits<F>::Arguments;
  constexpr std::size_t count = std::tuple_size_v<Arguments>;
  constexpr auto takes = []<std::size_t i>() { return !std::is_same_v<std::tuple_element_t<i, Arguments>, sol::this_state>; };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    // The stack index of each parameter: this_state takes none.
    int next = 1, places[] = {0, (takes.template operator()<i>() ? next++ : 0)...};
    bool variadic = (std::is_same_v<std::tuple_element_t<i, Arguments>, sol::variadic_args> || ...);
    if (!variadic && lua_gettop(L) >= next) too_many_arguments(signature, next - 1, lua_gettop(L));
    auto check = [&]<std::size_t k>() {
      if constexpr (takes.template operator()<k>()) {
        using Reader = Argument<std::tuple_element_t<k, Arguments>>;
        if (!Reader::check(L, places[k + 1])) bad_argument(L, signature, places[k + 1], Reader::expected());
      }
    };
    (check.template operator()<i>(), ...);
    return f(Argument<std::tuple_element_t<i, Arguments>>::get(L, places[i + 1])...);
  }(std::make_index_sequence<count>());
}

// The texts behind help(): name -> "heading\ntext".
sol::table docs(lua_State* L);
void document(lua_State* L, const std::string& name, const std::string& heading, const std::string& text);

// A Lua function that calls f and turns a C++ exception into a Lua error with the script's file and line. We push our own
// closure: sol2 names the metatable of a stored lambda after its type, and GCC gives many lambdas one name.
sol::object make_function(lua_State* L, std::function<int(lua_State*)> f);

// target[key] = f, with the documentation that names its arguments.
template <class Target, class F>
void def(lua_State* L, Target& target, const char* heading, const char* text, F f) {
  Signature signature(heading);
  target[signature.key] = make_function(L, [f, signature](lua_State* L) {
    if constexpr (std::is_void_v<decltype(call_checked(f, signature, L))>) {
      call_checked(f, signature, L);
      return 0;
    } else {
      return sol::stack::push(L, call_checked(f, signature, L));
    }
  });
  document(L, signature.name, heading, text);
}

// A field or method that is not there is an error that says so, instead of a nil that fails later.
template <class T>
void refuse_unknown_fields(sol::usertype<T>& type) {
  type[sol::meta_function::index] = [](sol::this_state L, sol::object, sol::object key) -> sol::object {
    fail("{} has no field or method '{}'; help(\"{}\") lists what it has", type_name<T>,
         key.is<std::string>() ? key.as<std::string>() : describe(L, 2), type_name<T>);
  };
}

// A table of options of which every key is known.
class Options {
 public:
  Options(const char* owner, sol::optional<sol::table> table, std::vector<std::string> known);
  template <class T>
  sol::optional<T> get(const char* key) const {
    if (!table_) return sol::nullopt;
    sol::object value = (*table_)[key];
    if (value.get_type() == sol::type::lua_nil) return sol::nullopt;
    lua_State* L = table_->lua_state();
    value.push();
    bool good = Argument<T>::check(L, lua_gettop(L));
    if (!good) complain(key, Argument<T>::expected(), describe(L, -1));
    sol::optional<T> result(Argument<T>::get(L, lua_gettop(L)));
    lua_pop(L, 1);
    return result;
  }

 private:
  [[noreturn]] void complain(const char* key, const std::string& expected, const std::string& got) const;
  const char* owner_;
  sol::optional<sol::table> table_;
};

std::uint64_t default_seed();
void set_default_seed(std::uint64_t seed);
std::uint64_t checked_seed(const char* owner, sol::optional<Int> seed);

// One function a topic; each is a bind_<topic>.cpp.
void bind_matrix(sol::state_view lua, sol::table kbcd);
void bind_linalg(sol::state_view lua, sol::table kbcd);
void bind_index(sol::state_view lua, sol::table kbcd);
void bind_comm(sol::state_view lua, sol::table kbcd);
void bind_data(sol::state_view lua, sol::table kbcd);
void bind_kernels(sol::state_view lua, sol::table kbcd);
void bind_features(sol::state_view lua, sol::table kbcd);
void bind_blocks(sol::state_view lua, sol::table kbcd);
void bind_solve(sol::state_view lua, sol::table kbcd);
void bind_system(sol::state_view lua, sol::table kbcd);

}  // namespace lua
}  // namespace kbcd
