// Products, decompositions and triangular solves of Matrix in Lua. `*` is in bind_blocks.cpp, since it also multiplies
// blocks and selectors.
#include "bindings/glue/def.hpp"
#include "core/blas.hpp"
#include "core/elementwise.hpp"
#include "core/index.hpp"
#include "modules/solve/factor.hpp"

namespace kbcd::lua {

void bind_linalg(sol::state_view lua, sol::table kbcd) {
  sol::usertype<Matrix> type = kbcd["Matrix"];
  {
    TimedAs timed("Matrix *");
    def(lua, type, "Matrix:gram()", "A' A, with half the work of the product A' * A.",
        [](const Matrix& a) { return blas::gram(a); });
  }
  {
    TimedAs timed("Matrix decompositions");
    def(lua, type, "Matrix:chol()",
        "The lower triangular L with L L' = A, in f64. For solving, chol(A) keeps the factor.",
        [](const Matrix& a) { return Factor(a, false, "Matrix:chol").lower(); });
    def(lua, type, "Matrix:trsolve(B [, options])",
        "X with A X = B for a triangular A, in f64. options: lower (true unless given), transpose (solves A' X "
        "= B).",
        [](const Matrix& a, const Matrix& b, sol::optional<sol::table> table) {
          Options options("Matrix:trsolve", table, {"lower", "transpose"});
          require(a.rows() == a.cols() && a.rows() == b.rows(), "Matrix:trsolve: cannot solve {} against {}", a.shape(),
                  b.shape());
          bool lower = options.get<bool>("lower").value_or(true),
               transpose = options.get<bool>("transpose").value_or(false);
          for (Int i = 0; i < a.rows(); ++i)
            require(a.get(i, i) != 0, "Matrix:trsolve: the diagonal has a 0 in row {}", i + 1);
          Matrix x = b.to(DType::f64);
          blas::triangular_solve(a.contiguous(DType::f64).view<double>(), lower, transpose, x.view<double>());
          return x;
        });
    def(lua, type, "Matrix:eig([options])",
        "values, vectors of a symmetric matrix (its upper triangle is read): values n x 1, ascending; a vector "
        "a column.\n"
        "options: top (q: only the q largest, values q x 1 descending and vectors n x q).",
        [](const Matrix& a, sol::optional<sol::table> table) {
          Options options("Matrix:eig", table, {"top"});
          auto top = options.get<Int>("top");
          auto e = top ? blas::largest_eigen(a, *top) : blas::symmetric_eigen(a);
          return std::make_tuple(e.values, e.vectors);
        });
    def(lua, type, "Matrix:qr()",
        "Q, R with A = Q R: Q with orthonormal columns, R upper triangular, its diagonal >= 0.", [](const Matrix& a) {
          auto d = blas::qr(a);
          return std::make_tuple(d.q, d.r);
        });
    def(lua, type, "Matrix:svd()", "U, s, V with A = U diag(s) V': thin, s a column, descending.", [](const Matrix& a) {
      auto d = blas::svd(a);
      return std::make_tuple(d.u, d.s, d.v);
    });
  }
  TimedAs timed("Matrix rows");
  def(lua, type, "Matrix:take(I)", "A copy of rows I.", [](const Matrix& a, const Index& rows) {
    rows.require_within("Matrix:take", a.rows());
    Matrix out(rows.size(), a.cols(), a.dtype());
    dispatch(a.dtype(), [&]<class T>() {
      auto from = a.view<T>(), to = out.view<T>();
      for (Int i = 0; i < rows.size(); ++i)
        for (Int j = 0; j < a.cols(); ++j) to(i, j) = from(rows[i], j);
    });
    return out;
  });
  def(lua, type, "Matrix:add_rows(I, B)", "Adds row i of B to row I[i], in place.",
      [](Matrix& a, const Index& rows, const Matrix& b) {
        rows.require_within("Matrix:add_rows", a.rows());
        require(b.rows() == rows.size() && b.cols() == a.cols(), "Matrix:add_rows: {}x{} expected, got {}", rows.size(),
                a.cols(), b.shape());
        Matrix from = b.contiguous(a.dtype());
        if (a.shares(from)) from = from.clone();
        dispatch(a.dtype(), [&]<class T>() {
          auto to = a.view<T>(), terms = from.view<T>();
          for (Int i = 0; i < rows.size(); ++i)
            for (Int j = 0; j < a.cols(); ++j) to(rows[i], j) += terms(i, j);
        });
        return a;
      });
}

}  // namespace kbcd::lua
