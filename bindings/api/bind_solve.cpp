// local_solve and reusable Cholesky factors in Lua.
#include <cmath>
#include <cstdio>

#include "bindings/glue/def.hpp"
#include "core/comm.hpp"
#include "core/elementwise.hpp"
#include "modules/solve/factor.hpp"
#include "modules/solve/pivots.hpp"

namespace kbcd::lua {

void bind_solve(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<Factor>("Factor", sol::no_constructor);
  def_field(type, "n", "The size of H.", &Factor::size);
  def_field(type, "jitter", "The number that was added to the diagonal of H.", &Factor::jitter);
  def_field(type, "lower", "L, a Matrix.", [](const Factor& f) { return f.lower(); });
  def(lua, type, "Factor:solve(B)", "H^-1 B, in f64.", [](const Factor& f, const Matrix& b) { return f.solve(b); });
  def(lua, type, "Factor:times(B)", "H B, in f64.", [](const Factor& f, const Matrix& b) { return f.times(b); });
  def(lua, type, "Factor:release()", "Frees the memory of L at once.", [](Factor& f) { f.release(); });
  type[sol::meta_function::to_string] = [](const Factor& f) {
    return fmt::format("Factor {}x{}{}", f.size(), f.size(),
                       f.jitter() > 0 ? fmt::format(", jitter {:.3g}", f.jitter()) : "");
  };
  refuse_unknown_fields(type);

  def(lua, kbcd, "chol(H [, options])",
      "The Cholesky factor of a positive definite H, in f64, to solve with more than once: "
      "chol(H):solve(B).\n"
      "options: jitter (true: add a growing multiple of I until it works; F.jitter is that multiple).",
      [](const Matrix& h, sol::optional<sol::table> table) {
        Options options("chol", table, {"jitter"});
        return factor_all({h}, options.get<bool>("jitter").value_or(false), {"chol"})[0];
      });
  def(lua, kbcd, "chol_all(list [, options])",
      "The Cholesky factors of a list of matrices, as a list, computed in parallel on all threads. options as for chol, and\n"
      "overwrite (true: the matrices are destroyed, which saves copies of them), names (of the matrices, for messages) and ridges\n"
      "(a number for each matrix A: the factors are those of A + r I. That of an f32 matrix is in f32 where f32 is enough to\n"
      "refine solutions to those in f64; it refers to A, so leave A as it is).",
      [](sol::this_state L, sol::table list, sol::optional<sol::table> table) {
        Options options("chol_all", table, {"jitter", "overwrite", "names", "ridges"});
        auto given = options.get<sol::table>("names"), ridge_list = options.get<sol::table>("ridges");
        bool overwrite = options.get<bool>("overwrite").value_or(false);
        std::vector<Matrix> matrices;
        std::vector<std::string> names;
        std::vector<double> ridges;
        for (std::size_t i = 1; i <= list.size(); ++i) {
          auto entry = list.raw_get<sol::object>(i);
          require(entry.is<Matrix>(), "chol_all: element {} of the list is not a Matrix", i);
          matrices.push_back(entry.as<Matrix>());
          names.push_back(given ? given->raw_get<sol::optional<std::string>>(i).value_or("chol_all") : "chol_all");
          if (!ridge_list) continue;
          auto ridge = ridge_list->raw_get<sol::optional<double>>(i);
          require(ridge && std::isfinite(*ridge) && *ridge >= 0,
                  "chol_all: option ridges: a number >= 0 for each of the {} matrices expected", list.size());
          ridges.push_back(*ridge);
        }
        sol::table factors(L, sol::create);
        for (auto& factor : factor_all(matrices, options.get<bool>("jitter").value_or(false), names, overwrite, ridges))
          factors.add(factor);
        return factors;
      });
  def(lua, kbcd, "local_solve(H, B [, options])",
      "H^-1 B by Cholesky in f64, on this rank. options as for chol; when jitter was added, a line on stderr "
      "says how much.",
      [](const Matrix& h, const Matrix& b, sol::optional<sol::table> table) {
        Options options("local_solve", table, {"jitter"});
        require(h.rows() == b.rows(), "local_solve: H and B must have the same number of rows, got {} and {}",
                h.shape(), b.shape());
        require(all_finite(b), "local_solve: B, {}, has NaN or Inf in it", b.shape());
        Factor factor = factor_all({h}, options.get<bool>("jitter").value_or(false), {"local_solve"})[0];
        if (factor.jitter() > 0 && comm::rank() == 0)
          fmt::print(stderr, "local_solve: {} matrix is not positive definite; added {:.3g} to its diagonal\n",
                     h.shape(), factor.jitter());
        return factor.solve(b);
      });

  sol::table pivots = lua.create_table();  // for centers.rpcholesky alone
  kbcd["pivots"] = pivots;
  pivots["draw"] = [](const Matrix& weights, const Matrix& u) { return draw_pivots(weights, u); };
  pivots["accept"] = [](const Matrix& h, const Matrix& d, const Matrix& u) { return accept_pivots(h, d, u); };
}

}  // namespace kbcd::lua
