// What the files of comm share, for their use alone: a collective call from its start to its end, and matrices as
// messages.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/board.hpp"
#include "core/check.hpp"
#include "core/comm.hpp"
#include "core/timers.hpp"

namespace kbcd::comm {

constexpr Int chunk = Int{1} << 28;  // MPI counts are ints

// Bytes of a buffer that this rank gives to MPI, for the timers; alone, a rank sends nothing.
inline void count_sent(double bytes) {
  if (size() > 1) timers::sent(bytes);
}

MPI_Comm check_comm();       // for comparisons of calls
std::string site_of_call();  // where the script is

// Data that travels with the comparison of a call: the bytes of this rank, and then those of every rank.
struct Parcel {
  std::string mine;
  std::vector<std::string> all = {};
};

// Whether so many bytes of a rank travel with the comparison, rather than in a call of MPI's for them alone; of 0
// bytes: whether any do, among so many ranks.
bool travels(Int bytes);
// Whether all ranks have this hash. They must all have a parcel, or none of them; only if it travels().
bool compare(std::uint64_t hash, Parcel* parcel);
// An Error with what each rank does, where that differs.
void require_same_everywhere(const Call& call, Parcel* parcel);

// The hosts of the job (comm_hosts.cpp).
namespace hosts {

void begin_start();  // before MPI begins: where it does not bring the ranks together, the job ends (comm_start.cpp)
void end_start();
pid_t find_launcher();  // the process of mpirun on this host that has started this rank; 0: another one has
// mpirun and orted end their ranks, and then may wait for ever for a host that does not answer. A process that stays
// behind ends the launcher, and ranks of this host that are left, after so many seconds (where the sandbox lets it).
void leave_guard(pid_t launcher, unsigned seconds);
bool several();
std::string name(int rank);
void meet(MPI_Comm node);  // they learn of each other; node: the ranks of this host
// What the thread of the board does, given the slot that the ranks of this host share.
board::Watch watch(board::Slot& first, std::function<void(const std::string& message, int status)> end_job);
void leave();
// Whether this host is the one that reports a failure; the first rank of a host that fails asks.
bool may_report(board::Slot& first);
// Ends this host's part of the job, the launcher included, whatever MPI, the network and other threads do.
[[noreturn]] void force_end(int status);
void force_end_within(unsigned seconds, int status);  // on one host this process alone

}  // namespace hosts

// A collective call from its start to its end. The outermost one is checked and shown on the board.
class Collective {
 public:
  template <class Details>
  Collective(const char* operation, Details details, const std::string& note = "", Parcel* parcel = nullptr) {
    if (checking() && depth_ == 0) {
      enter({operation, details(), site_of_call(), note}, parcel);
    } else {
      if (parcel) compare(0, parcel);
      ++depth_;
    }
  }
  explicit Collective(const char* operation) : Collective(operation, [] { return ""; }) {}
  explicit Collective(const Call& call) { enter(call); }
  ~Collective() {
    if (--depth_ == 0 && checking()) board::end_call();
  }
  Collective(const Collective&) = delete;

 private:
  static void enter(const Call& call, Parcel* parcel = nullptr) {
    board::begin_call(call.place());
    try {
      require_same_everywhere(call, parcel);
    } catch (...) {
      board::end_call();
      throw;
    }
    ++depth_;
  }
  static inline int depth_ = 0;
};

template <class T>
MPI_Datatype mpi_type() {
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
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

// The numbers of all matrices as bytes, those of f32 first; and the sum of such parts, in their order, into the
// matrices.
Int bytes_of(const std::vector<Matrix>& matrices);
std::string pack_bytes(const std::vector<Matrix>& matrices);
void unpack_sum(std::span<const std::string> parts, const std::vector<Matrix>& matrices);

std::string shapes(const std::vector<Matrix>& matrices);
// An Error where one was released. Before the collective call: a rank that fails within it leaves the others waiting,
// or MPI with a buffer that is gone.
void require_numbers(const std::vector<Matrix>& matrices);

}  // namespace kbcd::comm
