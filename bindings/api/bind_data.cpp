// Distributed data in Lua: DataSet, Csr and load.
#include <algorithm>
#include <limits>

#include "bindings/glue/values.hpp"
#include "core/timers.hpp"
#include "modules/data/csr_builder.hpp"
#include "modules/data/distribute.hpp"
#include "modules/data/loader.hpp"
#include "modules/data/table.hpp"

namespace kbcd::lua {
namespace {

// The text of help "load", with the options that every loader declares.
std::string load_help() {
  std::string text =
      "X, y, classes: a DataSet from a file, its labels if it has any (an n x t DataSet), and their names if they are\n"
      "no numbers (then y holds k - 1 for classes[k]). Each rank reads and keeps its own rows; all ranks call it. The content\n"
      "of a file decides its format, then its extension; .npy, idx and text may be gzipped.\n"
      "Options of every format:";
  text += help_text(common_options());
  for (auto& loader : loaders()) {
    text += fmt::format("\n  {} gives {}.{}", loader.name, loader.gives, loader.options.empty() ? "" : " Its options:");
    text += help_text(loader.options, 4);
  }
  return text;
}

sol::table declaration(lua_State* L, const Loader& loader) {
  sol::table entry = sol::state_view(L).create_table_with("name", loader.name, "gives", loader.gives, "params",
                                                          to_lua(L, loader.options));
  if (loader.part) entry["part"] = *loader.part;
  if (loader.columns) entry["columns"] = *loader.columns;
  return entry;
}

// In the registry, by DataSet, with weak keys: the names of its columns; the options that its loader settled.
constexpr const char *names_of_columns = "kbcd names of columns", *settled_options = "kbcd settled options";

sol::table weak_table(sol::state_view lua, const char* name) {
  sol::table table = lua.create_table();
  table[sol::metatable_key] = lua.create_table_with("__mode", "k");
  lua.registry()[name] = table;
  return table;
}

// For the commands: loaders.declared(), loaders.common() (the options of every loader), loaders.of(path),
// loaders.columns (the names of the columns of a DataSet that load gave, where its file has a header),
// loaders.settled (options that its loader chose by the content of the file).
void bind_loaders(sol::state_view lua, sol::table kbcd) {
  sol::table table = lua.create_table();
  kbcd["loaders"] = table;
  table["columns"] = weak_table(lua, names_of_columns);
  table["settled"] = weak_table(lua, settled_options);
  table["declared"] = make_function(lua, [](lua_State* L) {
    sol::table list = sol::state_view(L).create_table();
    for (auto& loader : loaders()) list.add(declaration(L, loader));
    return sol::stack::push(L, list);
  });
  table["common"] = make_function(lua, [](lua_State* L) { return sol::stack::push(L, to_lua(L, common_options())); });
  table["of"] = make_function(
      lua, [](lua_State* L) { return sol::stack::push(L, declaration(L, loader_of(luaL_checkstring(L, 1)))); });
}

sol::variadic_results results_of(sol::this_state L, const Loaded& loaded) {
  sol::variadic_results results;  // no nils after X, so that f(load(…)) passes only values
  results.push_back(sol::make_object(L, loaded.x));
  if (loaded.y) results.push_back(sol::make_object(L, *loaded.y));
  if (!loaded.y && !loaded.classes.empty()) results.push_back(sol::make_object(L, sol::lua_nil));
  if (!loaded.classes.empty()) results.push_back(sol::make_object(L, sol::as_table(loaded.classes)));
  return results;
}

// For read_table: tables.fit(path, options) gives a description and notes; tables.read(path, options, description)
// gives notes, X, y, classes; tables.encode(text, name, first, options, description) a Matrix and whether there was a
// header, on this rank alone; tables.outputs(description), which checks it, the names of the columns of X.
void bind_tables(sol::state_view lua, sol::table kbcd) {
  sol::table tables = lua.create_table();
  kbcd["tables"] = tables;
  auto options_of = [](lua_State* L, int at) { return values_of("read_table", sol::stack::get<sol::table>(L, at)); };
  auto table_at = [](lua_State* L, int at) { return table_of(values_of("table", sol::stack::get<sol::table>(L, at))); };
  tables["fit"] = make_function(lua, [=](lua_State* L) {
    auto fitted = fit_table(luaL_checkstring(L, 1), options_of(L, 2));
    return sol::stack::push(L, to_lua(L, values_of(fitted.table))) + sol::stack::push(L, sol::as_table(fitted.notes));
  });
  tables["read"] = make_function(lua, [=](lua_State* L) {
    auto read = read_table(luaL_checkstring(L, 1), options_of(L, 2), table_at(L, 3));
    return sol::stack::push(L, sol::as_table(read.notes)) + sol::stack::push(L, results_of(L, read.rows));
  });
  tables["encode"] = make_function(lua, [=](lua_State* L) {
    std::size_t size = 0;
    const char* text = luaL_checklstring(L, 1, &size);
    auto first = static_cast<Int>(luaL_checknumber(L, 3));
    auto rows = encode_table(luaL_checkstring(L, 2), {text, size}, first, options_of(L, 4), table_at(L, 5));
    return sol::stack::push(L, rows.x) + sol::stack::push(L, rows.header);
  });
  tables["outputs"] =
      make_function(lua, [=](lua_State* L) { return sol::stack::push(L, sol::as_table(table_at(L, 1).outputs())); });
}

// Sparse rows from entries in any order within a row; those of one column are summed, zeros dropped.
Csr csr_from_entries(Int cols, const Matrix& starts, const Matrix& columns, const Matrix& values, DType dtype,
                     bool unit_norm) {
  for (auto& [name, m] : {std::pair("starts", starts), {"columns", columns}, {"values", values}})
    require(m.rows() == 1 && m.dtype() == DType::f64, "Csr: {}: one row of f64 expected, got {} of {}", name, m.shape(),
            kbcd::name(m.dtype()));
  Matrix whole[] = {starts.contiguous(DType::f64), columns.contiguous(DType::f64), values.contiguous(DType::f64)};
  Int rows = starts.cols() - 1;
  require(rows >= 0 && columns.cols() == values.cols(), "Csr: rows + 1 starts, as many columns as values expected");
  const double *s = whole[0].view<double>().data, *c = whole[1].view<double>().data, *v = whole[2].view<double>().data;
  require(s[0] == 0 && s[rows] == static_cast<double>(columns.cols()), "Csr: starts from 0 to {} expected",
          columns.cols());
  CsrBuilder builder(cols);
  for (Int i = 0; i < rows; ++i) {
    require(s[i] <= s[i + 1] && s[i + 1] <= s[rows] && s[i] == std::floor(s[i]), "Csr: row {} ends before it starts",
            i + 1);
    for (auto e = static_cast<Int>(s[i]); e < static_cast<Int>(s[i + 1]); ++e) builder.add(c[e], v[e]);
    builder.end_row();
  }
  return builder.finish(dtype, unit_norm);
}

void bind_csr(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Csr>("Csr", sol::no_constructor);
  def_field(type, "nrows", "The number of rows.", [](const Csr& s) { return s.rows; });
  def_field(type, "ncols", "The number of columns.", [](const Csr& s) { return s.cols; });
  type[sol::meta_function::to_string] = [](const Csr& s) {
    return fmt::format("Csr {}x{} {}, {} entries", s.rows, s.cols, name(s.dtype()), s.nnz());
  };
  refuse_unknown_fields(type);
  kbcd["Csr"] = sol::lua_nil;
  def(lua, kbcd, "Csr(cols, starts, columns, values [, dtype, unit_norm])",
      "Sparse rows for DataSet.local_part: row i has values[starts[i] + 1 .. starts[i + 1]] in the columns (from 1) of the\n"
      "same places. Three Matrices of one row, f64. The columns of a row may be in any order; values of one column are added.\n"
      "unit_norm = false (true: each row is scaled to length 1). csr_builder takes entries one by one.",
      [](Int cols, const Matrix& starts, const Matrix& columns, const Matrix& values, sol::optional<DType> dtype,
         sol::optional<bool> unit_norm) {
        return csr_from_entries(cols, starts, columns, values, dtype.value_or(DType::f32), unit_norm.value_or(false));
      });
}

}  // namespace

void bind_data(sol::state_view lua, sol::table kbcd) {
  bind_csr(lua, kbcd);
  auto type = kbcd.new_usertype<DataSet>("DataSet", sol::no_constructor);
  def_call(
      lua, kbcd["DataSet"], "DataSet(A)",
      "n rows of d numbers distributed over the ranks; each rank keeps its own rows of A, a Matrix that all have.\n"
      "X.n and X.d are global; X.rows is this rank's part, a Matrix of X.local_n rows, and X.first the global number of its\n"
      "first row. X.sparse: whether the rows are sparse; then there is no X.rows. X.bytes: how they are kept as bytes, if they\n"
      "are; X:part reads some of the rows of any dense data.",
      [](const Matrix& a) { return DataSet::from_matrix(a); });
  def_field(type, "n", "The number of rows over all ranks.", &DataSet::n);
  def_field(type, "d", "The number of columns.", &DataSet::d);
  def_field(type, "dtype", "\"f32\" or \"f64\".", [](const DataSet& x) { return name(x.dtype()); });
  def_field(
      type, "rows",
      "This rank's rows of dense data, a Matrix. Who changes it changes X; so rows that are kept as bytes become numbers,\n"
      "and take four times the memory. X:part reads them without that.",
      [](DataSet& x) {
        if (x.is_bytes()) x = x.to_real();
        return x.local();
      });
  def_field(
      type, "bytes",
      "nil, or a table { scale, shift } where the rows are kept as bytes, from 0 to 255: a number is scale (byte + shift).",
      [](const DataSet& x, sol::this_state L) -> sol::object {
        if (!x.is_bytes()) return sol::lua_nil;
        auto& code = x.bytes().code();
        return sol::state_view(L).create_table_with("scale", code.scale, "shift", code.shift);
      });
  def_field(type, "local_n", "The number of rows of this rank.", &DataSet::local_n);
  def_field(type, "sparse", "Whether the rows are sparse.", &DataSet::sparse);
  def_field(type, "first", "The global number of this rank's first row.",
            [](const DataSet& x) { return x.first() + 1; });
  def(lua, type, "DataSet.generate(n, d, f)",
      "A data set from a function: f(first, last) returns rows first..last as a Matrix of d columns; each rank calls it for its "
      "own rows.",
      [](Int n, Int d, sol::protected_function f) {
        return DataSet::generate(n, d, [&](Int first, Int count) -> Matrix {
          return result_of<Matrix>("DataSet.generate: the function", f(first + 1, first + count));
        });
      });
  def(lua, type, "DataSet.local_part(n, rows)",
      "A data set of n rows from what each rank already holds, a Matrix or a Csr.",
      [](Int n, sol::object rows, sol::this_state L) {
        if (rows.is<Csr>()) return DataSet(n, rows.as<Csr&>(), "DataSet.local_part");
        require(rows.is<Matrix>(), "DataSet.local_part: argument 2 (rows): Matrix or Csr expected, got {}",
                describe(L, 2));
        return DataSet(n, rows.as<Matrix&>().clone(), "DataSet.local_part");
      });
  def(lua, type, "DataSet.distribute(rows)",
      "A data set of the rows of all ranks, one rank after the other, distributed in equal shares; a rank may pass any number\n"
      "of rows. All ranks call it.",
      [](const Matrix& rows) { return distribute(rows, "DataSet.distribute"); });
  def(lua, type, "DataSet.share(n)", "The numbers of the first and the last of n rows that this rank holds.",
      [](Int n) {
        require(n >= 0, "DataSet.share: a number of rows expected, got {}", n);
        Layout layout = comm::layout(n);
        Int first = layout.first(comm::rank());
        return std::make_tuple(first + 1, first + layout.count(comm::rank()));
      });
  def(lua, type, "DataSet:part(first, last)",
      "Rows first..last of this rank's rows of dense data as a Matrix, to be read; they stay bytes in X if they are.",
      [](const DataSet& x, Int first, Int last) {
        require(first >= 1 && last >= first - 1 && last <= x.local_n(),
                "DataSet:part: rows within 1..{} expected, got {}..{}", x.local_n(), first, last);
        return x.local(first - 1, last - first + 1);
      });
  def(lua, type, "DataSet:fingerprint()",
      "A checksum of the numbers and their order, as a text; the same on any number of ranks. All ranks call it.",
      [](const DataSet& x) { return x.fingerprint(); });
  def(lua, type, "DataSet:gather(I)", "Rows I as a Matrix, on every rank. All ranks call it.",
      [](const DataSet& x, const Index& rows) { return x.gather(rows); });
  def(lua, type, "DataSet:gather_sparse(I)", "Rows I of sparse data as a Csr, on every rank. All ranks call it.",
      [](const DataSet& x, const Index& rows) { return x.gather_sparse(rows); });
  def(lua, type, "DataSet:subset(I)",
      "Rows I as a data set of their own, distributed over the ranks. All ranks call it.",
      [](const DataSet& x, const Index& rows) { return x.subset(rows); });
  def(lua, type, "DataSet:local_rows(I)",
      "The positions in X.rows of those of rows I that this rank holds, as an Index.",
      [](const DataSet& x, const Index& rows) {
        Timer timer("local rows");
        return x.local_rows(rows);
      });
  def(lua, type, "DataSet:to(dtype)", "The same data as \"f32\" or \"f64\".",
      [](const DataSet& x, DType dtype) { return x.to(dtype); });
  def(lua, type, "DataSet:to_dense()", "The same data with dense rows.", [](const DataSet& x) { return x.to_dense(); });
  def(lua, type, "DataSet:to_sparse()",
      "The same data with sparse rows (CSR). Kernels and Fourier features work on them without making them dense.",
      [](const DataSet& x) { return x.to_sparse(); });
  def(lua, type, "DataSet:to_real()",
      "The same data without bytes (X.bytes): its rows as the numbers that the bytes stand for.",
      [](const DataSet& x) { return x.to_real(); });
  def(lua, type, "DataSet:to_bytes(scale, shift)",
      "The same data kept as bytes (X.bytes); every number must be scale (byte + shift) for a byte from 0 to 255, with shift 0\n"
      "or -128, rounded to X.dtype.",
      [](const DataSet& x, double scale, Int shift) {
        return x.to_bytes({scale, static_cast<int>(shift)});
      });
  type[sol::meta_function::to_string] = [](const DataSet& x) {
    return fmt::format("DataSet {}x{} {}{}, {} rows here", x.n(), x.d(), name(x.dtype()),
                       x.sparse()     ? ", sparse"
                       : x.is_bytes() ? ", kept as bytes"
                                      : "",
                       x.local_n());
  };
  refuse_unknown_fields(type);

  bind_loaders(lua, kbcd);
  bind_tables(lua, kbcd);
  def(lua, kbcd, "load(path [, options])", load_help().c_str(),
      [](const std::string& path, sol::optional<sol::table> table, sol::this_state L) {
        Values options = values_of("load", table);
        comm::require_same("load", path + (options.empty() ? "" : ", ") + text_of(options));
        Loaded loaded = load(path, options);
        auto results = results_of(L, loaded);
        sol::table columns = sol::state_view(L).registry()[names_of_columns];
        if (!loaded.columns.empty()) columns[results[0]] = sol::as_table(loaded.columns);
        sol::table settled = sol::state_view(L).registry()[settled_options];
        if (!loaded.settled.empty()) settled[results[0]] = to_lua(L, loaded.settled);
        return results;
      });
}

}  // namespace kbcd::lua
