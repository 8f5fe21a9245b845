// The ranks in Lua: rank and size, sums over all ranks, broadcasts. Every rank must call these in the same order.
#include "bindings/glue/def.hpp"
#include "core/comm.hpp"

namespace kbcd::lua {
namespace {

std::vector<Matrix> matrices(const char* owner, sol::variadic_args args) {
  std::vector<Matrix> list;
  for (auto argument : args) {
    sol::object object = argument;
    object.push();
    std::string got = describe(args.lua_state(), -1);
    lua_pop(args.lua_state(), 1);
    require(object.is<Matrix>(), "{}: argument {}: Matrix expected, got {}", owner, list.size() + 1, got);
    list.push_back(object.as<Matrix>());
  }
  require(!list.empty(), "{}: at least one Matrix expected", owner);
  return list;
}

std::vector<Matrix> listed(const char* owner, const sol::table& table) {
  std::vector<Matrix> list;
  for (std::size_t i = 1; i <= table.size(); ++i) {
    sol::object entry = table.raw_get<sol::object>(i);
    require(entry.is<Matrix>(), "{}: argument 1 (value): entry {} of the list: Matrix expected", owner, i);
    list.push_back(entry.as<Matrix>());
  }
  require(!list.empty(), "{}: argument 1 (value): Matrix, list of them, number or string expected, got an empty table",
          owner);
  return list;
}

int checked_root(const char* owner, Int root) {
  require(root >= 0 && root < comm::size(), "{}: a root in 0..{} expected, got {}", owner, comm::size() - 1, root);
  return static_cast<int>(root);
}

}  // namespace

void bind_comm(sol::state_view lua, sol::table kbcd) {
  def(lua, kbcd, "rank()", "This process's number, from 0 to size() - 1.", [] { return comm::rank(); });
  def(lua, kbcd, "size()", "The number of processes of the job.", [] { return comm::size(); });
  def(lua, kbcd, "allreduce(A [, B, ...])",
      "Sums each Matrix over the ranks, in place on every rank, and returns them. A number is summed and "
      "returned.",
      [](sol::this_state L, sol::variadic_args args) {
        sol::variadic_results results;
        if (args.size() == 1 && args.get_type() == sol::type::number) {
          results.push_back(sol::make_object(L, comm::allreduce(args.get<double>(), comm::Reduction::sum)));
          return results;
        }
        comm::allreduce(matrices("allreduce", args));
        for (auto argument : args) results.push_back(sol::object(argument));
        return results;
      });
  def(lua, kbcd, "allreduce_max(x)", "The largest of the ranks' numbers x.",
      [](double x) { return comm::allreduce(x, comm::Reduction::max); });
  def(lua, kbcd, "allreduce_min(x)", "The smallest of the ranks' numbers x.",
      [](double x) { return comm::allreduce(x, comm::Reduction::min); });
  def(lua, kbcd, "iallreduce(A [, B, ...])",
      "Starts the same sums and returns a Request: call its wait() before you use the matrices again.",
      [](sol::variadic_args args) { return std::make_shared<comm::Request>(matrices("iallreduce", args)); });
  def(lua, kbcd, "ireduce_symmetric(A, root)",
      "Begins the sum of a symmetric Matrix over the ranks, on rank root only (half of it travels), and returns a "
      "handle\nwith wait().",
      [](const Matrix& a, Int root) {
        return std::make_shared<comm::Request>(a, checked_root("ireduce_symmetric", root));
      });
  def(lua, kbcd, "together(f)",
      "Calls f() on every rank. If it fails on one rank, it is an error on all. f must not call functions that all ranks call.",
      [](sol::protected_function f) {
        comm::together([&] {
          auto result = f();
          if (!result.valid()) throw Error(error_text(result.lua_state(), result.stack_index()));
        });
      });
  def(lua, kbcd, "bcast(value [, root])",
      "Sends the value of rank `root` (0 unless given) to every rank: a Matrix, or a list of them, in place; a string or a "
      "number\nas the result.",
      [](sol::this_state L, sol::object value, sol::optional<Int> root) {
        int from = checked_root("bcast", root.value_or(0));
        if (value.is<Matrix>()) {
          comm::bcast({value.as<Matrix&>()}, from);
          return value;
        }
        if (value.get_type() == sol::type::table) {
          comm::bcast(listed("bcast", value), from);
          return value;
        }
        if (value.get_type() == sol::type::number) {
          Matrix one(1, 1, DType::f64);
          one.set(0, 0, value.as<double>());
          comm::bcast({one}, from);
          return sol::make_object(L, one.get(0, 0));
        }
        if (value.get_type() != sol::type::string)
          fail("bcast: argument 1 (value): Matrix, list of them, number or string expected, got {}", describe(L, 1));
        std::string text = value.as<std::string>();
        comm::bcast(text, from);
        return sol::make_object(L, text);
      });
  def(lua, kbcd, "gather(A)", "The rows of every rank's A, one rank after the other, on every rank.",
      [](const Matrix& a) { return comm::allgather(a); });
  def(lua, kbcd, "barrier()", "Waits until every rank has called it.", [] { comm::barrier(); });

  auto request = kbcd.new_usertype<comm::Request>("Request", sol::no_constructor);
  def(lua, request, "Request:wait()", "Waits until the sums are complete.",
      [](std::shared_ptr<comm::Request> r) { r->wait(); });
  def(lua, request, "Request:done()", "Whether the sums are complete.",
      [](std::shared_ptr<comm::Request> r) { return r->done(); });
  refuse_unknown_fields(request);
}

}  // namespace kbcd::lua
