// Sparse rows made of the n-grams of documents, one after the other: counts by column, then weights.
//
//   tf      count: c      binary: 1      log: 1 + ln c       (of |c| and with its sign, where n-grams are signed)
//   then times idf, where there is one, and divided by the length of the row for unit norm
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "modules/data/dataset.hpp"

namespace kbcd {

enum class Tf { count, binary, log };

struct WeightOptions {
  Tf tf = Tf::count;
  bool unit_norm = true;
  DType dtype = DType::f32;
};

constexpr Int most_columns = std::numeric_limits<std::int32_t>::max();

// Rows of n documents over all ranks, and how many of them have no entry.
struct TextMatrix {
  DataSet x;
  Int without_entries;
};

template <class T>
class SparseRows {
 public:
  // rows: how many will be added; memory for their entries is estimated from it.
  SparseRows(Int rows, Int cols, const WeightOptions& options) : options_(options), expected_(rows) {
    csr_.cols = cols;
  }

  void add(std::uint32_t column, bool negative = false) { row_.push_back(column << 1 | negative); }

  // idf(column) is a factor.
  template <class Idf>
  void end_row(Idf&& idf) {
    sort_row();
    if (csr_.rows == rows_to_guess_from) reserve_entries();
    Int begin = csr_.nnz();
    double squares = 0;
    for (std::size_t i = 0; i < row_.size();) {
      std::uint32_t column = row_[i] >> 1;
      Int count = 0;
      for (; i < row_.size() && row_[i] >> 1 == column; ++i) count += row_[i] & 1 ? -1 : 1;
      if (count == 0) continue;  // signs that cancelled
      double value = tf(static_cast<double>(count)) * idf(column);
      squares += value * value;
      csr_.columns.push_back(static_cast<std::int32_t>(column));
      values_.push_back(static_cast<T>(value));
    }
    if (double length = std::sqrt(squares); options_.unit_norm && length > 0)
      for (T& value : std::span(values_).subspan(begin)) value = static_cast<T>(value / length);
    csr_.starts.push_back(csr_.nnz());
    ++csr_.rows;
    without_entries_ += csr_.nnz() == begin;
    row_.clear();
  }

  // All of this rank's rows are there (collective).
  TextMatrix finish(Int n, const std::string& source) {
    csr_.values = Matrix(1, csr_.nnz(), dtype_of<T>);
    std::copy(values_.begin(), values_.end(), csr_.values.template view<T>().data);
    values_ = {};
    double empty = comm::allreduce(static_cast<double>(without_entries_), comm::Reduction::sum);
    return {DataSet(n, std::move(csr_), source), static_cast<Int>(empty)};
  }

 private:
  static constexpr Int rows_to_guess_from = 1000;

  // Reserves memory for all entries, as if the other rows were like the first: moving entries when a vector grows costs
  // more than making them.
  void reserve_entries() {
    auto entries = static_cast<std::size_t>(1.1 * static_cast<double>(csr_.nnz()) / rows_to_guess_from *
                                            static_cast<double>(std::max(expected_, csr_.rows)));
    csr_.columns.reserve(entries);
    values_.reserve(entries);
  }

  // By digits of 8 bits, the lowest first; comparing takes half the time of hashing for rows of some length.
  void sort_row() {
    constexpr std::size_t worth_it = 64, digits = 256;
    if (row_.size() < worth_it) return std::sort(row_.begin(), row_.end());
    sorted_.resize(row_.size());
    for (int shift = 0; shift < 32 && (2 * csr_.cols - 1) >> shift; shift += 8) {
      std::array<std::uint32_t, digits> places{};
      for (std::uint32_t key : row_) ++places[key >> shift & (digits - 1)];
      for (std::uint32_t before = 0; std::uint32_t & place : places) before += std::exchange(place, before);
      for (std::uint32_t key : row_) sorted_[places[key >> shift & (digits - 1)]++] = key;
      row_.swap(sorted_);
    }
  }

  double tf(double count) const {
    if (options_.tf == Tf::count) return count;
    return std::copysign(options_.tf == Tf::binary ? 1 : 1 + std::log(std::abs(count)), count);
  }

  WeightOptions options_;
  Int expected_;
  Csr csr_;
  std::vector<T> values_;
  std::vector<std::uint32_t> row_;  // of the row at hand: column and, in the lowest bit, the sign
  std::vector<std::uint32_t> sorted_;
  Int without_entries_ = 0;
};

}  // namespace kbcd
