// All calls of BLAS and LAPACK: products, Grams, Cholesky, and the small decompositions.
#pragma once

#include <string>

#include "core/matrix.hpp"

namespace kbcd::blas {

// c = factor a b + (accumulate ? c : 0), on the calling thread alone inside a parallel loop.
void gemm(float factor, View<float> a, View<float> b, bool accumulate, View<float> c);
void gemm(double factor, View<double> a, View<double> b, bool accumulate, View<double> c);

// The lower triangle of c = a' a + (accumulate ? c : 0).
void gram(View<float> a, bool accumulate, View<float> c);
void gram(View<double> a, bool accumulate, View<double> c);

// c(j, i) = c(i, j) for j > i: the upper triangle from the lower.
void mirror(const Matrix& c);

// a b in the wider of their types.
Matrix product(const Matrix& a, const Matrix& b);
// a' a, both triangles.
Matrix gram(const Matrix& a);

// The lower triangle of `a` becomes L with L L' = a; the rest stays. Returns 0, or the 1-based bad pivot.
Int cholesky(View<float> a);
Int cholesky(View<double> a);
// b = L^-1 b (or L'^-1 b).
void triangular_solve(View<float> l, bool lower, bool transpose, View<float> b);
void triangular_solve(View<double> l, bool lower, bool transpose, View<double> b);

struct Eigen {
  Matrix values;   // n x 1, ascending
  Matrix vectors;  // n x n, a column each
};
Eigen symmetric_eigen(const Matrix& a);
// The `count` largest eigenvalues, count x 1, descending, and their vectors, n x count.
Eigen largest_eigen(const Matrix& a, Int count);

struct Qr {
  Matrix q, r;  // thin: m x s and s x n with s = min(m, n); the diagonal of r is not negative
};
Qr qr(const Matrix& a);

struct Svd {
  Matrix u, s, v;  // thin: a = u diag(s) v', s descending (s x 1)
};
Svd svd(const Matrix& a);

void set_threads(int threads);
// Starts the threads and has OpenBLAS allocate its buffers, which could fail later (limits.hpp, confine.hpp).
void start_threads();
std::string version();      // "0.3.21"
std::string cpu_kernel();   // the micro-kernel that OpenBLAS chose for this CPU
std::string best_kernel();  // the fastest that OpenBLAS has for what this CPU can do; empty: let it choose
bool uses_openmp();         // whether its threads are those of our own loops

}  // namespace kbcd::blas
