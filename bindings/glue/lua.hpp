// The one header that includes sol2, and how a C++ function becomes a documented, argument-checked Lua
// function.
//
// These settings are not a matter of taste: with LuaJIT, without the second one every exception loses its
// message and argument checks are compiled out.
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
#include "core/matrix.hpp"

namespace kbcd {

class Index;
class DataSet;
struct Csr;
class Block;
struct BlockT;
class Selector;
class SparseSign;
struct SelectorT;
class Kernel;
class FeatureMap;
class Factor;
class H5File;
namespace comm {
class Request;
}
namespace vision {
class Images;
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
inline constexpr const char* type_name<Csr> = "Csr";
template <>
inline constexpr const char* type_name<Block> = "Block";
template <>
inline constexpr const char* type_name<BlockT> = "transposed Block";
template <>
inline constexpr const char* type_name<Selector> = "Selector";
template <>
inline constexpr const char* type_name<SparseSign> = "SparseSign";
template <>
inline constexpr const char* type_name<SelectorT> = "transposed Selector";
template <>
inline constexpr const char* type_name<Kernel> = "Kernel";
template <>
inline constexpr const char* type_name<FeatureMap> = "FeatureMap";
template <>
inline constexpr const char* type_name<Factor> = "Factor";
template <>
inline constexpr const char* type_name<H5File> = "H5File";
template <>
inline constexpr const char* type_name<comm::Request> = "Request";
template <>
inline constexpr const char* type_name<vision::Images> = "Images";

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
struct Argument<DType> {
  static constexpr bool optional = false;
  static std::string expected() { return "\"f32\" or \"f64\""; }
  static bool check(lua_State* L, int i) {
    std::string_view text = lua_type(L, i) == LUA_TSTRING ? lua_tostring(L, i) : "";
    return text == "f32" || text == "f64";
  }
  static DType get(lua_State* L, int i) { return parse_dtype(lua_tostring(L, i)); }
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
  static sol::object get(lua_State* L, int i) {
    return i > lua_gettop(L) ? sol::make_object(L, sol::lua_nil) : sol::object(L, i);
  }
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

}  // namespace lua
}  // namespace kbcd
