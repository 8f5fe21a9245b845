// Sparse rows that Lua makes entry by entry, and the hash of bytes for them: csr_builder, hash.murmur3, and what
// gram_matrix stands on. They are called millions of times, so that these are plain C functions of Lua: without the
// clock and the exceptions of other bound functions. Every place in a string or buffer is checked here.
#include "bindings/glue/def.hpp"
#include "modules/data/csr_builder.hpp"
#include "modules/data/dataset.hpp"
#include "modules/text/gram_rows.hpp"
#include "modules/text/murmur3.hpp"

namespace kbcd::lua {
namespace {

using Builder = std::shared_ptr<CsrBuilder>;
using Grams = std::shared_ptr<GramRows>;

template <class T>
T& held(lua_State* L) {
  return sol::stack::get<sol::user<T>>(L, lua_upvalueindex(1));
}

// A function that holds a value as its upvalue.
template <class T>
sol::object closure(lua_State* L, const T& value, lua_CFunction f) {
  sol::stack::push<sol::user<T>>(L, T(value));
  lua_pushcclosure(L, f, 1);
  return sol::stack::pop<sol::object>(L);
}

// A string argument; luaL_checklstring would also take a number, and change it into a string.
std::string_view text_at(lua_State* L, int index, const char* who) {
  if (lua_type(L, index) != LUA_TSTRING)
    luaL_error(L, "%s: argument %d: a string expected, got %s", who, index, luaL_typename(L, index));
  std::size_t length = 0;
  const char* text = lua_tolstring(L, index, &length);
  return {text, length};
}

// A whole number in least..most; `otherwise` where there is none.
double whole_at(lua_State* L, int index, const char* what, double least, double most, double otherwise) {
  if (lua_isnoneornil(L, index)) return otherwise;
  double value = lua_tonumber(L, index);
  if (lua_type(L, index) != LUA_TNUMBER || !(value >= least && value <= most) || value != std::floor(value)) {
    lua_pushvalue(L, index);
    const char* got = lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1);
    luaL_error(L, "hash.murmur3: %s: a whole number from %f to %f expected, got %s", what, least, most, got);
  }
  return value;
}

int murmur3_of(lua_State* L) {
  std::string_view text = text_at(L, 1, "hash.murmur3");
  auto seed = static_cast<std::uint32_t>(whole_at(L, 2, "seed", 0, 0xFFFFFFFF, 0));
  auto size = static_cast<double>(text.size());
  double first = whole_at(L, 4, "first", 1, size + 1, 1), left = size - first + 1;
  double count = whole_at(L, 3, "count", 0, 0x1p53, left);
  if (count > left)
    return luaL_error(L, "hash.murmur3: %f bytes from byte %f asked for, the string has %f", count, first, size);
  auto part = text.substr(static_cast<std::size_t>(first) - 1, static_cast<std::size_t>(count));
  lua_pushnumber(L, murmur3(part, seed));
  return 1;
}

int out_of_memory(lua_State* L) {
  return luaL_error(L, "out of memory");
}

int add(lua_State* L) {
  auto& builder = *held<Builder>(L);
  if (lua_type(L, 1) != LUA_TNUMBER || lua_type(L, 2) != LUA_TNUMBER)
    return luaL_error(L, "csr_builder: add(column, value): two numbers expected, got %s and %s", luaL_typename(L, 1),
                      luaL_typename(L, 2));
  double column = lua_tonumber(L, 1);
  if (!builder.has(column))
    return luaL_error(L, "csr_builder: columns within 1..%f expected, got %f", static_cast<double>(builder.cols()),
                      column);
  try {
    builder.add(column, lua_tonumber(L, 2));
    return 0;
  } catch (const std::exception&) {
  }
  return out_of_memory(L);
}

// The bytes parts[i] to parts[i + 1] of a text, from 1; an error where they are not there.
std::string_view part_at(lua_State* L, std::string_view text, int i) {
  lua_rawgeti(L, 2, i);
  lua_rawgeti(L, 2, i + 1);
  double first = lua_tonumber(L, -2), last = lua_tonumber(L, -1), most = static_cast<double>(text.size());
  lua_pop(L, 2);
  if (!(first >= 1 && first <= last && last <= most && first == std::floor(first) && last == std::floor(last)))
    luaL_error(L, "csr_builder: add_hashed: bytes within 1..%f expected, got %f to %f", most, first, last);
  return text.substr(static_cast<std::size_t>(first) - 1, static_cast<std::size_t>(last - first) + 1);
}

// add_hashed(text, parts, together): parts = { first, last, first, last, … }.
int add_hashed(lua_State* L) {
  auto& builder = *held<Builder>(L);
  std::string_view text = text_at(L, 1, "csr_builder: add_hashed");
  if (lua_type(L, 2) != LUA_TTABLE)
    return luaL_error(L, "csr_builder: add_hashed: a list {first, last, …} expected, got %s", luaL_typename(L, 2));
  double together = luaL_optnumber(L, 3, 1);
  if (!(together >= 1 && together <= 100 && together == std::floor(together)))
    return luaL_error(L, "csr_builder: add_hashed: together: a whole number from 1 to 100 expected, got %f", together);
  int numbers = 2 * static_cast<int>(together), count = static_cast<int>(lua_objlen(L, 2));
  bool full = false;
  for (int i = 1; i + numbers - 1 <= count && !full; i += numbers) {
    std::uint32_t h = 0;
    for (int k = i; k < i + numbers; k += 2) h = murmur3(part_at(L, text, k), h);
    auto signed_hash = static_cast<Int>(static_cast<std::int32_t>(h));
    try {
      builder.add(static_cast<double>(std::abs(signed_hash) % builder.cols() + 1), signed_hash < 0 ? -1 : 1);
    } catch (const std::exception&) {
      full = true;
    }
  }
  return full ? out_of_memory(L) : 0;
}

void bind_builder(sol::state_view lua, sol::table kbcd) {
  def(lua, kbcd, "csr_builder(cols)",
      "Builds this rank's rows of a sparse DataSet: b.add(column, value) for each entry of a row (columns from 1, in any\n"
      "order; repeated columns are summed), b.end_row(), and at last b.finish(n [, options]), where n counts the rows of all\n"
      "ranks. options: unit_norm = false; dtype = \"f32\". All ranks call finish. b.add_hashed(text, {first, last, first,\n"
      "last, ...} [, together]) adds 1 or -1 for each part of a text, bytes first to last counted from 1, in the column and\n"
      "with the sign of its hash, as Documents:hash does: one call for many entries. together = 1: so many parts are one\n"
      "entry, in which the hash of a part is the seed of the next.",
      [](sol::this_state L, Int cols) {
        auto builder = std::make_shared<CsrBuilder>(cols);
        sol::table table(L, sol::create);
        table["add"] = closure(L, builder, add);
        table["add_hashed"] = closure(L, builder, add_hashed);
        table["end_row"] = make_collected_function(L, [builder](lua_State*) {
          builder->end_row();
          return 0;
        });
        table["finish"] = make_collected_function(L, [builder](lua_State* L) {
          using Given = Argument<sol::optional<sol::table>>;
          require(Argument<Int>::check(L, 1), "csr_builder: finish: the number of rows of all ranks expected, got {}",
                  describe(L, 1));
          require(Given::check(L, 2), "csr_builder: finish: a table of options expected, got {}", describe(L, 2));
          Options options("csr_builder", Given::get(L, 2), {"unit_norm", "dtype"});
          Csr csr = builder->finish(options.get<DType>("dtype").value_or(DType::f32),
                                    options.get<bool>("unit_norm").value_or(false));
          return sol::stack::push(L, DataSet(Argument<Int>::get(L, 1), std::move(csr), "csr_builder"));
        });
        return table;
      });
}

int count_gram(lua_State* L) {
  std::string_view gram = text_at(L, 1, "gram_matrix: count");
  auto group = static_cast<std::size_t>(lua_tonumber(L, lua_upvalueindex(2)));
  try {
    held<Grams>(L)->count(group, gram);
    return 0;
  } catch (const std::exception&) {
  }
  return out_of_memory(L);
}

// What gram_matrix stands on: count[group](gram), end_text(training), end_pass(training_texts) and counts(), or
// set_counts(counts, training_texts); end_row(), finish().
void bind_grams(sol::table kbcd) {
  kbcd["gram_rows"] = [](sol::this_state L, Int columns, sol::object list) {
    require(list.get_type() == sol::type::table, "gram_rows: a table of shares expected");
    sol::table given = list;
    std::vector<double> shares;
    for (std::size_t g = 1; g <= given.size(); ++g) {
      auto share = given.raw_get<sol::optional<double>>(g);
      require(share.has_value(), "gram_rows: share {}: a number expected", g);
      shares.push_back(*share);
    }
    auto rows = std::make_shared<GramRows>(columns, shares);
    sol::table table(L, sol::create), count(L, sol::create);
    for (std::size_t g = 0; g < shares.size(); ++g) {
      sol::stack::push<sol::user<Grams>>(L, Grams(rows));
      lua_pushnumber(L, static_cast<double>(g));
      lua_pushcclosure(L, count_gram, 2);
      count[g + 1] = sol::stack::pop<sol::object>(L);
    }
    auto method = [&](const char* name, auto f) {
      table[name] = make_collected_function(L, [rows, f](lua_State* L) { return f(*rows, L); });
    };
    table["count"] = count;
    method("end_text", [](GramRows& r, lua_State* L) { return r.end_text(lua_toboolean(L, 1)), 0; });
    method("end_pass", [](GramRows& r, lua_State* L) { return r.end_pass(lua_tointeger(L, 1)), 0; });
    method("counts", [](GramRows& r, lua_State* L) { return sol::stack::push(L, r.texts_with()); });
    method("set_counts", [](GramRows& r, lua_State* L) {
      require(sol::stack::check<Matrix>(L, 1, sol::no_panic) && lua_type(L, 2) == LUA_TNUMBER,
              "gram_rows: set_counts: a Matrix and a number expected");
      return r.set_texts_with(sol::stack::get<Matrix&>(L, 1), lua_tointeger(L, 2)), 0;
    });
    method("end_row", [](GramRows& r, lua_State*) { return r.end_row(), 0; });
    method("finish", [](GramRows& r, lua_State* L) { return sol::stack::push(L, r.finish()); });
    return table;
  };
}

}  // namespace

void bind_sparse_rows(sol::state_view lua, sol::table kbcd) {
  sol::table hash = lua.create_table();
  kbcd["hash"] = hash;
  document(lua, "hash", "hash", "Hashes of bytes.");
  hash["murmur3"] = &murmur3_of;
  document(
      lua, "hash.murmur3", "hash.murmur3(text [, seed [, count [, first]]])",
      "MurmurHash3 (x86, 32 bits) of a string, a number from 0 to 2^32 - 1. seed = 0. count, first: of so many bytes\n"
      "alone, from byte `first` (1) on, which takes no copy of a part of a string.");
  bind_builder(lua, kbcd);
  bind_grams(kbcd);
}

}  // namespace kbcd::lua
