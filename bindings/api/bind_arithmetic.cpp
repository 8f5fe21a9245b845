// Matrix in Lua: operators, which allocate; elementwise methods, which change in place and return the matrix;
// reductions.
#include "bindings/glue/def.hpp"
#include "core/elementwise.hpp"
#include "core/matrix.hpp"

namespace kbcd::lua {
namespace {

using Type = sol::usertype<Matrix>;

[[noreturn]] void cannot(const char* verb, const char* joint, lua_State* L) {
  fail("cannot {} {} {} {}", verb, describe(L, 1), joint, describe(L, 2));
}

bool is_number(const sol::object& o) {
  return o.get_type() == sol::type::number;
}

timers::Entry& elementwise() {
  static auto& entry = timers::entry("Matrix elementwise");
  return entry;
}

Matrix plus(sol::this_state L, sol::object a, sol::object b, double sign) {
  RunningState here(L, &elementwise());
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

template <class F>
void def_in_place(lua_State* L, Type& type, const char* heading, const char* text, F f) {
  def(L, type, heading, text, [f](Matrix& m) {
    f(m);
    return m;
  });
}

void bind_operators(sol::state_view lua, Type& type) {
  TimedAs timed("Matrix elementwise");
  type[sol::meta_function::addition] = [](sol::this_state L, sol::object a, sol::object b) { return plus(L, a, b, 1); };
  type[sol::meta_function::subtraction] = [](sol::this_state L, sol::object a, sol::object b) {
    return plus(L, a, b, -1);
  };
  type[sol::meta_function::division] = [](sol::this_state L, sol::object a, sol::object b) {
    Timer timer(elementwise());
    if (!(a.is<Matrix>() && is_number(b)) && !(is_number(a) && b.is<Matrix>())) cannot("divide", "by", L);
    Matrix m = (a.is<Matrix>() ? a : b).as<Matrix&>().clone();
    if (b.is<Matrix>()) power(m, -1);
    scale(m, b.is<Matrix>() ? a.as<double>() : 1 / b.as<double>());
    return m;
  };
  type[sol::meta_function::power_of] = [](sol::this_state L, sol::object a, sol::object b) {
    Timer timer(elementwise());
    if (!a.is<Matrix>() || !is_number(b)) cannot("raise", "to", L);
    Matrix m = a.as<Matrix&>().clone();
    power(m, b.as<double>());
    return m;
  };
  type[sol::meta_function::unary_minus] = [](const Matrix& a) {
    Timer timer(elementwise());
    Matrix m = a.clone();
    scale(m, -1);
    return m;
  };
  type[sol::meta_function::equal_to] = [](const Matrix& a, const Matrix& b) {
    Timer timer(elementwise());
    return a.same_shape(b) && largest_difference(a, b) == 0;
  };
  document(
      lua, "Matrix operators", "A + B, A - B, A * B, A + x, x - A, A * x, A / x, x / A, A ^ x, -A, A == B",
      "Operators allocate their result; x is a number. * is the product of matrices; ^ and x / A are elementwise; == is exact.");
  def(lua, type, "Matrix:equals(B [, tolerance])",
      "Whether no element differs by more than the tolerance (1e-12 unless given).",
      [](const Matrix& a, const Matrix& b, sol::optional<double> tolerance) {
        return a.same_shape(b) && largest_difference(a, b) <= tolerance.value_or(1e-12);
      });
  def(lua, type, "Matrix:add(B [, factor])",
      "A = A + factor B, in place. B is a Matrix of the same shape, one row or one column of it, or a "
      "number.",
      [](Matrix& a, sol::object b, sol::optional<double> factor, sol::this_state L) {
        if (is_number(b))
          shift(a, b.as<double>() * factor.value_or(1));
        else if (b.is<Matrix>())
          add(a, factor.value_or(1), b.as<Matrix&>());
        else
          fail("Matrix:add: argument 1 (B): Matrix or number expected, got {}", describe(L, 2));
        return a;
      });
  def(lua, type, "Matrix:sub(B)", "A = A - B, in place; B as for add.",
      [](Matrix& a, sol::object b, sol::this_state L) {
        if (is_number(b))
          shift(a, -b.as<double>());
        else if (b.is<Matrix>())
          add(a, -1, b.as<Matrix&>(), "sub");
        else
          fail("Matrix:sub: argument 1 (B): Matrix or number expected, got {}", describe(L, 2));
        return a;
      });
  def(lua, type, "Matrix:cmul(B)", "Multiplies elementwise by B (or by one row or column for all), in place.",
      [](Matrix& a, const Matrix& b) { return multiply(a, b), a; });
  def(lua, type, "Matrix:cdiv(B)", "Divides elementwise by B (or by one row or column for all), in place.",
      [](Matrix& a, const Matrix& b) { return divide(a, b), a; });
  def(lua, type, "Matrix:scale(factor)", "A = factor A, in place.", [](Matrix& a, double f) { return scale(a, f), a; });
  def(lua, type, "Matrix:fill(value)", "Sets every element to `value`.",
      [](Matrix& a, double v) { return fill(a, v), a; });
  def(lua, type, "Matrix:add_diagonal(v)",
      "A = A + v I for a number v, A + diag(v) for an n x 1 or 1 x n Matrix; in place.",
      [](Matrix& a, sol::object v, sol::this_state L) {
        if (is_number(v))
          add_diagonal(a, v.as<double>());
        else if (v.is<Matrix>())
          add_diagonal(a, v.as<Matrix&>());
        else
          fail("Matrix:add_diagonal: argument 1 (v): Matrix or number expected, got {}", describe(L, 2));
        return a;
      });
  def(lua, type, "Matrix:clamp(low, high)", "Elements below low become low, above high become high; in place.",
      [](Matrix& a, double low, double high) { return clamp(a, low, high), a; });
  def(lua, type, "Matrix:pow(exponent)", "Each element to that power, in place.",
      [](Matrix& a, double exponent) { return power(a, exponent), a; });
  def(lua, type, "Matrix:apply(f)", "Each element x becomes f(x), row by row, in place. Slow: one Lua call an element.",
      [](Matrix& a, sol::protected_function f) {
        apply(a, [&](double x) { return result_of<double>("Matrix:apply: the function", f(x)); });
        return a;
      });
  constexpr std::pair<const char*, Unary> maths[] = {
      {"Matrix:exp()", Unary::exp},   {"Matrix:log()", Unary::log},       {"Matrix:cos()", Unary::cos},
      {"Matrix:sin()", Unary::sin},   {"Matrix:sqrt()", Unary::sqrt},     {"Matrix:abs()", Unary::abs},
      {"Matrix:tanh()", Unary::tanh}, {"Matrix:square()", Unary::square}, {"Matrix:floor()", Unary::floor},
      {"Matrix:sign()", Unary::sign}};
  for (auto [heading, f] : maths)
    def_in_place(lua, type, heading, "Elementwise, in place.", [f = f](Matrix& m) { apply(m, f); });
}

void bind_reductions(sol::state_view lua, Type& type) {
  TimedAs timed("Matrix sums");
  // Over all elements, or along dimension 1 (down the rows) or 2 (along the columns).
  auto along = [](const char* owner, const Matrix& m, Int dim, Matrix (*by_row)(const Matrix&)) {
    require(dim == 1 || dim == 2, "{}: dimension 1 (a result a column) or 2 (a result a row) expected, got {}", owner,
            dim);
    return dim == 2 ? by_row(m) : by_row(m.t()).t().clone();
  };
  def(lua, type, "Matrix:sum([dim])",
      "The sum of all elements; of each column (dim = 1) or each row (dim = 2) as a Matrix.",
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
  def(lua, type, "Matrix:max([dim])",
      "The largest element; of each column (dim = 1) or each row (dim = 2) as a Matrix.",
      [along](sol::this_state L, const Matrix& m, sol::optional<Int> dim) {
        return dim ? sol::make_object(L, along("Matrix:max", m, *dim, row_max)) : sol::make_object(L, maximum(m));
      });
  def(lua, type, "Matrix:min()", "The smallest element.", [](const Matrix& m) { return minimum(m); });
  def(lua, type, "Matrix:argmax([dim])",
      "The position of the largest element of each row (dim = 2, the default) or column (dim = 1), counted from 1.",
      [along](const Matrix& m, sol::optional<Int> dim) {
        return along("Matrix:argmax", m, dim.value_or(2), row_argmax);
      });
  def(lua, type, "Matrix:norm()", "The Frobenius norm.", [](const Matrix& m) { return norm(m); });
  def(lua, type, "Matrix:dot(B)", "The sum of the elementwise products.",
      [](const Matrix& a, const Matrix& b) { return dot(a, b); });
  def(lua, type, "Matrix:dots(B)", "The dot product of each column of A with that of B, as a 1 x ncols Matrix.",
      [](const Matrix& a, const Matrix& b) { return col_dots(a, b); });
  def(lua, type, "Matrix:trace()", "The sum of the diagonal.", [](const Matrix& m) { return trace(m); });
  def(lua, type, "Matrix:finite()", "Whether no element is NaN or Inf.", [](const Matrix& m) { return all_finite(m); });
}

}  // namespace

void bind_arithmetic(sol::state_view lua, sol::table kbcd) {
  Type type = kbcd["Matrix"];
  bind_operators(lua, type);
  bind_reductions(lua, type);
}

}  // namespace kbcd::lua
