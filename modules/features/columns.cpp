#include "modules/features/columns.hpp"

#include <algorithm>

#include "core/column_places.hpp"

namespace kbcd {
namespace {

class ColumnsBlock : public FeatureBlock {
 public:
  explicit ColumnsBlock(const Index& features) : features_({features.begin(), features.end()}) {}
  void apply(View<float> x, View<float> z) const override { pick(x, z); }
  void apply(View<double> x, View<double> z) const override { pick(x, z); }
  void apply(const Csr& x, std::span<const Int> rows, View<float> z) const override { scatter(x, rows, z); }
  void apply(const Csr& x, std::span<const Int> rows, View<double> z) const override { scatter(x, rows, z); }

 private:
  template <class T>
  void pick(View<T> x, View<T> z) const {
    for (Int i = 0; i < z.rows; ++i)
      for (Int j = 0; j < z.cols; ++j) z(i, j) = x(i, features_[j]);
  }
  template <class T>
  void scatter(const Csr& x, std::span<const Int> rows, View<T> z) const {
    const T* values = x.values.view<T>().data;
    for (Int i = 0; i < z.rows; ++i) {
      T* line = z.line(i);
      std::fill_n(line, z.cols, T(0));
      for (Int e = x.starts[rows[i]]; e < x.starts[rows[i] + 1]; ++e)
        if (Int at = features_.find(x.columns[e]); at >= 0) line[at] = values[e];
    }
  }

  ColumnPlaces features_;
};

}  // namespace

std::shared_ptr<FeatureBlock> ColumnsMap::block(const Index& features, Int d, DType) const {
  require(d == p_, "features.columns: X of p = {} columns expected, got {}", p_, d);
  features.require_distinct("features.columns");
  return std::make_shared<ColumnsBlock>(features);
}

}  // namespace kbcd
