// Matrix in Lua: construction, access and views. Arithmetic is in bind_arithmetic.cpp, decompositions in
// bind_linalg.cpp.
#include "bindings/glue/def.hpp"
#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/matrix.hpp"
#include "core/random.hpp"

namespace kbcd::lua {
namespace {

using Type = sol::usertype<Matrix>;

Matrix from_table(sol::table rows, DType dtype) {
  Int n = static_cast<Int>(rows.size());
  require(n > 0, "Matrix: a table of rows expected, got an empty table");
  auto first = rows.raw_get<sol::object>(1);
  if (first.get_type() == sol::type::number) {  // one row
    Matrix m(1, n, dtype);
    for (Int j = 0; j < n; ++j) {
      auto value = rows.raw_get<sol::optional<double>>(j + 1);
      require(value.has_value(), "Matrix: element {} of the table is not a number", j + 1);
      m.set(0, j, *value);
    }
    return m;
  }
  Matrix m;
  for (Int i = 0; i < n; ++i) {
    auto entry = rows.raw_get<sol::object>(i + 1);
    require(entry.get_type() == sol::type::table, "Matrix: row {} of the table is not a table of numbers", i + 1);
    auto row = entry.as<sol::table>();
    Int cols = static_cast<Int>(row.size());
    if (i == 0) m = Matrix(n, cols, dtype);
    require(cols == m.cols(), "Matrix: row {} has {} numbers, row 1 has {}", i + 1, cols, m.cols());
    for (Int j = 0; j < cols; ++j) {
      auto value = row.raw_get<sol::optional<double>>(j + 1);
      require(value.has_value(), "Matrix: element ({}, {}) of the table is not a number", i + 1, j + 1);
      m.set(i, j, *value);
    }
  }
  return m;
}

// Element (i, j) is number j of row i, whichever rank or thread computes it.
Matrix random_matrix(const char* owner, bool normal, Int rows, Int cols, sol::optional<sol::table> table) {
  Options options(owner, table, {"seed", "dtype", "first_row", "stream"});
  Matrix m(rows, cols, DType::f64);
  Int first = options.get<Int>("first_row").value_or(1) - 1, stream = options.get<Int>("stream").value_or(0);
  require(first >= 0 && stream >= 0 && stream < (Int{1} << 32), "{}: first_row >= 1 and stream >= 0 expected", owner);
  Random random(checked_seed(owner, options.get<Int>("seed")), normal ? Stream::normal : Stream::uniform, stream);
  auto v = m.view<double>();
  parallel_for(rows, rows * cols * 16, [&](Int i) {
    if (normal) return random.normals(first + i, {v.line(i), static_cast<std::size_t>(cols)});
    for (Int j = 0; j < cols; ++j) v(i, j) = random.uniform(first + i, j);
  });
  return m.contiguous(options.get<DType>("dtype").value_or(DType::f64));
}

Matrix concatenate(const char* owner, sol::table parts, bool below) {
  std::vector<Matrix> matrices;
  for (std::size_t i = 1; i <= parts.size(); ++i) {
    auto part = parts.raw_get<sol::object>(i);
    require(part.is<Matrix>(), "{}: element {} of the table is not a Matrix", owner, i);
    matrices.push_back(below ? part.as<Matrix>() : part.as<Matrix>().t());
  }
  require(!matrices.empty(), "{}: at least one Matrix expected", owner);
  Int rows = 0;
  DType dtype = DType::f32;
  for (auto& m : matrices) {
    require(m.cols() == matrices[0].cols(), "{}: the shapes do not fit, got {} and {}", owner,
            (below ? matrices[0] : matrices[0].t()).shape(), (below ? m : m.t()).shape());
    rows += m.rows();
    if (m.dtype() == DType::f64) dtype = DType::f64;
  }
  Matrix all(rows, matrices[0].cols(), dtype);
  rows = 0;
  for (auto& m : matrices) {
    all.row_block(rows, m.rows()).copy_from(m);
    rows += m.rows();
  }
  return below ? all : all.t().clone();
}

std::string to_string(const Matrix& m) {
  constexpr Int corner = 6;
  std::string text = fmt::format("Matrix {} {}", m.shape(), name(m.dtype()));
  if (m.released()) return text + " (released)";
  for (Int i = 0; i < std::min(m.rows(), corner); ++i) {
    text += "\n ";
    for (Int j = 0; j < std::min(m.cols(), corner); ++j) text += fmt::format(" {:>10.5g}", m.get(i, j));
    if (m.cols() > corner) text += "  …";
  }
  if (m.rows() > corner) text += "\n  …";
  return text;
}

// A[i] and A[i] = value: row i, or element i where there is one row or column alone.
Matrix entry_of(const Matrix& m, const sol::object& key) {
  double i = key.as<double>();
  Int count = m.rows() == 1 ? m.cols() : m.rows();
  require(i == std::floor(i) && i >= 1 && i <= static_cast<double>(count),
          "A[i]: a whole number in 1..{} expected for a Matrix {}, got {:g}", count, m.shape(), i);
  Int at = static_cast<Int>(i) - 1;
  return m.rows() == 1 ? m.col_block(at, 1) : m.row_block(at, 1);
}

void bind_entries(Type& type) {
  auto is_entry = [](const sol::object& self, const sol::object& key) {
    return self.is<Matrix>() && key.get_type() == sol::type::number;
  };
  type[sol::meta_function::index] = [is_entry](sol::this_state L, sol::object self, sol::object key) -> sol::object {
    if (!is_entry(self, key)) no_such_field(L, "Matrix", key);
    Matrix entry = entry_of(self.as<const Matrix&>(), key);
    return entry.cols() == 1 ? sol::make_object(L, entry.get(0, 0)) : sol::make_object(L, entry);
  };
  type[sol::meta_function::new_index] = [is_entry](sol::this_state L, sol::object self, sol::object key,
                                                   sol::object value) {
    if (!is_entry(self, key)) cannot_set_field(L, "Matrix", key);
    Matrix entry = entry_of(self.as<const Matrix&>(), key);
    if (value.get_type() == sol::type::number) return fill(entry, value.as<double>());
    if (value.get_type() == sol::type::table) return entry.copy_from(from_table(value, DType::f64));
    require(value.is<Matrix>(), "A[i] = value: a number, a table of numbers or a Matrix {} expected, got {}",
            entry.shape(), describe(L, 3));
    entry.copy_from(value.as<const Matrix&>());
  };
}

void bind_construction(sol::state_view lua, Type& type) {
  TimedAs timed("Matrix copies");
  def(lua, type, "Matrix.zeros(rows, cols [, dtype])", "All zero.",
      [](Int r, Int c, sol::optional<DType> t) { return Matrix::zeros(r, c, t.value_or(DType::f64)); });
  def(lua, type, "Matrix.full(rows, cols, value [, dtype])", "Every element `value`.",
      [](Int r, Int c, double value, sol::optional<DType> t) {
        Matrix m(r, c, t.value_or(DType::f64));
        fill(m, value);
        return m;
      });
  def(lua, type, "Matrix.ones(rows, cols [, dtype])", "All one.", [](Int r, Int c, sol::optional<DType> t) {
    Matrix m(r, c, t.value_or(DType::f64));
    fill(m, 1);
    return m;
  });
  def(lua, type, "Matrix.eye(n [, dtype])", "The identity.", [](Int n, sol::optional<DType> t) {
    Matrix m = Matrix::zeros(n, n, t.value_or(DType::f64));
    add_diagonal(m, 1);
    return m;
  });
  def(lua, type, "Matrix.randn(rows, cols [, options])",
      "Standard normal numbers. options: seed, dtype, first_row (row i is number first_row + i - 1 of an "
      "endless\n"
      "sequence, so that ranks can make their own rows), stream (another sequence of the same seed).",
      [](Int r, Int c, sol::optional<sol::table> o) { return random_matrix("Matrix.randn", true, r, c, o); });
  def(lua, type, "Matrix.rand(rows, cols [, options])", "Uniform numbers in (0, 1); options as for Matrix.randn.",
      [](Int r, Int c, sol::optional<sol::table> o) { return random_matrix("Matrix.rand", false, r, c, o); });
  def(lua, type, "Matrix.vcat(list)", "The matrices of a list, one below the other.",
      [](sol::table list) { return concatenate("Matrix.vcat", list, true); });
  def(lua, type, "Matrix.hcat(list)", "The matrices of a list, side by side.",
      [](sol::table list) { return concatenate("Matrix.hcat", list, false); });
}

void bind_access(sol::state_view lua, Type& type) {
  def_field(type, "nrows", "The number of rows.", &Matrix::rows);
  def_field(type, "ncols", "The number of columns.", &Matrix::cols);
  def_field(type, "dtype", "\"f32\" or \"f64\".", [](const Matrix& m) { return name(m.dtype()); });
  def(lua, type, "Matrix:get(i, j)",
      "Element (i, j), counted from 1; A(i, j) is the same. A[i] is row i, a view, or element i where there is one row or\n"
      "column alone; A[i][j] is element (i, j). All can be set: A[i] = 0, A[i] = {1, 2, 3}, A[i] = B (one row).",
      [](const Matrix& m, Int i, Int j) { return m.get(i - 1, j - 1); });
  def(lua, type, "Matrix:set(i, j, value)", "Sets element (i, j).", [](Matrix& m, Int i, Int j, double value) {
    m.set(i - 1, j - 1, value);
    return m;
  });
  type[sol::meta_function::call] = [](sol::this_state L, sol::variadic_args) {
    static const Signature signature("Matrix:call(i, j)");
    return call_checked([](const Matrix& m, Int i, Int j) { return m.get(i - 1, j - 1); }, signature, L);
  };
  def(lua, type, "Matrix:rows(first [, last])", "A view of rows first..last (of one row when last is not given).",
      [](const Matrix& m, Int first, sol::optional<Int> last) {
        return m.row_block(first - 1, last.value_or(first) - first + 1);
      });
  def(lua, type, "Matrix:cols(first [, last])", "A view of columns first..last (of one when last is not given).",
      [](const Matrix& m, Int first, sol::optional<Int> last) {
        return m.col_block(first - 1, last.value_or(first) - first + 1);
      });
  def(lua, type, "Matrix:block(first_row, last_row, first_col, last_col)", "A view of a rectangle.",
      [](const Matrix& m, Int r0, Int r1, Int c0, Int c1) {
        return m.block(r0 - 1, r1 - r0 + 1, c0 - 1, c1 - c0 + 1);
      });
  def(lua, type, "Matrix:t()", "The transpose, as a view.", [](const Matrix& m) { return m.t(); });
  TimedAs timed("Matrix copies");
  def(lua, type, "Matrix:clone()", "A copy.", [](const Matrix& m) { return m.clone(); });
  def(lua, type, "Matrix:to(dtype)", "A copy as \"f32\" or \"f64\".",
      [](const Matrix& m, DType dtype) { return m.to(dtype); });
  def(lua, type, "Matrix:copy(B)", "Copies the elements of B, converted to the dtype of this matrix.",
      [](Matrix& m, const Matrix& b) {
        m.copy_from(b);
        return m;
      });
  def(lua, type, "Matrix:totable()", "Nested tables of numbers.", [](sol::this_state L, const Matrix& m) {
    sol::table rows(L, sol::create);
    for (Int i = 0; i < m.rows(); ++i) {
      sol::table row(L, sol::create);
      for (Int j = 0; j < m.cols(); ++j) row[j + 1] = m.get(i, j);
      rows[i + 1] = row;
    }
    return rows;
  });
  // scripts/kbcd/init.lua makes an FFI pointer of the address.
  def(lua, type, "Matrix:ptr()",
      "A pointer to the elements for LuaJIT's FFI (float* or double*), and the stride from row to row in elements:\n"
      "element (i, j), counted from 0, is p[i * stride + j]. The matrix must outlive the pointer.",
      [](const Matrix& m) {
        require(!m.transposed(), "Matrix:ptr: a transposed view has no rows in memory; clone it first");
        void* at = m.dtype() == DType::f32 ? static_cast<void*>(m.view<float>().data) : m.view<double>().data;
        return std::make_tuple(sol::lightuserdata_value(at), m.ld());
      });
  def(lua, type, "Matrix:release()", "Frees the memory now; this matrix and its views become unusable.",
      [](Matrix& m) { m.release(); });
  type[sol::meta_function::to_string] = &to_string;
  type[sol::meta_function::length] = [](const Matrix& m) -> double {
    fail("#A: a Matrix has A.nrows and A.ncols, here {} and {}", m.rows(), m.cols());
  };
}

}  // namespace

void bind_matrix(sol::state_view lua, sol::table kbcd) {
  Type type = kbcd.new_usertype<Matrix>("Matrix", sol::no_constructor);
  def_call(lua, kbcd["Matrix"], "Matrix(rows [, dtype])",
           "A Matrix from nested tables, {{1, 2}, {3, 4}}, or from one row, {1, 2}. dtype: \"f64\" (unless "
           "given) or \"f32\".",
           [](sol::table rows, sol::optional<DType> dtype) { return from_table(rows, dtype.value_or(DType::f64)); });
  bind_construction(lua, type);
  bind_access(lua, type);
  bind_arithmetic(lua, kbcd);
  bind_linalg(lua, kbcd);
  refuse_unknown_fields(type);
  bind_entries(type);
}

}  // namespace kbcd::lua
