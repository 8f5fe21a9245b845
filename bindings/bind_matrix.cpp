// Matrix in Lua: construction, access, views, arithmetic and reductions. Methods change in place and return the matrix;
// operators allocate. Decompositions are in bind_linalg.cpp.
#include "bindings/lua.hpp"
#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/matrix.hpp"
#include "core/random.hpp"

namespace kbcd::lua {
namespace {

using Type = sol::usertype<Matrix>;

DType dtype_or(sol::optional<std::string> text, DType otherwise) {
  return text ? parse_dtype(*text) : otherwise;
}

DType wider(const Matrix& a, const Matrix& b) {
  return a.dtype() == DType::f32 && b.dtype() == DType::f32 ? DType::f32 : DType::f64;
}

Matrix from_table(sol::table rows, DType dtype) {
  Int n = static_cast<Int>(rows.size());
  require(n > 0, "Matrix: a table of rows expected, got an empty table");
  sol::object first = rows[1];
  if (first.get_type() == sol::type::number) {  // one row
    Matrix m(1, n, dtype);
    for (Int j = 0; j < n; ++j) {
      sol::optional<double> value = rows[j + 1];
      require(value.has_value(), "Matrix: element {} of the table is not a number", j + 1);
      m.set(0, j, *value);
    }
    return m;
  }
  Matrix m;
  for (Int i = 0; i < n; ++i) {
    sol::optional<sol::table> row = rows[i + 1];
    require(row.has_value(), "Matrix: row {} of the table is not a table of numbers", i + 1);
    Int cols = static_cast<Int>(row->size());
    if (i == 0) m = Matrix(n, cols, dtype);
    require(cols == m.cols(), "Matrix: row {} has {} numbers, row 1 has {}", i + 1, cols, m.cols());
    for (Int j = 0; j < cols; ++j) {
      sol::optional<double> value = (*row)[j + 1];
      require(value.has_value(), "Matrix: element ({}, {}) of the table is not a number", i + 1, j + 1);
      m.set(i, j, *value);
    }
  }
  return m;
}

// Element (i, j) is number j of row i: the same whichever rank or thread makes it.
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
  return m.contiguous(dtype_or(options.get<std::string>("dtype"), DType::f64));
}

Matrix concatenate(const char* owner, sol::table parts, bool below) {
  std::vector<Matrix> matrices;
  for (std::size_t i = 1; i <= parts.size(); ++i) {
    sol::object part = parts[i];
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

[[noreturn]] void cannot(const char* verb, const char* joint, lua_State* L) {
  fail("cannot {} {} {} {}", verb, describe(L, 1), joint, describe(L, 2));
}

bool is_number(const sol::object& o) {
  return o.get_type() == sol::type::number;
}

Matrix plus(sol::this_state L, sol::object a, sol::object b, double sign) {
  if (a.is<Matrix>() && b.is<Matrix>()) {
    auto &x = a.as<Matrix&>(), &y = b.as<Matrix&>();
    require_same_shape(sign > 0 ? "+" : "-", x, y);
    Matrix sum = x.to(wider(x, y));
    add(sum, sign, y);
    return sum;
  }
  if (!(a.is<Matrix>() && is_number(b)) && !(is_number(a) && b.is<Matrix>()))
    cannot(sign > 0 ? "add" : "subtract", sign > 0 ? "and" : "minus", L);
  bool left = a.is<Matrix>();
  Matrix sum = (left ? a : b).as<Matrix&>().clone();
  if (!left && sign < 0) scale(sum, -1);
  shift(sum, (left ? sign : 1) * (left ? b : a).as<double>());
  return sum;
}

void bind_construction(sol::state_view lua, Type& type) {
  def(lua, type, "Matrix.new(rows [, dtype])",
      "A Matrix from nested tables, {{1, 2}, {3, 4}}, or from one row, {1, 2}. Matrix{{1, 2}, {3, 4}} is the same.\n"
      "dtype is \"f64\" (unless given) or \"f32\".",
      [](sol::table rows, sol::optional<std::string> dtype) { return from_table(rows, dtype_or(dtype, DType::f64)); });
  def(lua, type, "Matrix.zeros(rows, cols [, dtype])", "All zero.", [](Int r, Int c, sol::optional<std::string> t) {
    return Matrix::zeros(r, c, dtype_or(t, DType::f64));
  });
  def(lua, type, "Matrix.full(rows, cols, value [, dtype])", "Every element `value`.",
      [](Int r, Int c, double value, sol::optional<std::string> t) {
        Matrix m(r, c, dtype_or(t, DType::f64));
        fill(m, value);
        return m;
      });
  def(lua, type, "Matrix.ones(rows, cols [, dtype])", "All one.", [](Int r, Int c, sol::optional<std::string> t) {
    Matrix m(r, c, dtype_or(t, DType::f64));
    fill(m, 1);
    return m;
  });
  def(lua, type, "Matrix.eye(n [, dtype])", "The identity.", [](Int n, sol::optional<std::string> t) {
    Matrix m = Matrix::zeros(n, n, dtype_or(t, DType::f64));
    add_diagonal(m, 1);
    return m;
  });
  def(lua, type, "Matrix.randn(rows, cols [, options])",
      "Standard normal numbers. options: seed, dtype, first_row (row i is number first_row + i - 1 of an endless\n"
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
  type["nrows"] = sol::readonly_property(&Matrix::rows);
  type["ncols"] = sol::readonly_property(&Matrix::cols);
  type["dtype"] = sol::readonly_property([](const Matrix& m) { return name(m.dtype()); });
  document(lua, "Matrix.nrows", "A.nrows, A.ncols, A.dtype", "The shape, and \"f32\" or \"f64\".");
  def(lua, type, "Matrix:get(i, j)", "Element (i, j), counted from 1; A(i, j) is the same.",
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
      [](const Matrix& m, Int r0, Int r1, Int c0, Int c1) { return m.block(r0 - 1, r1 - r0 + 1, c0 - 1, c1 - c0 + 1); });
  def(lua, type, "Matrix:t()", "The transpose, as a view.", [](const Matrix& m) { return m.t(); });
  def(lua, type, "Matrix:clone()", "A copy.", [](const Matrix& m) { return m.clone(); });
  def(lua, type, "Matrix:to(dtype)", "A copy as \"f32\" or \"f64\".",
      [](const Matrix& m, const std::string& dtype) { return m.to(parse_dtype(dtype)); });
  def(lua, type, "Matrix:copy(B)", "Takes the elements of B, converted.", [](Matrix& m, const Matrix& b) {
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
  def(lua, type, "Matrix:address()", "Where the first number is (light userdata), and the numbers from row to row.",
      [](const Matrix& m) {
        require(!m.transposed(), "Matrix:address: a transposed view has no rows in memory; clone it first");
        void* at = m.dtype() == DType::f32 ? static_cast<void*>(m.view<float>().data) : m.view<double>().data;
        return std::make_tuple(sol::lightuserdata_value(at), m.ld());
      });
  def(lua, type, "Matrix:release()", "Gives the memory back now; this matrix and its views become unusable.",
      [](Matrix& m) { m.release(); });
  type[sol::meta_function::to_string] = &to_string;
}

template <class F>
void def_in_place(lua_State* L, Type& type, const char* heading, const char* text, F f) {
  def(L, type, heading, text, [f](Matrix& m) {
    f(m);
    return m;
  });
}

void bind_arithmetic(sol::state_view lua, Type& type) {
  type[sol::meta_function::addition] = [](sol::this_state L, sol::object a, sol::object b) { return plus(L, a, b, 1); };
  type[sol::meta_function::subtraction] = [](sol::this_state L, sol::object a, sol::object b) { return plus(L, a, b, -1); };
  type[sol::meta_function::division] = [](sol::this_state L, sol::object a, sol::object b) {
    if (!a.is<Matrix>() || !is_number(b)) cannot("divide", "by", L);
    Matrix m = a.as<Matrix&>().clone();
    scale(m, 1 / b.as<double>());
    return m;
  };
  type[sol::meta_function::power_of] = [](sol::this_state L, sol::object a, sol::object b) {
    if (!a.is<Matrix>() || !is_number(b)) cannot("raise", "to", L);
    Matrix m = a.as<Matrix&>().clone();
    power(m, b.as<double>());
    return m;
  };
  type[sol::meta_function::unary_minus] = [](const Matrix& a) {
    Matrix m = a.clone();
    scale(m, -1);
    return m;
  };
  type[sol::meta_function::equal_to] = [](const Matrix& a, const Matrix& b) {
    return a.same_shape(b) && largest_difference(a, b) == 0;
  };
  document(lua, "Matrix operators", "A + B, A - B, A * B, A * x, A / x, A ^ x, -A, A == B",
           "Operators allocate their result. * is the product of matrices; ^ is elementwise; == is exact.");
  def(lua, type, "Matrix:equals(B [, tolerance])", "No element differs by more than the tolerance (1e-12).",
      [](const Matrix& a, const Matrix& b, sol::optional<double> tolerance) {
        return a.same_shape(b) && largest_difference(a, b) <= tolerance.value_or(1e-12);
      });
  def(lua, type, "Matrix:add(B [, factor])",
      "A = A + factor B, in place. B is a Matrix of the same shape, one row or one column of it, or a number.",
      [](Matrix& a, sol::object b, sol::optional<double> factor, sol::this_state L) {
        if (is_number(b))
          shift(a, b.as<double>() * factor.value_or(1));
        else if (b.is<Matrix>())
          add(a, factor.value_or(1), b.as<Matrix&>());
        else
          fail("Matrix:add: argument 1 (B): Matrix or number expected, got {}", describe(L, 2));
        return a;
      });
  def(lua, type, "Matrix:sub(B)", "A = A - B, in place; B as for add.", [](Matrix& a, sol::object b, sol::this_state L) {
    if (is_number(b))
      shift(a, -b.as<double>());
    else if (b.is<Matrix>())
      add(a, -1, b.as<Matrix&>());
    else
      fail("Matrix:sub: argument 1 (B): Matrix or number expected, got {}", describe(L, 2));
    return a;
  });
  def(lua, type, "Matrix:cmul(B)", "Multiplies elementwise by B (or by one row or column for all), in place.",
      [](Matrix& a, const Matrix& b) { return multiply(a, b), a; });
  def(lua, type, "Matrix:cdiv(B)", "Divides elementwise by B (or by one row or column for all), in place.",
      [](Matrix& a, const Matrix& b) { return divide(a, b), a; });
  def(lua, type, "Matrix:scale(factor)", "A = factor A, in place.", [](Matrix& a, double f) { return scale(a, f), a; });
  def(lua, type, "Matrix:fill(value)", "Every element becomes `value`.", [](Matrix& a, double v) { return fill(a, v), a; });
  def(lua, type, "Matrix:add_diagonal(term)", "A = A + term I, in place.",
      [](Matrix& a, double term) { return add_diagonal(a, term), a; });
  def(lua, type, "Matrix:clamp(low, high)", "Elements below low become low, above high become high; in place.",
      [](Matrix& a, double low, double high) { return clamp(a, low, high), a; });
  def(lua, type, "Matrix:pow(exponent)", "Each element to that power, in place.",
      [](Matrix& a, double exponent) { return power(a, exponent), a; });
  def(lua, type, "Matrix:apply(f)", "Each element x becomes f(x), row by row, in place. Slow: one Lua call an element.",
      [](Matrix& a, sol::protected_function f) {
        apply(a, [&](double x) -> double {
          auto result = f(x);
          if (!result.valid()) throw Error(sol::error(result).what());
          sol::optional<double> y = result.get<sol::optional<double>>();
          require(y.has_value(), "Matrix:apply: the function must return a number");
          return *y;
        });
        return a;
      });
  constexpr std::pair<const char*, Unary> maths[] = {
      {"Matrix:exp()", Unary::exp}, {"Matrix:log()", Unary::log},       {"Matrix:cos()", Unary::cos},
      {"Matrix:sin()", Unary::sin}, {"Matrix:sqrt()", Unary::sqrt},     {"Matrix:abs()", Unary::abs},
      {"Matrix:tanh()", Unary::tanh}, {"Matrix:square()", Unary::square}};
  for (auto [heading, f] : maths)
    def_in_place(lua, type, heading, "Elementwise, in place.", [f = f](Matrix& m) { apply(m, f); });
}

void bind_reductions(sol::state_view lua, Type& type) {
  // Over all elements, or along dimension 1 (down the rows) or 2 (along the columns).
  auto along = [](const char* owner, const Matrix& m, Int dim, Matrix (*by_row)(const Matrix&)) {
    require(dim == 1 || dim == 2, "{}: dimension 1 (a result a column) or 2 (a result a row) expected, got {}", owner, dim);
    return dim == 2 ? by_row(m) : by_row(m.t()).t().clone();
  };
  def(lua, type, "Matrix:sum([dim])", "The sum of all elements; of each column (dim = 1) or each row (dim = 2) as a Matrix.",
      [along](sol::this_state L, const Matrix& m, sol::optional<Int> dim) {
        return dim ? sol::make_object(L, along("Matrix:sum", m, *dim, row_sums)) : sol::make_object(L, sum(m));
      });
  def(lua, type, "Matrix:mean([dim])", "The mean; of each column (dim = 1) or each row (dim = 2) as a Matrix.",
      [along](sol::this_state L, const Matrix& m, sol::optional<Int> dim) {
        require(m.size() > 0, "Matrix:mean: a Matrix with at least one element expected, got {}", m.shape());
        if (!dim) return sol::make_object(L, sum(m) / m.size());
        Matrix sums = along("Matrix:mean", m, *dim, row_sums);
        scale(sums, 1.0 / (*dim == 2 ? m.cols() : m.rows()));
        return sol::make_object(L, sums);
      });
  def(lua, type, "Matrix:max([dim])", "The largest element; of each column (dim = 1) or each row (dim = 2) as a Matrix.",
      [along](sol::this_state L, const Matrix& m, sol::optional<Int> dim) {
        return dim ? sol::make_object(L, along("Matrix:max", m, *dim, row_max)) : sol::make_object(L, maximum(m));
      });
  def(lua, type, "Matrix:min()", "The smallest element.", [](const Matrix& m) { return minimum(m); });
  def(lua, type, "Matrix:argmax([dim])",
      "Where the largest element of each row (dim = 2, the default) or column (dim = 1) is, counted from 1.",
      [along](const Matrix& m, sol::optional<Int> dim) { return along("Matrix:argmax", m, dim.value_or(2), row_argmax); });
  def(lua, type, "Matrix:norm()", "The Frobenius norm.", [](const Matrix& m) { return norm(m); });
  def(lua, type, "Matrix:dot(B)", "The sum of the elementwise products.",
      [](const Matrix& a, const Matrix& b) { return dot(a, b); });
  def(lua, type, "Matrix:trace()", "The sum of the diagonal.", [](const Matrix& m) { return trace(m); });
  def(lua, type, "Matrix:finite()", "Whether no element is NaN or Inf.", [](const Matrix& m) { return all_finite(m); });
}

}  // namespace

void bind_matrix(sol::state_view lua, sol::table kbcd) {
  Type type = kbcd.new_usertype<Matrix>(
      "Matrix", sol::call_constructor,
      sol::factories([](sol::this_state L, sol::variadic_args args) {
        if (args.get_type() != sol::type::table || args.size() > 2)
          fail("Matrix(rows [, dtype]): a table of rows expected, got {}", describe(L, args.stack_index()));
        return from_table(args.get<sol::table>(), dtype_or(args.get<sol::optional<std::string>>(1), DType::f64));
      }));
  bind_construction(lua, type);
  bind_access(lua, type);
  bind_arithmetic(lua, type);
  bind_reductions(lua, type);
  bind_linalg(lua, kbcd);
  refuse_unknown_fields(type);
}

}  // namespace kbcd::lua
