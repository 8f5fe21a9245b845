// SparseKernelPanels: K(x, c) for sparse rows x and sparse centres c, without making either dense.
//
// Every metric is a sum over the columns that both have, plus what depends on one side alone:
//   x·c = Σ x_j c_j,   ‖x − c‖² = ‖x‖² + ‖c‖² − 2 x·c,
//   ‖x − c‖₁ = ‖x‖₁ + ‖c‖₁ − 2 Σ min(|x_j|, |c_j|), over the columns where both have the same sign.
// The centres are held by columns (an inverted index), so that a row meets only the centres it shares a column with;
// the columns that many centres have are dense, in strips (core/strips.hpp). Sums have the type of the data. Where the
// difference of a distance lost its digits, it is computed entry by entry; where that is so for many centres, and for
// very long rows, the sums of f32 rows are computed again in f64.
//
// The linear kernel K = X Cᵀ also multiplies without its entries, K d = X (Cᵀd) and Kᵀa = C (Xᵀa), for k columns of d
// or a in k (nnz(X) + nnz(C)) steps instead of the n b and more that K takes.
#pragma once

#include <variant>

#include "core/column_places.hpp"
#include "core/strips.hpp"
#include "modules/blocks/panel_source.hpp"

namespace kbcd {

// What rows have in the frequent columns of the centres: lines of strips and values, row after row.
template <class T>
struct FrequentEntries {
  std::vector<std::int32_t> lines;
  std::vector<T> values;
  std::vector<Int> starts;
};

class SparseKernelPanels : public PanelSource {
 public:
  SparseKernelPanels(DataSet x, std::optional<Index> rows, std::shared_ptr<Kernel> kernel, Csr centers);
  const char* name() const override { return "KernelBlock"; }
  const char* counter() const override { return "kernel entries"; }
  Int cols() const override { return centers_.rows; }
  bool main_thread_only() const override { return kernel_->main_thread_only(); }
  bool factors(Int k) const override;

 protected:
  std::unique_ptr<PanelSource> unscaled_square() const override {
    return std::make_unique<SparseKernelPanels>(DataSet::own(centers_), std::nullopt, kernel_, centers_);
  }
  Matrix unscaled_times(const Matrix& d) const override;
  Matrix unscaled_t_times(const Matrix& a) const override;
  void compute(Rows rows, View<float> out) const override;
  void compute(Rows rows, View<double> out) const override;

 private:
  template <class T>
  void panel(Rows rows, View<T> out) const;
  void index_columns();
  template <class T>
  void make_strips();
  template <class T, class Visit>
  void each_shared(Int row, Visit&& visit) const;
  template <class T>
  void add_rare_columns(Int row, T* sums, FrequentEntries<T>& frequent) const;
  template <class T>
  bool finish(Int row, double own, Int strip, const T* sums, View<T> line) const;
  template <class T>
  void row_in_f64(Int row, View<T> line) const;
  template <class T>
  double own_part(const Csr& csr, Int row) const;  // ‖·‖² or ‖·‖₁ of a row, as the metric needs it

  std::shared_ptr<Kernel> kernel_;
  Csr centers_;
  std::vector<double> own_;  // own_part of each centre, where the metric is a distance
  // The centres by columns: column used_[u] has the entries starts_[u] .. starts_[u + 1] of who_ and values_.
  ColumnPlaces used_;
  std::vector<Int> starts_;
  std::vector<std::int32_t> who_;      // the centre of each entry
  Matrix values_;                      // its value, 1 x nnz; of centres of length 1 (cosine)
  std::vector<std::int32_t> line_of_;  // of strips_, for each used column; -1 where few centres have it
  std::variant<Strips<float>, Strips<double>> strips_;
};

}  // namespace kbcd
