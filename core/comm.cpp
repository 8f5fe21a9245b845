#include "core/comm.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "core/comm_parts.hpp"
#include "core/error.hpp"
#include "core/timers.hpp"

namespace kbcd::comm {
namespace {

int this_rank = 0, rank_count = 1, ranks_of_node = 1;
bool uses_mpi = false;
MPI_Win board_window = MPI_WIN_NULL;
board::Slot* slots = nullptr;  // of the ranks of this machine; the first one's `failures` counts those of all

MPI_Comm comparisons = MPI_COMM_NULL;
bool is_checking = true;
std::string (*call_sites)() = nullptr;
std::atomic<void (*)()> last_act = nullptr;

void act_last() {
  if (auto act = last_act.exchange(nullptr)) act();
}

// Whether a launcher (mpirun, srun, those of other MPIs) started this process. Alone, it needs no MPI, whose start and
// end take longer than those of everything else.
bool was_launched() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK") || std::getenv("PMI_RANK") ||
         std::getenv("PMI_FD");
}

void end_job(const std::string& message, int status) {
  abort("kbcd: " + message, status);
}

void finish() {
  board::stop();
  hosts::leave();
  slots = nullptr;
  if (!uses_mpi) return;
  MPI_Comm_free(&comparisons);
  MPI_Win_free(&board_window);
  MPI_Finalize();
}

board::Slot* new_slot(void* place) {
  auto slot = new (place) board::Slot;
  slot->rank = this_rank;
  slot->pid = getpid();
  return slot;
}

// A slot in the memory that the ranks of this machine share, and the thread that watches over them.
void start_board() {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, this_rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks_of_node);
  int node_rank = 0, unit = sizeof(board::Slot);
  MPI_Comm_rank(node, &node_rank);
  void* own = nullptr;
  MPI_Aint bytes = sizeof(board::Slot);
  MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, node, &own, &board_window);
  new_slot(own);
  MPI_Win_shared_query(board_window, 0, &bytes, &unit, &slots);
  MPI_Barrier(node);
  hosts::meet(node);
  MPI_Comm_free(&node);
  board::start(slots, ranks_of_node, node_rank, hosts::watch(slots[0], end_job));
}

void start_board_alone() {
  alignas(board::Slot) static char own[sizeof(board::Slot)];
  slots = new_slot(own);
  board::start(slots, 1, 0, hosts::watch(slots[0], end_job));
}

// Of the ranks that fail together one reports: the first of its host, and of these the first of the job.
bool is_first_to_fail() {
  return !slots || (slots[0].failures.fetch_add(1) == 0 && hosts::may_report(slots[0]));
}

}  // namespace

Session::Session(int* argc, char*** argv, bool isolated) {
  if (!was_launched()) {
    start_board_alone();
    return;
  }
  if (isolated) {
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
    // The memory that ranks share is a file, which MPI removes at the end: not in /dev/shm, where others have theirs.
    if (!job_folder().empty()) setenv("OMPI_MCA_btl_vader_backing_directory", job_folder().c_str(), 1);
  }
  // On one machine, no drivers of networks are loaded: some of them measure the clock for 0.2 s.
  const char *ranks = std::getenv("OMPI_COMM_WORLD_SIZE"), *local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (ranks && local && std::string_view(ranks) == local) setenv("OMPI_MCA_pml", "ob1", 0);
  hosts::begin_start();
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  uses_mpi = true;
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  MPI_Comm_dup(MPI_COMM_WORLD, &comparisons);
  start_board();
  hosts::end_start();
}

Session::~Session() {
  finish();
}

std::string job_folder() {
  const char* folder = std::getenv("OMPI_MCA_orte_jobfam_session_dir");
  return folder ? folder : "";
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

std::string host_of(int rank) {
  return hosts::several() ? hosts::name(rank) : "";
}

std::string who() {
  if (rank_count == 1) return "kbcd: ";
  return fmt::format("[rank {}/{}{}] ", this_rank, rank_count, hosts::several() ? " on " + hosts::name(this_rank) : "");
}

std::string version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string all(text, length);
  return all.substr(0, all.find(','));
}

bool checking() {
  return is_checking && rank_count > 1;
}

void set_checking(bool on) {
  is_checking = on;
}

void set_call_sites(std::string (*sites)()) {
  call_sites = sites;
}

std::string site_of_call() {
  return call_sites ? call_sites() : "";
}

MPI_Comm check_comm() {
  return comparisons;
}

bool same_everywhere(std::uint64_t hash) {
  return rank_count == 1 || compare(hash, nullptr);
}

void require_same_everywhere(const Call& call, Parcel* parcel) {
  if (compare(call.hash(), parcel)) return;
  std::string mine = pack(call), all(static_cast<std::size_t>(call_width) * rank_count, '\0');
  MPI_Allgather(mine.data(), call_width, MPI_CHAR, all.data(), call_width, MPI_CHAR, comparisons);
  std::vector<Call> calls;
  for (int r = 0; r < rank_count; ++r) calls.push_back(unpack_call(all.data() + call_width * r));
  throw Error(difference(calls));
}

void require_same(const char* operation, const std::string& details) {
  Collective here(operation, [&] { return details; });
}

std::string shapes(const std::vector<Matrix>& matrices) {
  std::string text;
  for (auto& m : matrices) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", m.shape(), name(m.dtype()));
  return text;
}

void require_numbers(const std::vector<Matrix>& matrices) {
  for (auto& m : matrices)
    require(!m.released(), "this Matrix ({}) was released; it has no numbers any more", m.shape());
}

void together(const std::function<void()>& f) {
  std::string message;
  bool failed = false;
  try {
    f();
  } catch (const std::exception& error) {
    failed = true;
    message = error.what();
    if (hosts::several()) message += fmt::format(" (on host {})", hosts::name(this_rank));
  }
  Parcel outcome{failed ? "failed" : ""};
  Collective here(
      "together", [] { return ""; }, failed ? "failed: " + message : "", travels(0) ? &outcome : nullptr);
  int first = rank_count;
  if (travels(0))
    first = static_cast<int>(std::find(outcome.all.begin(), outcome.all.end(), "failed") - outcome.all.begin());
  else
    first = static_cast<int>(allreduce(failed ? this_rank : rank_count, Reduction::min));
  if (first == rank_count) return;
  bcast(message, first);
  throw Error(message);
}

void barrier() {
  Timer timer("barrier");
  Collective here("barrier");
  if (size() > 1) MPI_Barrier(MPI_COMM_WORLD);
}

bool barrier_within(double seconds) {
  if (size() == 1) return true;
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

void meet(const char* place, const std::string& failure) {
  Call call{place, "", "", failure.empty() ? "" : "it failed: " + failure};
  for (bool met = !checking(); !met;) try {
      Collective here(call);
      met = true;
    } catch (const Error&) {
    }
}

void end_of_script() {
  if (checking()) Collective here(Call{end_of_script_name, "", ""});
}

void on_abort(void (*act)()) {
  last_act = act;
}

void abort(const std::string& message, int status) {
  act_last();
  if (!is_first_to_fail()) {  // another rank is already ending the job
    if (hosts::several()) hosts::force_end_within(4, status);
    std::this_thread::sleep_for(std::chrono::seconds(5));
    _exit(status);
  }
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(nullptr);
  if (hosts::several()) hosts::force_end_within(board::on_watch_thread() ? 2 : 3, status);
  if (rank_count > 1) MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

void end_now(const std::string& message, int status) {
  // Whatever happens below: the script may hold the locks of stdout, of malloc and of MPI.
  hosts::force_end_within(10, status);
  bool first = is_first_to_fail();
  if (first) hosts::force_end_within(5, status);
  act_last();
  if (first) {
    std::string line = message + "\n";
    pollfd errors{STDERR_FILENO, POLLOUT, 0};
    if (poll(&errors, 1, 1000) == 1 && write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(status);
    if (ftrylockfile(stdout) == 0) std::fflush(stdout);
    if (rank_count > 1) MPI_Abort(MPI_COMM_WORLD, status);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
  _exit(status);
}

void connect_all() {
  if (size() == 1) return;
  // The k-th neighbour of every rank at a time; large enough that MPI also sets up what it needs for large messages.
  constexpr int count = 1 << 20;
  std::vector<char> to(count), from(count);
  for (int k = 1; k < rank_count; ++k)
    MPI_Sendrecv(to.data(), count, MPI_CHAR, (this_rank + k) % rank_count, 0, from.data(), count, MPI_CHAR,
                 (this_rank + rank_count - k) % rank_count, 0, comparisons, MPI_STATUS_IGNORE);
  MPI_Barrier(comparisons);
}

void exit(int status) {
  act_last();
  std::fflush(nullptr);
  if (status == 0) {
    end_of_script();
    finish();
  } else if (rank_count > 1) {
    is_first_to_fail();  // and no other has to report it
    if (hosts::several()) hosts::force_end_within(3, status);
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  _exit(status);
}

}  // namespace kbcd::comm
