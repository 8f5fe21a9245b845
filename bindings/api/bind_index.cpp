// Index in Lua. Numbers count from 1 in Lua and from 0 in C++; this file converts them.
#include "bindings/glue/def.hpp"
#include "core/index.hpp"

namespace kbcd::lua {
namespace {

Index from_table(sol::table table) {
  std::vector<Int> values;
  for (std::size_t i = 1; i <= table.size(); ++i) {
    auto value = table.raw_get<sol::object>(i);
    double number = value.get_type() == sol::type::number ? value.as<double>() : 0;
    require(number == std::floor(number) && number >= 1 && number <= 0x1p53,
            "Index: element {} is not a whole number from 1 to 2^53", i);
    values.push_back(static_cast<Int>(number) - 1);
  }
  return Index(std::move(values));
}

std::uint32_t checked_stream(const char* owner, sol::optional<Int> stream) {
  Int value = stream.value_or(0);
  require(value >= 0 && value < (Int{1} << 32), "{}: stream in 0..2^32-1 expected, got {}", owner, value);
  return static_cast<std::uint32_t>(value);
}

std::string to_string(const Index& index) {
  std::string text = fmt::format("Index of {}:", index.size());
  for (Int i = 0; i < std::min<Int>(index.size(), 12); ++i) text += fmt::format(" {}", index[i] + 1);
  return index.size() > 12 ? text + " …" : text;
}

}  // namespace

void bind_index(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Index>("Index", sol::no_constructor);
  def_call(
      lua, kbcd["Index"], "Index(table)",
      "An ordered list of row or column numbers, counted from 1. I[i], #I and I == J work as expected.\n"
      "A number may occur twice: gathering (Matrix:take, Selector(n, I):t() * A) then repeats the row, and scattering\n"
      "(Matrix:add_rows, Selector(n, I) * D) adds both rows.",
      [](sol::table table) { return from_table(table); });
  def(lua, type, "Index.range(first, last)", "The numbers first..last.", [](Int first, Int last) {
    require(first >= 1, "Index.range: numbers from 1 up expected, got {}", first);
    return Index::range(first - 1, last - first + 1);
  });
  def(lua, type, "Index.permutation(n [, options])",
      "1..n in random order, the same on every rank. options: seed, stream (another number gives an independent order).",
      [](Int n, sol::optional<sol::table> table) {
        Options options("Index.permutation", table, {"seed", "stream"});
        return Index::permutation(n, checked_seed("Index.permutation", options.get<Int>("seed")),
                                  checked_stream("Index.permutation", options.get<Int>("stream")));
      });
  def(lua, type, "Index.sample(n, p [, options])", "p of 1..n without replacement; options as for Index.permutation.",
      [](Int n, Int p, sol::optional<sol::table> table) {
        Options options("Index.sample", table, {"seed", "stream"});
        return Index::sample(n, p, checked_seed("Index.sample", options.get<Int>("seed")),
                             checked_stream("Index.sample", options.get<Int>("stream")));
      });
  def(lua, type, "Index.weighted(weights, count [, options])",
      "count distinct numbers of 1..n, drawn one after the other with probabilities in proportion to the weights of "
      "those\n"
      "that are left: an n x 1 Matrix, the same on every rank, of numbers >= 0. options as for Index.permutation.",
      [](const Matrix& weights, Int count, sol::optional<sol::table> table) {
        Options options("Index.weighted", table, {"seed", "stream"});
        require(weights.cols() == 1, "Index.weighted: weights: a Matrix of one column expected, got {}",
                weights.shape());
        Matrix values = weights.contiguous(DType::f64);
        return Index::weighted({values.view<double>().data, static_cast<std::size_t>(values.rows())}, count,
                               checked_seed("Index.weighted", options.get<Int>("seed")),
                               checked_stream("Index.weighted", options.get<Int>("stream")));
      });
  def(lua, type, "Index.concat(list)", "The numbers of several Index, one after the other.", [](sol::table list) {
    std::vector<Index> parts;
    for (std::size_t i = 1; i <= list.size(); ++i) {
      auto part = list.raw_get<sol::object>(i);
      require(part.is<Index>(), "Index.concat: element {} of the list is not an Index", i);
      parts.push_back(part.as<Index>());
    }
    return Index::concatenate(parts);
  });
  def(lua, type, "Index:partition(b)", "A list of consecutive pieces of b numbers; the last may be shorter.",
      [](sol::this_state L, const Index& index, Int b) {
        sol::table blocks(L, sol::create);
        for (auto& block : index.partition(b)) blocks.add(block);
        return blocks;
      });
  def(lua, type, "Index:take(positions)", "The numbers at these positions (an Index).",
      [](const Index& index, const Index& positions) { return index.take(positions); });
  def(lua, type, "Index:slice(first, last)", "The numbers at positions first..last.",
      [](const Index& index, Int first, Int last) { return index.slice(first - 1, last - first + 1); });
  def(lua, type, "Index:sorted()", "The same numbers in ascending order.",
      [](const Index& index) { return index.sorted(); });
  def(lua, type, "Index:without(J)", "The numbers that are not in J, in their order.",
      [](const Index& index, const Index& others) { return index.without(others); });
  def(lua, type, "Index:totable()", "A table of numbers.", [](sol::this_state L, const Index& index) {
    sol::table table(L, sol::create);
    for (Int value : index) table.add(value + 1);
    return table;
  });
  type[sol::meta_function::length] = &Index::size;
  type[sol::meta_function::to_string] = &to_string;
  type[sol::meta_function::equal_to] = [](const Index& a, const Index& b) { return a == b; };
  type[sol::meta_function::index] = [](sol::this_state L, const Index& index, sol::object key) {
    if (key.get_type() != sol::type::number) no_such_field(L, "Index", key);
    double i = key.as<double>();
    require(i == std::floor(i) && i >= 1 && i <= index.size(), "Index: a position in 1..{} expected, got {}",
            index.size(), i);
    return index[static_cast<Int>(i) - 1] + 1;
  };
  type[sol::meta_function::new_index] = [](sol::this_state L, sol::object, sol::object key, sol::object) {
    cannot_set_field(L, "Index", key);
  };
}

}  // namespace kbcd::lua
