#include "modules/text/gram_rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/comm.hpp"
#include "core/error.hpp"
#include "modules/text/murmur3.hpp"

namespace kbcd {
namespace {

// f(column, times) for each column of a sorted list.
template <class F>
void each_column(const std::vector<std::uint32_t>& sorted, F f) {
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t begin = i;
    while (i < sorted.size() && sorted[i] == sorted[begin]) ++i;
    f(sorted[begin], static_cast<double>(i - begin));
  }
}

}  // namespace

GramRows::GramRows(Int columns, std::vector<double> shares)
    : columns_(columns), shares_(std::move(shares)), grams_(shares_.size()), rows_(columns) {
  texts_with_ = Matrix::zeros(1, columns, DType::f64);
}

void GramRows::count(std::size_t group, std::string_view gram) {
  require(group < grams_.size(), "gram_matrix: group 1..{} expected, got {}", grams_.size(), group + 1);
  grams_[group].push_back(static_cast<std::uint32_t>(murmur3(gram, static_cast<std::uint32_t>(group + 1)) % columns_));
}

void GramRows::sort_grams() {
  for (auto& grams : grams_) std::sort(grams.begin(), grams.end());
}

void GramRows::end_text(bool training) {
  sort_grams();
  double* with = texts_with_.view<double>().data;
  for (auto& grams : grams_) {
    if (training) each_column(grams, [&](std::uint32_t column, double) { with[column] += 1; });
    grams.clear();
  }
}

void GramRows::end_pass(Int training_texts) {
  training_texts_ = static_cast<double>(training_texts);
  comm::allreduce({texts_with_});
}

void GramRows::set_texts_with(const Matrix& counts, Int training_texts) {
  require(counts.rows() == 1 && counts.cols() == columns_, "gram_matrix: counts: 1x{} numbers expected, got {}",
          columns_, counts.shape());
  for (Int j = 0; j < columns_; ++j) {
    double with = counts.get(0, j);
    require(with >= 0 && with <= static_cast<double>(training_texts) * static_cast<double>(shares_.size()),
            "gram_matrix: counts: at most {} texts for each group expected, column {} has {}", training_texts, j + 1,
            with);
    texts_with_.set(0, j, with);
  }
  training_texts_ = static_cast<double>(training_texts);
}

void GramRows::end_row() {
  sort_grams();
  const double* with = texts_with_.view<double>().data;
  for (std::size_t g = 0; g < grams_.size(); ++g) {
    auto weight = [&](std::uint32_t column, double times) {
      return times * (std::log((1 + training_texts_) / (1 + with[column])) + 1);
    };
    double squares = 0;
    each_column(grams_[g], [&](std::uint32_t c, double times) { squares += weight(c, times) * weight(c, times); });
    double scale = std::sqrt(shares_[g] / squares);
    each_column(grams_[g], [&](std::uint32_t c, double times) { rows_.add(c + 1.0, scale * weight(c, times)); });
    grams_[g].clear();
  }
  rows_.end_row();
}

Csr GramRows::finish() const {
  return rows_.finish(DType::f32, true);
}

}  // namespace kbcd
