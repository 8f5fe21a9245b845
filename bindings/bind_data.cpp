// Distributed data in Lua: DataSet and load.
#include "bindings/def.hpp"
#include "modules/data/loader.hpp"

namespace kbcd::lua {

void bind_data(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<DataSet>("DataSet", sol::no_constructor);
  def_call(
      lua, kbcd["DataSet"], "DataSet(A)",
      "n rows of d numbers spread over the ranks; each rank keeps its own rows of A, a Matrix that all have.\n"
      "X.n and X.d are global; X.rows is this rank's part, a Matrix of X.local_n rows, and X.first the global number of its\n"
      "first row. X.sparse: whether the rows are sparse; then there is no X.rows.",
      [](const Matrix& a) { return DataSet::from_matrix(a); });
  def_field(type, "n", "The number of rows over all ranks.", &DataSet::n);
  def_field(type, "d", "The number of columns.", &DataSet::d);
  def_field(type, "dtype", "\"f32\" or \"f64\".", [](const DataSet& x) { return name(x.dtype()); });
  def_field(type, "rows", "This rank's rows of dense data, a Matrix.", [](const DataSet& x) { return x.local(); });
  def_field(type, "local_n", "The number of rows of this rank.", &DataSet::local_n);
  def_field(type, "sparse", "Whether the rows are sparse.", &DataSet::sparse);
  def_field(type, "first", "The global number of this rank's first row.",
            [](const DataSet& x) { return x.first() + 1; });
  def(lua, type, "DataSet.generate(n, d, f)",
      "f(first, last) gives rows first..last as a Matrix of d columns; each rank asks for its own.",
      [](Int n, Int d, sol::protected_function f) {
        return DataSet::generate(n, d, [&](Int first, Int count) -> Matrix {
          return result_of<Matrix>("DataSet.generate: the function", f(first + 1, first + count));
        });
      });
  def(lua, type, "DataSet.local_part(n, rows)", "A data set of n rows from what each rank already holds.",
      [](Int n, const Matrix& rows) { return DataSet(n, rows.clone(), "DataSet.local_part"); });
  def(lua, type, "DataSet:gather(I)", "Rows I as a Matrix, on every rank. All ranks call it.",
      [](const DataSet& x, const Index& rows) { return x.gather(rows); });
  def(lua, type, "DataSet:subset(I)", "Rows I as a data set of their own, spread over the ranks. All ranks call it.",
      [](const DataSet& x, const Index& rows) { return x.subset(rows); });
  def(lua, type, "DataSet:local_rows(I)", "Where those of rows I that live on this rank are in X.rows, as an Index.",
      [](const DataSet& x, const Index& rows) { return x.local_rows(rows); });
  def(lua, type, "DataSet:to(dtype)", "The same data as \"f32\" or \"f64\".",
      [](const DataSet& x, DType dtype) { return x.to(dtype); });
  def(lua, type, "DataSet:to_dense()", "The same data with dense rows.", [](const DataSet& x) { return x.to_dense(); });
  def(lua, type, "DataSet:to_sparse()",
      "The same data with sparse rows (CSR). Kernels and Fourier features work on them without making them dense.",
      [](const DataSet& x) { return x.to_sparse(); });
  type[sol::meta_function::to_string] = [](const DataSet& x) {
    return fmt::format("DataSet {}x{} {}{}, {} rows here", x.n(), x.d(), name(x.dtype()), x.sparse() ? ", sparse" : "",
                       x.local_n());
  };
  refuse_unknown_fields(type);

  def(lua, kbcd, "load(path [, options])",
      "A DataSet from a .npy or idx file, plain or gzipped, or from HDF5; each rank keeps its own rows. An array of one\n"
      "dimension gives n x 1. options: rows (only the first so many), dtype, scale (u8 divided by 255; on by default for\n"
      "images), path (of the dataset in an HDF5 file).",
      [](const std::string& path, sol::optional<sol::table> table) {
        Options options("load", table, {"rows", "dtype", "scale", "path"});
        LoadOptions o;
        if (auto rows = options.get<Int>("rows")) o.rows = *rows;
        if (auto dtype = options.get<DType>("dtype")) o.dtype = *dtype;
        if (auto scale = options.get<bool>("scale")) o.scale = *scale;
        if (auto dataset = options.get<std::string>("path")) o.path = *dataset;
        return load(path, o);
      });
}

}  // namespace kbcd::lua
