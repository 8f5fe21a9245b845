// PanelSource: computes any rows of a block of columns, panel by panel, on any thread.
//
// With scales r of the rows and c of the columns, the block is diag(r) B diag(c), and the square of a kernel's centres
// diag(c) K(C, C) diag(c).
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/tiles.hpp"
#include "modules/data/dataset.hpp"
#include "modules/features/feature_map.hpp"
#include "modules/kernels/kernel.hpp"

namespace kbcd {

// The length or squared length of a row; an Error if it is not finite.
template <class T>
T require_length(T length, DType type = dtype_of<T>) {
  require(std::isfinite(length), "KernelBlock: the squared length of a row is beyond {}; scale the data", name(type));
  return length;
}

class PanelSource {
 public:
  // The block's rows are this rank's rows of X, or those of them that are listed in `rows`.
  PanelSource(DataSet x, std::optional<Index> rows);
  virtual ~PanelSource() = default;

  virtual const char* name() const = 0;     // the primitive, for timers
  virtual const char* counter() const = 0;  // what its entries are counted as
  virtual Int cols() const = 0;
  virtual bool main_thread_only() const = 0;

  Int rows() const { return selected_ ? selected_->size() : x_.local_n(); }
  DType dtype() const { return x_.dtype(); }
  // r: one for each of this rank's rows of X (of which the block takes its own); c: one for each column. 1 if empty.
  void set_scales(const std::optional<Matrix>& rows, const std::optional<Matrix>& columns);
  bool has_all_rows() const { return !selected_; }
  const DataSet& data() const { return x_; }

  // Products with k columns that are cheaper without the block's entries, where a source has such: B d and Bᵀa.
  virtual bool factors(Int) const { return false; }
  Matrix times(const Matrix& d) const;
  Matrix t_times(const Matrix& a) const;

  // K(c, c') of a kernel's centres, as a source of its own whose rows are all this rank's; nothing of other sources.
  std::unique_ptr<PanelSource> square() const;

  // Rows [first, first + out.rows) of the block.
  template <class T>
  void fill(Int first, View<T> out) const;
  // Any rows of this rank's share of X, by local position.
  template <class T>
  void fill_rows(std::span<const Int> local_rows, View<T> out) const;

 protected:
  using Rows = std::span<const Int>;  // local positions
  virtual void compute(Rows rows, View<float> out) const = 0;
  virtual void compute(Rows rows, View<double> out) const = 0;
  virtual std::unique_ptr<PanelSource> unscaled_square() const { return nullptr; }
  virtual Matrix unscaled_times(const Matrix&) const { return {}; }
  virtual Matrix unscaled_t_times(const Matrix&) const { return {}; }
  // Those rows of dense data, without a copy where they lie one after the other; of bytes, the numbers they stand for.
  template <class T>
  View<T> dense_rows(Rows rows) const;
  Int local_row(Int i) const { return selected_ ? (*selected_)[i] : i; }  // where row i of the block is in X

 private:
  DataSet x_;
  std::optional<Index> selected_;                   // local positions
  std::optional<Matrix> row_scale_, column_scale_;  // local_n x 1 and cols x 1, of the block's type
};

// K(x, c) for the rows c of `centers`.
class KernelPanels : public PanelSource {
 public:
  KernelPanels(DataSet x, std::optional<Index> rows, std::shared_ptr<Kernel> kernel, Matrix centers);
  const char* name() const override { return "KernelBlock"; }
  const char* counter() const override { return "kernel entries"; }
  Int cols() const override { return centers_.rows(); }
  bool main_thread_only() const override { return kernel_->main_thread_only(); }

 protected:
  std::unique_ptr<PanelSource> unscaled_square() const override;
  void compute(Rows rows, View<float> out) const override { panel(rows, out); }
  void compute(Rows rows, View<double> out) const override { panel(rows, out); }

 private:
  template <class T>
  void panel(Rows rows, View<T> out) const;
  template <class T>
  void pack(Rows rows, tiles::Rows<T>& packed, std::vector<T>& norms) const;
  template <class T>
  void squared_distances(Int row, T norm, Int first, View<T> line) const;

  std::shared_ptr<Kernel> kernel_;
  Matrix centers_;  // as given; of unit norm (cosine)
  Matrix origin_;   // sqeuclidean: the mean centre, subtracted from both sides before they are multiplied
  Matrix norms_;    // sqeuclidean: ‖c − origin‖² for each centre
  double largest_norm_ = 0;
  std::variant<tiles::Columns<float>, tiles::Columns<double>> packed_;  // the centres, for products with rows
};

// z_j(x) for the features j of a block of a map.
class FeaturePanels : public PanelSource {
 public:
  FeaturePanels(DataSet x, std::optional<Index> rows, std::shared_ptr<FeatureMap> map, const Index& features);
  const char* name() const override { return "RandomFeaturesBlock"; }
  const char* counter() const override { return "feature entries"; }
  Int cols() const override { return cols_; }
  bool main_thread_only() const override { return map_->main_thread_only(); }

 protected:
  void compute(Rows rows, View<float> out) const override { features(rows, out); }
  void compute(Rows rows, View<double> out) const override { features(rows, out); }

 private:
  template <class T>
  void features(Rows rows, View<T> out) const {
    data().sparse() ? block_->apply(data().csr(), rows, out) : block_->apply(dense_rows<T>(rows), out);
  }

  std::shared_ptr<FeatureMap> map_;
  std::shared_ptr<FeatureBlock> block_;
  Int cols_;
};

}  // namespace kbcd
