#include "core/comm.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "core/error.hpp"
#include "core/timers.hpp"

namespace kbcd::comm {
namespace {

constexpr Int chunk = Int{1} << 28;  // MPI counts are ints

int this_rank = 0, rank_count = 1, ranks_of_node = 1;
MPI_Win failure_window = MPI_WIN_NULL;
int* failures = nullptr;  // shared by the ranks of this machine: how many of them have failed

template <class T>
MPI_Datatype mpi_type() {
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
}

template <class T>
void sum_in_place(T* data, Int count) {
  for (Int i = 0; i < count; i += chunk)
    MPI_Allreduce(MPI_IN_PLACE, data + i, static_cast<int>(std::min(chunk, count - i)), mpi_type<T>(), MPI_SUM,
                  MPI_COMM_WORLD);
}

// The numbers of all matrices of one type, one after the other.
template <class T>
std::vector<T> pack(const std::vector<Matrix>& matrices) {
  std::vector<T> packed;
  for (auto& m : matrices) {
    if (m.dtype() != dtype_of<T>) continue;
    auto v = m.view<T>();
    for (Int i = 0; i < v.lines(); ++i) packed.insert(packed.end(), v.line(i), v.line(i) + v.length());
  }
  return packed;
}

template <class T>
void unpack(const std::vector<T>& packed, const std::vector<Matrix>& matrices) {
  auto from = packed.begin();
  for (auto& m : matrices) {
    if (m.dtype() != dtype_of<T>) continue;
    auto v = m.view<T>();
    for (Int i = 0; i < v.lines(); ++i, from += v.length()) std::copy_n(from, v.length(), v.line(i));
  }
}

// Whether two of them lie in one buffer: summed in place one after the other, what they share would be summed twice.
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

MPI_Datatype row_type(DType dtype, Int cols) {
  MPI_Datatype type;
  MPI_Type_contiguous(static_cast<int>(cols), dtype == DType::f32 ? MPI_FLOAT : MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

// Rows of every rank, counts[r] of them, in the order of ranks.
Matrix allgather_counted(const Matrix& mine, const std::vector<int>& counts) {
  std::vector<int> starts(counts.size());
  Int total = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    starts[r] = static_cast<int>(total);
    total += counts[r];
  }
  Matrix from = mine.contiguous(mine.dtype()), all(total, mine.cols(), mine.dtype());
  if (mine.cols() == 0) return all;
  MPI_Datatype row = row_type(mine.dtype(), mine.cols());
  dispatch(mine.dtype(), [&]<class T>() {
    MPI_Allgatherv(from.view<T>().data, static_cast<int>(from.rows()), row, all.view<T>().data, counts.data(),
                   starts.data(), row, MPI_COMM_WORLD);
  });
  MPI_Type_free(&row);
  return all;
}

void wait_asleep(MPI_Request* request) {
  for (int done = 0; MPI_Test(request, &done, MPI_STATUS_IGNORE), !done;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void finish() {
  MPI_Win_free(&failure_window);
  failures = nullptr;
  MPI_Finalize();
}

// All ranks must be about to do the same with the same shapes; else every rank fails, with two that differ in the
// message.
void require_same_everywhere(const char* what, const std::vector<Matrix>& matrices) {
  if (rank_count == 1) return;
  std::string shapes;
  for (auto& m : matrices) shapes += fmt::format("{}{} {}", shapes.empty() ? "" : ", ", m.shape(), name(m.dtype()));
  double hash = static_cast<double>(std::hash<std::string>{}(shapes) >> 12);
  double extremes[2] = {hash, -hash};
  MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (extremes[0] == -extremes[1]) return;
  constexpr int width = 200;
  shapes.resize(width, '\0');
  std::string all(static_cast<std::size_t>(width) * rank_count, '\0');
  MPI_Allgather(shapes.data(), width, MPI_CHAR, all.data(), width, MPI_CHAR, MPI_COMM_WORLD);
  for (int r = 1; r < rank_count; ++r) {
    std::string_view first(all.c_str()), other(all.c_str() + width * r);
    require(first == other, "{}: rank 0 came with {}, rank {} with {}", what, first, r, other);
  }
}

}  // namespace

Session::Session(int* argc, char*** argv) {
  // Alone, without mpirun, there is no need for Open MPI's daemon.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, this_rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks_of_node);
  int node_rank = 0;
  MPI_Comm_rank(node, &node_rank);
  int* own = nullptr;
  MPI_Win_allocate_shared(node_rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, node, &own, &failure_window);
  MPI_Aint bytes;
  int unit;
  MPI_Win_shared_query(failure_window, 0, &bytes, &unit, &failures);
  if (node_rank == 0) *failures = 0;
  MPI_Barrier(node);
  MPI_Comm_free(&node);
}

Session::~Session() {
  finish();
}

int rank() {
  return this_rank;
}

int size() {
  return rank_count;
}

int node_size() {
  return ranks_of_node;
}

std::string version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string all(text, length);
  return all.substr(0, all.find(','));
}

void allreduce(const std::vector<Matrix>& matrices) {
  Timer timer("allreduce");
  if (rank_count == 1) return;
  require_same_everywhere("allreduce", matrices);
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
  MPI_Op op = how == Reduction::sum ? MPI_SUM : how == Reduction::min ? MPI_MIN : MPI_MAX;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return value;
}

struct Request::State {
  std::vector<Matrix> matrices;
  std::vector<float> f32;
  std::vector<double> f64;
  std::vector<MPI_Request> requests;
  bool triangle = false;

  template <class T>
  void begin(std::vector<T>& packed) {
    packed = pack<T>(matrices);
    for (Int i = 0; i < static_cast<Int>(packed.size()); i += chunk) {
      requests.emplace_back();
      MPI_Iallreduce(MPI_IN_PLACE, packed.data() + i, static_cast<int>(std::min<Int>(chunk, packed.size() - i)),
                     mpi_type<T>(), MPI_SUM, MPI_COMM_WORLD, &requests.back());
    }
  }
  // The lower triangle, row after row.
  template <class T>
  void begin_triangle(std::vector<T>& packed, int root) {
    auto m = matrices[0].view<T>();
    packed.reserve(m.rows * (m.rows + 1) / 2);
    for (Int i = 0; i < m.rows; ++i) packed.insert(packed.end(), m.line(i), m.line(i) + i + 1);
    for (Int i = 0; i < static_cast<Int>(packed.size()); i += chunk) {
      T* part = packed.data() + i;
      int count = static_cast<int>(std::min<Int>(chunk, packed.size() - i));
      requests.emplace_back();
      MPI_Ireduce(this_rank == root ? MPI_IN_PLACE : part, part, count, mpi_type<T>(), MPI_SUM, root, MPI_COMM_WORLD,
                  &requests.back());
    }
  }
  template <class T>
  void unpack_triangle(const std::vector<T>& packed) {
    if (packed.empty()) return;
    auto m = matrices[0].view<T>();
    auto from = packed.begin();
    for (Int i = 0; i < m.rows; ++i)
      for (Int j = 0; j <= i; ++j, ++from) m(i, j) = m(j, i) = *from;
  }
  void finish() {
    if (triangle) {
      unpack_triangle(f32);
      unpack_triangle(f64);
    } else {
      unpack(f32, matrices);
      unpack(f64, matrices);
    }
    matrices.clear();
    requests.clear();
  }
};

Request::Request(std::vector<Matrix> matrices) : state_(std::make_unique<State>()) {
  require_same_everywhere("iallreduce", matrices);
  state_->matrices = std::move(matrices);
  state_->begin(state_->f32);
  state_->begin(state_->f64);
}

Request::Request(const Matrix& symmetric, int root) : state_(std::make_unique<State>()) {
  require(symmetric.rows() == symmetric.cols(), "ireduce_symmetric: a square Matrix expected, got {}",
          symmetric.shape());
  require(root >= 0 && root < rank_count, "ireduce_symmetric: a rank in 0..{} expected, got {}", rank_count - 1, root);
  require_same_everywhere("ireduce_symmetric", {symmetric});
  state_->matrices = {symmetric};
  state_->triangle = true;
  if (rank_count == 1) return;
  symmetric.dtype() == DType::f32 ? state_->begin_triangle(state_->f32, root)
                                  : state_->begin_triangle(state_->f64, root);
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

void bcast(const Matrix& matrix, int root) {
  Timer timer("bcast");
  require(root >= 0 && root < rank_count, "bcast: a rank in 0..{} expected, got {}", rank_count - 1, root);
  require_same_everywhere("bcast", {matrix});
  dispatch(matrix.dtype(), [&]<class T>() {
    auto packed = pack<T>({matrix});
    for (Int i = 0; i < matrix.size(); i += chunk)
      MPI_Bcast(packed.data() + i, static_cast<int>(std::min(chunk, matrix.size() - i)), mpi_type<T>(), root,
                MPI_COMM_WORLD);
    unpack(packed, {matrix});
  });
}

void bcast(std::string& text, int root) {
  Int length = text.size();
  MPI_Bcast(&length, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, MPI_COMM_WORLD);
}

void bcast_idle(std::string& text, int root) {
  Int length = text.size();
  MPI_Request request;
  MPI_Ibcast(&length, 1, MPI_INT64_T, root, MPI_COMM_WORLD, &request);
  wait_asleep(&request);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, MPI_COMM_WORLD);
}

void together(const std::function<void()>& f) {
  std::string message;
  bool failed = false;
  try {
    f();
  } catch (const std::exception& error) {
    failed = true;
    message = error.what();
  }
  int first = static_cast<int>(allreduce(failed ? this_rank : rank_count, Reduction::min));
  if (first == rank_count) return;
  bcast(message, first);
  throw Error(message);
}

std::vector<std::string> allgather(const std::string& text) {
  std::vector<std::string> all(rank_count, text);
  for (int r = 0; r < rank_count; ++r) bcast(all[r], r);
  return all;
}

Matrix allgather(const Matrix& rows) {
  Timer timer("gather");
  // Every rank's rows, columns and type, so that all of them see a difference.
  constexpr int facts = 3;
  int mine[facts] = {static_cast<int>(rows.rows()), static_cast<int>(rows.cols()), static_cast<int>(rows.dtype())};
  std::vector<int> all(facts * rank_count), counts(rank_count);
  MPI_Allgather(mine, facts, MPI_INT, all.data(), facts, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < rank_count; ++r) {
    int cols = all[facts * r + 1], type = all[facts * r + 2];
    require(cols == all[1] && type == all[2], "gather: rank 0 has {} columns of {}, rank {} has {} of {}", all[1],
            name(DType(all[2])), r, cols, name(DType(type)));
    counts[r] = all[facts * r];
  }
  return allgather_counted(rows, counts);
}

Matrix gather_rows(const Matrix& local, const Layout& layout, const Index& rows) {
  rows.require_within("gather_rows", layout.n);
  require(local.rows() == layout.count(this_rank), "gather_rows: this rank's {} rows expected, got {}",
          layout.count(this_rank), local.rows());
  auto positions = layout.owned_positions(rows, this_rank);
  Matrix mine(positions.size(), local.cols(), local.dtype());
  Int first = layout.first(this_rank);
  dispatch(local.dtype(), [&]<class T>() {
    auto to = mine.view<T>(), from = local.view<T>();
    for (Int i = 0; i < mine.rows(); ++i)
      for (Int j = 0; j < mine.cols(); ++j) to(i, j) = from(rows[positions[i]] - first, j);
  });
  return allgather_owned(mine, layout, rows);
}

Matrix allgather_owned(const Matrix& mine, const Layout& layout, const Index& rows) {
  Timer timer("gather_rows");
  std::vector<int> counts(rank_count);
  for (Int row : rows) ++counts[layout.owner(row)];
  Matrix by_rank = allgather_counted(mine, counts), ordered(rows.size(), mine.cols(), mine.dtype());
  std::vector<Int> next(rank_count);
  for (int r = 1; r < rank_count; ++r) next[r] = next[r - 1] + counts[r - 1];
  dispatch(mine.dtype(), [&]<class T>() {
    auto from = by_rank.view<T>(), to = ordered.view<T>();
    for (Int i = 0; i < rows.size(); ++i) std::copy_n(from.line(next[layout.owner(rows[i])]++), to.cols, to.line(i));
  });
  return ordered;
}

void barrier() {
  Timer timer("barrier");
  MPI_Barrier(MPI_COMM_WORLD);
}

bool barrier_within(double seconds) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

void abort(const std::string& message) {
  bool first = !failures || std::atomic_ref<int>(*failures).fetch_add(1) == 0;
  if (!first) {  // another rank of this machine is already ending the job
    std::this_thread::sleep_for(std::chrono::seconds(5));
    _exit(1);
  }
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  if (rank_count > 1) MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

void exit(int status) {
  std::fflush(nullptr);
  if (status == 0)
    finish();
  else if (rank_count > 1)
    MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

}  // namespace kbcd::comm
