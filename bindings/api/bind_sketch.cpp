// The diagonal of a kernel matrix, the sparse sign sketch and products with signs in Lua, for solvers, for the choice
// of centres and for gradients.
#include "bindings/glue/def.hpp"
#include "modules/blocks/kernel_diagonal.hpp"
#include "modules/blocks/sign_products.hpp"
#include "modules/blocks/sparse_sign.hpp"

namespace kbcd::lua {

void bind_sketch(sol::state_view lua, sol::table kbcd) {
  auto type = kbcd.new_usertype<SparseSign>("SparseSignType", sol::no_constructor);
  kbcd["SparseSignType"] = sol::lua_nil;
  type[sol::meta_function::multiplication] = [](sol::this_state L, sol::object a, sol::object b) {
    RunningState here(L);
    if (!a.is<SparseSign>() || !b.is<Matrix>()) fail("cannot multiply {} by {}", describe(L, 1), describe(L, 2));
    return a.as<SparseSign&>().times(b.as<Matrix&>());
  };
  type[sol::meta_function::to_string] = [](const SparseSign& s) {
    return fmt::format("sparse_sign {}x{}, {} nonzeros a column", s.rows(), s.n(), s.nonzeros());
  };
  refuse_unknown_fields(type);

  def(lua, kbcd, "sparse_sign(rows, n [, options])",
      "The sparse sign sketch Phi, rows x n: each column has some entries +-1/sqrt(nonzeros) in random rows. Phi * A, for "
      "this\n"
      "rank's rows of an n x k matrix, is this rank's part of the sum, rows x k (allreduce it); it is the same on any "
      "number of\n"
      "ranks. options: nonzeros = 8 (at most rows, and 1000), seed, stream (numbers independent sketches).",
      [](Int rows, Int n, sol::optional<sol::table> table) {
        Options options("sparse_sign", table, {"nonzeros", "seed", "stream"});
        Int stream = options.get<Int>("stream").value_or(0);
        require(stream >= 0 && stream < (Int{1} << 32), "sparse_sign: stream in 0..2^32-1 expected, got {}", stream);
        return SparseSign(rows, n, options.get<Int>("nonzeros").value_or(std::min<Int>(8, rows)),
                          checked_seed("sparse_sign", options.get<Int>("seed")), static_cast<std::uint32_t>(stream));
      });
  def(lua, kbcd, "kernel_diagonal(X, kernel)", "K(x, x) for each of this rank's rows x of X, a Matrix of one column.",
      [](const DataSet& x, std::shared_ptr<Kernel> kernel) { return kernel_diagonal(x, kernel); });
  def(lua, kbcd, "sign_products(W, a, C, Z)",
      "The m x d matrix of the sums over j of W(j, i) a(j) sign(Z(i, e) - C(j, e)), of this rank's own matrices: W is c x m, "
      "a\n"
      "c x 1, C c x d, Z m x d. The gradients of models with kernels of |x - y|_1 are such sums.",
      [](const Matrix& w, const Matrix& a, const Matrix& c, const Matrix& z) { return sign_products(w, a, c, z); });
}

}  // namespace kbcd::lua
