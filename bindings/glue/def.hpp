// How a C++ function becomes a documented, argument-checked Lua function.
#pragma once

#include "bindings/glue/lua.hpp"
#include "core/timers.hpp"

namespace kbcd::lua {

// The heading of a function's documentation, such as "Matrix:rows(first [, last])", taken apart.
struct Signature {
  explicit Signature(std::string_view heading);
  std::string name;               // "Matrix:rows"
  std::string key;                // "rows"
  std::vector<std::string> args;  // "self", "first", "last"
  std::string table;              // "{gamma, sigma}" where the one argument is a table of these
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
  constexpr auto takes = []<std::size_t i>() {
    return !std::is_same_v<std::tuple_element_t<i, Arguments>, sol::this_state>;
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    // The stack index of each parameter: this_state takes none.
    int next = 1, places[] = {0, (takes.template operator()<i>() ? next++ : 0)...};
    bool variadic = (std::is_same_v<std::tuple_element_t<i, Arguments>, sol::variadic_args> || ...);
    if (!variadic && lua_gettop(L) >= next) too_many_arguments(signature, next - 1, lua_gettop(L));
    [[maybe_unused]] auto check = [&]<std::size_t k>() {
      if constexpr (takes.template operator()<k>()) {
        using Reader = Argument<std::tuple_element_t<k, Arguments>>;
        if (!Reader::check(L, places[k + 1])) bad_argument(L, signature, places[k + 1], Reader::expected());
      }
    };
    (check.template operator()<i>(), ...);
    return f(Argument<std::tuple_element_t<i, Arguments>>::get(L, places[i + 1])...);
  }
  (std::make_index_sequence<count>());
}

// The texts behind help(): name -> "heading\ntext".
sol::table docs(lua_State* L);
void document(lua_State* L, const std::string& name, const std::string& heading, const std::string& text);

// A Lua function that calls f and turns a C++ exception into a Lua error with the script's file and line. We
// push our own closure: sol2 names the metatable of a stored lambda after its type, and GCC gives many
// lambdas one name.
sol::object make_function(lua_State* L, std::function<int(lua_State*)> f);
// The same for a function of a short life: it is destroyed, with what it holds, after the last reference to it.
sol::object make_collected_function(lua_State* L, std::function<int(lua_State*)> f);

// While it lives, every function that is defined gets this timer, at no cost beyond the clock that runs anyway.
class TimedAs {
 public:
  explicit TimedAs(const char* timer);
  ~TimedAs();
  TimedAs(const TimedAs&) = delete;

 private:
  timers::Entry* before_;
};

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

// table(…) calls f, for the type that `table` stands for.
template <class F>
void def_call(lua_State* L, sol::table table, const char* heading, const char* text, F f) {
  Signature signature(heading);
  sol::table metatable = table[sol::metatable_key];
  metatable["__call"] = make_function(L, [f, signature](lua_State* L) {
    lua_remove(L, 1);  // the table itself
    return sol::stack::push(L, call_checked(f, signature, L));
  });
  document(L, signature.name, heading, text);
}

// A field that is read and never set; documented as "Type.key".
template <class T, class Getter>
void def_field(sol::usertype<T>& type, const char* key, const char* text, Getter getter) {
  type[key] = sol::property(getter, [key](T&, sol::object) { fail("{}.{} cannot be set", type_name<T>, key); });
  std::string name = fmt::format("{}.{}", type_name<T>, key);
  document(type.lua_state(), name, name, text);
}

// The coroutine that calls into C++ now, known while a RunningState lives.
class RunningState {
 public:
  explicit RunningState(lua_State* L, timers::Entry* timer = nullptr);
  ~RunningState();
  RunningState(const RunningState&) = delete;

 private:
  memory::Hold hold_;
  lua_State* before_;
  timers::Entry* timer_;
  timers::Work work_;  // before it
  double start_;
};
double seconds_in_primitives();  // while any RunningState lived, so far
lua_State* running_state();

// Where functions and values are kept that outlive the coroutine that passed them; the State sets it. (sol2 looks for
// it in a global variable, which a script may change.)
lua_State* main_thread();
void set_main_thread(lua_State* L);

// A Lua function that is kept after the call that passed it, and is called on the coroutine that runs then.
class Callback {
 public:
  explicit Callback(const sol::protected_function& f);
  template <class... Args>
  sol::protected_function_result operator()(Args&&... args) const {
    lua_State* L = running_state() ? running_state() : main_thread();
    lua_rawgeti(L, LUA_REGISTRYINDEX, *place_);
    return sol::stack::pop<sol::protected_function>(L)(std::forward<Args>(args)...);
  }

 private:
  std::shared_ptr<const int> place_;  // in the registry
};

std::string error_text(lua_State* L, int index);  // an error of any type as a text, without calling Lua

// The result of a Lua callback as a T; `who` begins the error message.
template <class T>
T result_of(const char* who, sol::protected_function_result result) {
  lua_State* L = result.lua_state();
  if (!result.valid()) throw Error(error_text(L, result.stack_index()));
  if (result.return_count() < 1 || !Argument<T>::check(L, result.stack_index()))
    fail("{} must return a {}, got {}", who, Argument<T>::expected(),
         result.return_count() < 1 ? "nothing" : describe(L, result.stack_index()));
  return Argument<T>::get(L, result.stack_index());
}

[[noreturn]] void no_such_field(lua_State* L, const char* type, const sol::object& key);
[[noreturn]] void cannot_set_field(lua_State* L, const char* type, const sol::object& key);

// A missing field or method is an error at once, instead of a nil that fails later.
template <class T>
void refuse_unknown_fields(sol::usertype<T>& type) {
  type["new"] = [](sol::variadic_args) -> void {
    fail("{0} has no 'new'; help(\"{0}\") explains how to make one", type_name<T>);
  };
  type[sol::meta_function::index] = [](sol::this_state L, sol::object, sol::object key) -> sol::object {
    no_such_field(L, type_name<T>, key);
  };
  type[sol::meta_function::new_index] = [](sol::this_state L, sol::object, sol::object key, sol::object) {
    cannot_set_field(L, type_name<T>, key);
  };
}

// A table of options of which every key is known. Tables of a script are read raw: an error of a metamethod would pass
// through sol2, which removes values of its own from the stack meanwhile, and take one of them for the message.
class Options {
 public:
  Options(const char* owner, sol::optional<sol::table> table, std::vector<std::string> known);
  template <class T>
  sol::optional<T> get(const char* key) const {
    if (!table_) return sol::nullopt;
    auto value = table_->raw_get<sol::object>(key);
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

// One function for each topic, in bind_<topic>.cpp.
void bind_matrix(sol::state_view lua, sol::table kbcd);
void bind_arithmetic(sol::state_view lua, sol::table kbcd);
void bind_linalg(sol::state_view lua, sol::table kbcd);
void bind_index(sol::state_view lua, sol::table kbcd);
void bind_comm(sol::state_view lua, sol::table kbcd);
void bind_data(sol::state_view lua, sol::table kbcd);
void bind_rows(sol::state_view lua, sol::table kbcd);
void bind_h5(sol::state_view lua, sol::table kbcd);
void bind_kernels(sol::state_view lua, sol::table kbcd);
void bind_features(sol::state_view lua, sol::table kbcd);
void bind_blocks(sol::state_view lua, sol::table kbcd);
void bind_sketch(sol::state_view lua, sol::table kbcd);
void bind_text(sol::state_view lua, sol::table kbcd);
void bind_sparse_rows(sol::state_view lua, sol::table kbcd);
void bind_solve(sol::state_view lua, sol::table kbcd);
void bind_vision(sol::state_view lua, sol::table kbcd);
void bind_speech(sol::state_view lua, sol::table kbcd);
void bind_system(sol::state_view lua, sol::table kbcd);

}  // namespace kbcd::lua
