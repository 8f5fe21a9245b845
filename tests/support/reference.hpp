// What the tests compare with: naive loops and Eigen, written without the code under test.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "core/comm.hpp"
#include "core/error.hpp"
#include "core/matrix.hpp"
#include "modules/params/params.hpp"

namespace kbcd::tests {

using Dense = Eigen::MatrixXd;
using Parameters = Values;

constexpr DType both_types[] = {DType::f32, DType::f64};

inline double epsilon(DType type) {
  return type == DType::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

inline Dense dense(const Matrix& m) {
  Dense out(m.rows(), m.cols());
  Matrix copy = m.to(DType::f64);
  auto numbers = copy.view<double>();
  for (Int i = 0; i < m.rows(); ++i)
    for (Int j = 0; j < m.cols(); ++j) out(i, j) = numbers(i, j);
  return out;
}

inline Matrix as_matrix(const Dense& d, DType type = DType::f64) {
  Matrix out(d.rows(), d.cols(), type);
  for (Int i = 0; i < out.rows(); ++i)
    for (Int j = 0; j < out.cols(); ++j) out.set(i, j, d(i, j));
  return out;
}

// Independent N(0, 1), rounded to the type; equal on every rank.
inline Dense normal(Int rows, Int cols, unsigned seed, DType type = DType::f64) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> draw;
  Dense out(rows, cols);
  for (Int i = 0; i < rows; ++i)
    for (Int j = 0; j < cols; ++j) out(i, j) = draw(engine);
  return type == DType::f32 ? out.cast<float>().cast<double>() : out;
}

// The largest difference; infinite when the shapes differ or a number is not one.
inline double distance(const Dense& a, const Dense& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return std::numeric_limits<double>::infinity();
  if (a.size() == 0) return 0;
  double largest = (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

inline double distance(const Matrix& a, const Dense& b) {
  return distance(dense(a), b);
}

// The same, in units of the largest expected number.
inline double relative_distance(const Matrix& a, const Dense& expected) {
  double scale = expected.size() ? expected.cwiseAbs().maxCoeff() : 0;
  return distance(a, expected) / (scale > 0 ? scale : 1);
}

// This rank's rows [n r / R, n (r + 1) / R) of a matrix that every rank has.
inline Dense share(const Dense& all) {
  Int n = all.rows(), first = n * comm::rank() / comm::size(), end = n * (comm::rank() + 1) / comm::size();
  return all.middleRows(first, end - first);
}

inline Dense rows_of(const Dense& all, const Index& rows) {
  Dense out(rows.size(), all.cols());
  for (Int i = 0; i < rows.size(); ++i) out.row(i) = all.row(rows[i]);
  return out;
}

inline Matrix summed(Matrix part) {
  comm::allreduce(std::vector<Matrix>{part});
  return part;
}

inline bool on_some_rank(bool here) {
  return comm::allreduce(here, comm::Reduction::max) > 0;
}

inline bool on_every_rank(bool here) {
  return comm::allreduce(here, comm::Reduction::min) > 0;
}

// For BOOST_CHECK_EXCEPTION: the message has `text` in it.
inline auto mentions(std::string text) {
  return [text](const Error& error) { return std::string(error.what()).find(text) != std::string::npos; };
}

// K(x, y) = kappa(metric(x, y)) as the textbooks write it.
struct NaiveKernel {
  using Vector = Eigen::RowVectorXd;
  std::function<double(const Vector&, const Vector&)> metric;
  std::function<double(double)> kappa;

  double operator()(const Vector& x, const Vector& y) const { return kappa(metric(x, y)); }
  Dense operator()(const Dense& x, const Dense& y) const {
    Dense k(x.rows(), y.rows());
    for (Int i = 0; i < x.rows(); ++i)
      for (Int j = 0; j < y.rows(); ++j) k(i, j) = (*this)(Vector(x.row(i)), Vector(y.row(j)));
    return k;
  }
};

inline double squared_distance(const Eigen::RowVectorXd& x, const Eigen::RowVectorXd& y) {
  return (x - y).squaredNorm();
}

inline NaiveKernel naive_rbf(double gamma) {
  return {squared_distance, [=](double t) { return std::exp(-gamma * t); }};
}

// Philox 4x32-10 after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0], b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

}  // namespace kbcd::tests
