// DataSet:find in Lua.
#include "bindings/glue/def.hpp"
#include "core/timers.hpp"
#include "modules/rows/find_rows.hpp"

namespace kbcd::lua {

void bind_rows(sol::state_view lua, sol::table kbcd) {
  sol::usertype<DataSet> type = kbcd["DataSet"];
  def(lua, type, "DataSet:find(Z)",
      "For each row of the DataSet Z, the number of the first equal row of this one, or 0: a Z.n x 1 Matrix on every "
      "rank.\n"
      "Both of one dtype, dense or sparse. Rows are compared by 128-bit checksums. All ranks call it.",
      [](const DataSet& x, const DataSet& z) {
        Timer timer("find rows");
        auto rows = find_rows(x, z);
        Matrix numbers(z.n(), 1, DType::f64);
        for (Int i = 0; i < z.n(); ++i) numbers.set(i, 0, static_cast<double>(rows[i] + 1));
        return numbers;
      });
}

}  // namespace kbcd::lua
