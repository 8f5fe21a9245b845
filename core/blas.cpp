#include "core/blas.hpp"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/elementwise.hpp"
#include "core/timers.hpp"

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
void dsyevr_(const char* jobz, const char* range, const char* uplo, const int* n, double* a, const int* lda,
             const double* vl, const double* vu, const int* il, const int* iu, const double* abstol, int* m, double* w,
             double* z, const int* ldz, int* isuppz, double* work, const int* lwork, int* iwork, const int* liwork,
             int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info);
}

namespace kbcd::blas {
namespace {

int narrow(Int value) {
  require(value <= std::numeric_limits<int>::max(), "BLAS takes dimensions up to 2^31 - 1, got {}", value);
  return static_cast<int>(value);
}

CBLAS_TRANSPOSE flag(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

template <class T, class Gemm>
void any_gemm(Gemm call, T factor, View<T> a, View<T> b, bool accumulate, View<T> c) {
  require(a.cols == b.rows && c.rows == a.rows && c.cols == b.cols,
          "product: cannot multiply {}x{} by {}x{} into {}x{}", a.rows, a.cols, b.rows, b.cols, c.rows, c.cols);
  if (c.transposed) return any_gemm(call, factor, b.t(), a.t(), accumulate, c.t());
  if (c.rows == 0 || c.cols == 0) return;
  if (a.cols == 0) {
    for (Int i = 0; !accumulate && i < c.rows; ++i) std::fill_n(c.line(i), c.cols, T(0));
    return;
  }
  timers::operated(2.0 * c.rows * c.cols * a.cols);
  call(CblasRowMajor, flag(a.transposed), flag(b.transposed), narrow(c.rows), narrow(c.cols), narrow(a.cols), factor,
       a.data, narrow(a.ld), b.data, narrow(b.ld), T(accumulate), c.data, narrow(c.ld));
}

template <class T, class Syrk>
void any_gram(Syrk call, View<T> a, bool accumulate, View<T> c) {
  require(c.rows == a.cols && c.cols == a.cols && !c.transposed, "gram: {}x{} expected for a {}x{}, got {}x{}", a.cols,
          a.cols, a.rows, a.cols, c.rows, c.cols);
  if (c.rows == 0 || (a.rows == 0 && accumulate)) return;
  if (a.rows == 0) {
    for (Int i = 0; i < c.rows; ++i) std::fill_n(c.line(i), c.cols, T(0));
    return;
  }
  timers::operated(1.0 * c.rows * c.rows * a.rows);
  call(CblasRowMajor, CblasLower, flag(!a.transposed), narrow(c.rows), narrow(a.rows), T(1), a.data, narrow(a.ld),
       T(accumulate), c.data, narrow(c.ld));
}

template <class T, class Potrf, class Trsm, class Syrk>
Int any_cholesky(Potrf potrf, Trsm trsm, Syrk syrk, View<T> a) {
  require(a.rows == a.cols && !a.transposed, "cholesky: a square matrix expected, got {}x{}", a.rows, a.cols);
  if (a.rows == 0) return 0;
  timers::operated(1.0 / 3 * a.rows * a.rows * a.rows);
  // By steps of 128 columns, which keeps the threads busier than one potrf does.
  constexpr Int step = 128;
  int ld = narrow(a.ld);
  for (Int k = 0; k < a.rows; k += step) {
    int m = narrow(std::min(step, a.rows - k)), rest = narrow(a.rows - k) - m, info = 0;
    T *corner = a.line(k) + k, *below = a.line(k + m) + k;
    potrf("U", &m, corner, &ld, &info);  // the lower triangle of rows is the upper one of columns
    if (info != 0) return k + info;
    if (rest == 0) break;
    trsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rest, m, T(1), corner, ld, below, ld);
    syrk(CblasRowMajor, CblasLower, CblasNoTrans, rest, m, T(-1), below, ld, T(1), below + m, ld);
  }
  return 0;
}

template <class T, class Trsm>
void any_triangular_solve(Trsm trsm, View<T> l, bool lower, bool transpose, View<T> b) {
  require(l.rows == l.cols && l.cols == b.rows, "triangular solve: cannot solve {}x{} against {}x{}", l.rows, l.cols,
          b.rows, b.cols);
  if (b.rows == 0 || b.cols == 0) return;
  if (l.transposed) return any_triangular_solve(trsm, l.t(), !lower, !transpose, b);
  timers::operated(1.0 * b.rows * b.rows * b.cols);
  // A transposed b is X' T'' = B' from the right.
  auto side = b.transposed ? CblasRight : CblasLeft;
  bool flip = b.transposed ? !transpose : transpose;
  trsm(CblasRowMajor, side, lower ? CblasLower : CblasUpper, flag(flip), CblasNonUnit, narrow(b.lines()),
       narrow(b.length()), T(1), l.data, narrow(l.ld), b.data, narrow(b.ld));
}

void require_square(const char* what, const Matrix& a) {
  require(a.rows() == a.cols() && a.rows() > 0, "{}: a square Matrix expected, got {}", what, a.shape());
}

void require_finite(const char* what, const Matrix& a) {
  require(all_finite(a), "{}: the {} matrix has NaN or Inf in it", what, a.shape());
}

// Calls a LAPACK routine twice: for the size of its workspace, then for the work.
template <class F>
void with_workspace(const char* what, F&& call) {
  double size = 0;
  int info = 0;
  call(&size, -1, &info);
  std::vector<double> work(std::max<std::size_t>(1, static_cast<std::size_t>(size)));
  call(work.data(), narrow(work.size()), &info);
  require(info == 0, "{}: LAPACK did not converge (info = {})", what, info);
}

}  // namespace

void gemm(float factor, View<float> a, View<float> b, bool accumulate, View<float> c) {
  any_gemm(cblas_sgemm, factor, a, b, accumulate, c);
}

void gemm(double factor, View<double> a, View<double> b, bool accumulate, View<double> c) {
  any_gemm(cblas_dgemm, factor, a, b, accumulate, c);
}

void gram(View<float> a, bool accumulate, View<float> c) {
  any_gram(cblas_ssyrk, a, accumulate, c);
}

void gram(View<double> a, bool accumulate, View<double> c) {
  any_gram(cblas_dsyrk, a, accumulate, c);
}

void mirror(const Matrix& c) {
  dispatch(c.dtype(), [&]<class T>() {
    auto v = c.view<T>();
    constexpr Int tile = 64;
    parallel_for((v.rows + tile - 1) / tile, c.size(), [&](Int t) {
      Int i1 = std::min(v.rows, (t + 1) * tile);
      for (Int j0 = 0; j0 < i1; j0 += tile)
        for (Int i = t * tile; i < i1; ++i)
          for (Int j = j0; j < std::min(i, j0 + tile); ++j) v(j, i) = v(i, j);
    });
  });
}

Matrix product(const Matrix& a, const Matrix& b) {
  require(a.cols() == b.rows(), "product: the inner sizes must agree, got {} times {}", a.shape(), b.shape());
  DType type = wider(a, b);
  auto typed = [&](const Matrix& m) { return m.dtype() == type ? m : m.to(type); };
  Matrix x = typed(a), y = typed(b), c(a.rows(), b.cols(), type);
  dispatch(type, [&]<class T>() { gemm(T(1), x.view<T>(), y.view<T>(), false, c.view<T>()); });
  return c;
}

Matrix gram(const Matrix& a) {
  Matrix c(a.cols(), a.cols(), a.dtype());
  dispatch(a.dtype(), [&]<class T>() { gram(a.view<T>(), false, c.view<T>()); });
  mirror(c);
  return c;
}

Int cholesky(View<float> a) {
  return any_cholesky(spotrf_, cblas_strsm, cblas_ssyrk, a);
}

Int cholesky(View<double> a) {
  return any_cholesky(dpotrf_, cblas_dtrsm, cblas_dsyrk, a);
}

void triangular_solve(View<float> l, bool lower, bool transpose, View<float> b) {
  any_triangular_solve(cblas_strsm, l, lower, transpose, b);
}

void triangular_solve(View<double> l, bool lower, bool transpose, View<double> b) {
  any_triangular_solve(cblas_dtrsm, l, lower, transpose, b);
}

Eigen symmetric_eigen(const Matrix& a) {
  require_square("Matrix:eig", a);
  require_finite("Matrix:eig", a);
  Matrix vectors = a.to(DType::f64), values(a.rows(), 1, DType::f64);
  double size = 0;
  int n = narrow(a.rows()), ld = n, info = 0, isize = 0, query = -1;
  double* v = vectors.view<double>().data;
  double* w = values.view<double>().data;
  // LAPACK's lower triangle of columns is our upper one of rows.
  dsyevd_("V", "L", &n, v, &ld, w, &size, &query, &isize, &query, &info);
  std::vector<int> iwork(std::max(1, isize));
  int liwork = narrow(iwork.size());
  with_workspace("Matrix:eig", [&](double* work, int lwork, int* info) {
    if (lwork < 0) return void(*work = size);
    dsyevd_("V", "L", &n, v, &ld, w, work, &lwork, iwork.data(), &liwork, info);
  });
  return {values, vectors.t().clone()};  // LAPACK's columns are our rows
}

Eigen largest_eigen(const Matrix& a, Int count) {
  require_square("Matrix:eig", a);
  require_finite("Matrix:eig", a);
  require(count >= 1 && count <= a.rows(), "Matrix:eig: top in 1..{} expected, got {}", a.rows(), count);
  Matrix copy = a.to(DType::f64), all(a.rows(), 1, DType::f64), rows(count, a.rows(), DType::f64);
  int n = narrow(a.rows()), first = n - narrow(count) + 1, found = 0, query = -1, isize = 0, info = 0;
  double none = 0, size = 0, *v = copy.view<double>().data, *w = all.view<double>().data, *z = rows.view<double>().data;
  std::vector<int> support(2 * count);
  auto call = [&](double* work, int lwork, int* iwork, int liwork, int* info) {
    // LAPACK's lower triangle of columns is our upper one of rows; its vectors, columns, are our rows.
    dsyevr_("V", "I", "L", &n, v, &n, &none, &none, &first, &n, &none, &found, w, z, &n, support.data(), work, &lwork,
            iwork, &liwork, info);
  };
  call(&size, query, &isize, query, &info);
  std::vector<int> iwork(std::max(1, isize));
  with_workspace("Matrix:eig", [&](double* work, int lwork, int* info) {
    if (lwork < 0) return void(*work = size);
    call(work, lwork, iwork.data(), narrow(iwork.size()), info);
  });
  Matrix values(count, 1, DType::f64), vectors(a.rows(), count, DType::f64);
  for (Int i = 0; i < count; ++i) {  // LAPACK's ascend
    values.set(i, 0, all.get(count - 1 - i, 0));
    vectors.col_block(i, 1).copy_from(rows.row_block(count - 1 - i, 1).t());
  }
  return {values, vectors};
}

Qr qr(const Matrix& a) {
  require(a.rows() > 0 && a.cols() > 0, "Matrix:qr: a Matrix with rows and columns expected, got {}", a.shape());
  require_finite("Matrix:qr", a);
  Matrix columns = a.t().to(DType::f64);  // LAPACK's columns are our rows
  int m = narrow(a.rows()), n = narrow(a.cols()), s = std::min(m, n);
  std::vector<double> tau(s);
  double* data = columns.view<double>().data;
  with_workspace(
      "qr", [&](double* work, int lwork, int* info) { dgeqrf_(&m, &n, data, &m, tau.data(), work, &lwork, info); });
  Matrix r = Matrix::zeros(s, n);
  for (Int i = 0; i < s; ++i)
    for (Int j = i; j < n; ++j) r.set(i, j, columns.get(j, i));
  with_workspace(
      "qr", [&](double* work, int lwork, int* info) { dorgqr_(&m, &s, &s, data, &m, tau.data(), work, &lwork, info); });
  Matrix q = columns.row_block(0, s).t().clone();
  auto rv = r.view<double>(), qv = q.view<double>();
  for (Int i = 0; i < s; ++i) {
    if (rv(i, i) >= 0) continue;
    for (Int j = i; j < n; ++j) rv(i, j) = -rv(i, j);
    for (Int k = 0; k < m; ++k) qv(k, i) = -qv(k, i);
  }
  return {q, r};
}

Svd svd(const Matrix& a) {
  require(a.rows() > 0 && a.cols() > 0, "Matrix:svd: a Matrix with rows and columns expected, got {}", a.shape());
  require_finite("Matrix:svd", a);
  Matrix rows = a.to(DType::f64);  // to LAPACK this is a' = v s u'
  int m = narrow(a.cols()), n = narrow(a.rows()), r = std::min(m, n);
  Matrix s(r, 1, DType::f64), vt(r, m, DType::f64), u(n, r, DType::f64);
  std::vector<int> iwork(8 * r);
  with_workspace("Matrix:svd", [&](double* work, int lwork, int* info) {
    dgesdd_("S", &m, &n, rows.view<double>().data, &m, s.view<double>().data, vt.view<double>().data, &m,
            u.view<double>().data, &r, work, &lwork, iwork.data(), info);
  });
  return {u, s, vt.t().clone()};
}

void set_threads(int threads) {
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

void start_threads() {
  constexpr Int small = 64, large = 512;
#pragma omp parallel
  {
    Matrix a = Matrix::zeros(small, small);
    product(a, a);
  }
  Matrix a = Matrix::zeros(large, large);
  product(a, a);
}

std::string version() {
  std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE …"
  auto start = config.find(' ');
  return start == std::string::npos ? config : config.substr(start + 1, config.find(' ', start + 1) - start - 1);
}

std::string cpu_kernel() {
  return openblas_get_corename();
}

// OpenBLAS chooses by the model of the CPU, and falls back to the kernels of a 2004 CPU (a fifth of the speed), or to
// those without AVX-512, on a model that is newer than itself. This chooses by what the CPU can do, before any library
// has started.
std::string best_kernel() {
#ifdef __x86_64__
  __builtin_cpu_init();
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (avx512) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
#endif
  return "";
}

bool uses_openmp() {
  return openblas_get_parallel() == 2;
}

}  // namespace kbcd::blas
