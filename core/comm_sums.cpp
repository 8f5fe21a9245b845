// Sums over the ranks: at once, or begun now and finished later.
#include <algorithm>
#include <cstring>

#include "core/blas.hpp"
#include "core/comm_parts.hpp"
#include "core/error.hpp"
#include "core/timers.hpp"

namespace kbcd::comm {
namespace {

template <class T>
void sum_in_place(T* data, Int count) {
  count_sent(sizeof(T) * static_cast<double>(count));
  for (Int i = 0; i < count; i += chunk)
    MPI_Allreduce(MPI_IN_PLACE, data + i, static_cast<int>(std::min(chunk, count - i)), mpi_type<T>(), MPI_SUM,
                  MPI_COMM_WORLD);
}

// Whether two of them share a buffer: summed in place one after the other, the shared part would be summed twice.
bool any_shared(const std::vector<Matrix>& matrices) {
  for (std::size_t i = 0; i < matrices.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (matrices[i].shares(matrices[j])) return true;
  return false;
}

bool is_contiguous(const Matrix& m) {
  return m.dtype() == DType::f32 ? m.view<float>().ld == m.view<float>().length()
                                 : m.view<double>().ld == m.view<double>().length();
}

}  // namespace

void allreduce(const std::vector<Matrix>& matrices) {
  Timer timer("allreduce");
  require_numbers(matrices);
  if (size() == 1) return;
  if (travels(bytes_of(matrices))) {
    Parcel parcel{pack_bytes(matrices)};
    Collective here(
        "allreduce", [&] { return shapes(matrices); }, "", &parcel);
    return unpack_sum(parcel.all, matrices);
  }
  Collective here("allreduce", [&] { return shapes(matrices); });
  auto reduce = [&]<class T>() {
    Int count = 0;
    for (auto& m : matrices) count += m.dtype() == dtype_of<T> ? m.size() : 0;
    if (count == 0) return;
    constexpr Int worth_a_message = 1 << 20;
    if (count > worth_a_message && !any_shared(matrices)) {  // one by one, without a copy where they are in one piece
      for (auto& m : matrices) {
        if (m.dtype() != dtype_of<T>) continue;
        if (is_contiguous(m)) {
          sum_in_place(m.view<T>().data, m.size());
        } else {
          auto packed = pack<T>({m});
          sum_in_place(packed.data(), m.size());
          unpack(packed, {m});
        }
      }
      return;
    }
    auto packed = pack<T>(matrices);
    sum_in_place(packed.data(), count);
    unpack(packed, matrices);
  };
  reduce.operator()<float>();
  reduce.operator()<double>();
}

double allreduce(double value, Reduction how) {
  bool sum = how == Reduction::sum, min = how == Reduction::min;
  const char* operation = sum ? "allreduce" : min ? "allreduce_min" : "allreduce_max";
  auto details = [] { return "a number"; };
  if (travels(sizeof value)) {
    Parcel parcel{std::string(reinterpret_cast<const char*>(&value), sizeof value)};
    Collective here(operation, details, "", &parcel);
    auto number = [&](const std::string& text) {
      double x;
      require(text.size() == sizeof x, "the ranks do not make the same call: a number expected, got {} bytes",
              text.size());
      std::memcpy(&x, text.data(), sizeof x);
      return x;
    };
    double total = number(parcel.all[0]);
    for (int r = 1; r < size(); ++r) {
      double x = number(parcel.all[r]);
      total = sum ? total + x : min ? std::min(total, x) : std::max(total, x);
    }
    return total;
  }
  Collective here(operation, details);
  if (size() == 1) return value;
  MPI_Op op = sum ? MPI_SUM : min ? MPI_MIN : MPI_MAX;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return value;
}

struct Request::State {
  std::vector<Matrix> matrices;
  std::vector<float> f32;
  std::vector<double> f64;
  std::vector<MPI_Request> requests;
  Matrix triangle;  // of the one symmetric Matrix whose sum `root` gets
  int root = 0;

  template <class T>
  void begin(std::vector<T>& packed) {
    count_sent(sizeof(T) * static_cast<double>(packed.size()));
    for (Int i = 0; i < static_cast<Int>(packed.size()); i += chunk) {
      requests.emplace_back();
      MPI_Iallreduce(MPI_IN_PLACE, packed.data() + i, static_cast<int>(std::min<Int>(chunk, packed.size() - i)),
                     mpi_type<T>(), MPI_SUM, MPI_COMM_WORLD, &requests.back());
    }
  }
  // The lower triangle, row after row.
  template <class T>
  void begin_triangle() {
    auto m = matrices[0].view<T>();
    Int count = m.rows * (m.rows + 1) / 2;
    triangle = Matrix(1, count, dtype_of<T>);
    if (rank() != root) count_sent(sizeof(T) * static_cast<double>(count));
    T* packed = triangle.view<T>().data;
    for (Int i = 0; i < m.rows; ++i) packed = std::copy_n(m.line(i), i + 1, packed);
    for (Int i = 0; i < count; i += chunk) {
      T* part = triangle.view<T>().data + i;
      requests.emplace_back();
      MPI_Ireduce(rank() == root ? MPI_IN_PLACE : part, part, static_cast<int>(std::min(chunk, count - i)),
                  mpi_type<T>(), MPI_SUM, root, MPI_COMM_WORLD, &requests.back());
    }
  }
  template <class T>
  void unpack_triangle() {
    auto m = matrices[0].view<T>();
    const T* from = triangle.view<T>().data;
    for (Int i = 0; i < m.rows; from += ++i) std::copy_n(from, i + 1, m.line(i));
    blas::mirror(m.transposed ? matrices[0].t() : matrices[0]);
  }
  void finish() {
    if (triangle.size() == 0) {
      unpack(f32, matrices);
      unpack(f64, matrices);
    } else if (rank() == root) {
      dispatch(triangle.dtype(), [&]<class T>() { unpack_triangle<T>(); });
    }
    triangle = Matrix();
    matrices.clear();
    requests.clear();
  }
};

Request::Request(std::vector<Matrix> matrices) : state_(std::make_unique<State>()) {
  require_numbers(matrices);
  Collective here("iallreduce", [&] { return shapes(matrices); });
  if (size() == 1) return;
  state_->f32 = pack<float>(matrices);  // nothing may fail once MPI has a buffer
  state_->f64 = pack<double>(matrices);
  state_->matrices = std::move(matrices);
  state_->begin(state_->f32);
  state_->begin(state_->f64);
}

Request::Request(const Matrix& symmetric, int root) : state_(std::make_unique<State>()) {
  require(symmetric.rows() == symmetric.cols(), "ireduce_symmetric: a square Matrix expected, got {}",
          symmetric.shape());
  require(root >= 0 && root < size(), "ireduce_symmetric: a rank in 0..{} expected, got {}", size() - 1, root);
  require_numbers({symmetric});
  Collective here("ireduce_symmetric", [&] { return fmt::format("{} to rank {}", shapes({symmetric}), root); });
  if (size() == 1) return;
  state_->matrices = {symmetric};
  state_->root = root;
  dispatch(symmetric.dtype(), [&]<class T>() { state_->begin_triangle<T>(); });
}

// No MPI in a destructor: a collector would call it at different moments on different ranks. The buffers of a
// request that nobody waited for stay alive, since MPI may still write to them.
Request::~Request() {
  if (state_ && !state_->requests.empty()) state_.release();
}

void Request::wait() {
  Timer timer("iallreduce:wait");
  if (state_->matrices.empty()) return;
  MPI_Waitall(static_cast<int>(state_->requests.size()), state_->requests.data(), MPI_STATUSES_IGNORE);
  state_->finish();
}

bool Request::done() {
  if (state_->matrices.empty()) return true;
  int all = 0;
  MPI_Testall(static_cast<int>(state_->requests.size()), state_->requests.data(), &all, MPI_STATUSES_IGNORE);
  if (all) state_->finish();
  return all;
}

}  // namespace kbcd::comm
