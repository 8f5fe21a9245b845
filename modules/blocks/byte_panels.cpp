#include "modules/blocks/byte_panels.hpp"

#include <algorithm>
#include <cmath>

namespace kbcd {
namespace {

constexpr Int columns_in_cache = 5 * tiles::byte_strip;  // of a panel, between the product and what follows it

Int whole(Int count, Int of) {
  return (count + of - 1) / of * of;
}

// An integer below 2^31, of which the 32 bits were computed.
template <class T>
T number(std::uint32_t bits) {
  return static_cast<T>(static_cast<std::int32_t>(bits));
}

}  // namespace

bool BytePanels::suit(const DataSet& x, const Kernel& kernel, const DataSet& centers) {
  return tiles::multiplies_bytes() && x.is_bytes() && centers.is_bytes() && kernel.metric() != Metric::manhattan &&
         x.bytes().code() == centers.bytes().code();
}

BytePanels::BytePanels(DataSet x, std::optional<Index> rows, std::shared_ptr<Kernel> kernel, ByteMatrix centers)
    : PanelSource(std::move(x), std::move(rows)), kernel_(std::move(kernel)), centers_(std::move(centers)) {
  Int count = centers_.rows(), d = centers_.cols();
  tiles::ByteRows lines;
  lines.resize(count, d);
  own_.assign(parts(), std::vector<std::uint32_t>(count));
  inverse_lengths_.resize(count);
  parallel_for(count, count * d, [&](Int j) {
    std::copy_n(centers_.line(j), d, lines.row(j));
    Terms of = terms(centers_.line(j), Side::centre);
    for (Int p = 0; p < parts(); ++p) own_[p][j] = of.of_parts[p];
    inverse_lengths_[j] = of.inverse_length;
  });
  packed_ = tiles::ByteColumns(lines);
}

std::unique_ptr<PanelSource> BytePanels::unscaled_square() const {
  return std::make_unique<BytePanels>(DataSet::own(centers_, dtype()), std::nullopt, kernel_, centers_);
}

BytePanels::Terms BytePanels::terms(const std::uint8_t* bytes, Side side) const {
  Int d = data().d(), t = centers_.code().shift;
  double length = 0;
  Terms terms;
  for (Int from = 0; from < d; from += longest) {
    Int here = std::min(longest, d - from);
    std::uint32_t total = 0, total_of_squares = 0;  // of at most `longest` bytes: below 2^31
    for (Int k = from; k < from + here; ++k) {
      total += bytes[k];
      total_of_squares += static_cast<std::uint32_t>(bytes[k]) * bytes[k];
    }
    Int sum = total, squares = total_of_squares;
    Int term = kernel_->metric() == Metric::sqeuclidean
                   ? (side == Side::row ? squares - 256 * sum : squares)
                   : (side == Side::row ? (128 + t) * sum + here * t * t : t * sum);
    terms.of_parts.push_back(static_cast<std::uint32_t>(term));
    length += static_cast<double>(squares + 2 * t * sum + here * t * t);
  }
  if (length > 0) terms.inverse_length = 1 / std::sqrt(length);
  return terms;
}

// The metric of some rows and the centres from `first`.
template <class T>
void BytePanels::metric_values(const tiles::ByteRows& rows, const std::vector<Terms>& terms, Int first,
                               View<T> out) const {
  Metric metric = kernel_->metric();
  std::uint32_t factor = metric == Metric::sqeuclidean ? -2u : 1u;
  double square = centers_.code().scale * centers_.code().scale;
  thread_local tiles::Scratch<std::uint32_t> scratch;
  thread_local std::vector<double> sums;  // of the parts
  View<std::uint32_t> products{nullptr, whole(out.rows, tiles::byte_group), whole(out.cols, tiles::byte_strip),
                               columns_in_cache};
  products.data = scratch.at_least(products.rows * products.ld);
  bool one = parts() == 1;
  if (!one) sums.assign(out.rows * out.cols, 0);
  for (Int p = 0; p < parts(); ++p) {
    tiles::multiply(rows, packed_, first, p * longest, std::min((p + 1) * longest, data().d()), products);
    for (Int i = 0; i < out.rows; ++i) {
      std::uint32_t own = terms[i].of_parts[p];
      const std::uint32_t *line = products.line(i), *theirs = own_[p].data() + first;
      T* to = out.line(i);
      if (!one) {
        for (Int j = 0; j < out.cols; ++j) sums[i * out.cols + j] += number<double>(own + theirs[j] + factor * line[j]);
      } else if (metric == Metric::cosine) {
        const double* inverse = inverse_lengths_.data() + first;
        for (Int j = 0; j < out.cols; ++j)
          to[j] = static_cast<T>(number<double>(own + theirs[j] + line[j]) * (terms[i].inverse_length * inverse[j]));
      } else {
        for (Int j = 0; j < out.cols; ++j)
          to[j] = number<T>(own + theirs[j] + factor * line[j]) * static_cast<T>(square);
      }
    }
  }
  for (Int i = 0; i < out.rows && !one; ++i)
    for (Int j = 0; j < out.cols; ++j)
      out(i, j) =
          static_cast<T>(sums[i * out.cols + j] *
                         (metric == Metric::cosine ? terms[i].inverse_length * inverse_lengths_[first + j] : square));
}

template <class T>
void BytePanels::panel(Rows rows, View<T> out) const {
  thread_local tiles::ByteRows packed;
  thread_local std::vector<Terms> of_rows;
  packed.resize(out.rows, data().d());
  of_rows.resize(out.rows);
  for (Int i = 0; i < out.rows; ++i) {
    const std::uint8_t* bytes = data().bytes().line(rows[i]);
    std::copy_n(bytes, data().d(), packed.row(i));
    of_rows[i] = terms(bytes, Side::row);
  }
  for (Int first = 0; first < out.cols; first += columns_in_cache) {
    View<T> columns = out.cols_from(first, std::min(columns_in_cache, out.cols - first));
    metric_values(packed, of_rows, first, columns);
    for (Int i = 0; i < out.rows && !kernel_->main_thread_only(); ++i) kernel_->kappa(columns.rows_from(i, 1));
  }
  if (kernel_->main_thread_only()) kernel_->kappa(out);
}

}  // namespace kbcd
