// The only door to MPI: the ranks of this job, sums over them, and the orderly or sudden end of the job.
//
// Every function but rank() and the like is collective: all ranks call it, in the same order. While checking() is on,
// each first compares over the ranks what it is about to do (operation, shapes, types, place in the script): where that
// differs, every rank throws an Error that tells what each does, instead of a deadlock or a wrong sum. (Not bcast_idle
// and barrier_within, which wait for ranks that may never come.)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/index.hpp"
#include "core/matrix.hpp"

namespace kbcd::comm {

// Starts MPI for the life of the object. isolated: the kernel will not let the ranks read each other's memory
// (access.hpp), and they must not try.
class Session {
 public:
  Session(int* argc, char*** argv, bool isolated = false);
  ~Session();
  Session(const Session&) = delete;
};

int rank();
int size();
int node_size();  // ranks on this machine
inline Layout layout(Int n) {
  return {n, size()};
}
std::string version();

bool checking();  // on by default where there are several ranks
void set_checking(bool on);
// How to know where the script is: see Call::sites. It may throw where the script must not call the other ranks.
void set_call_sites(std::string (*sites)());

// What must be the same on every rank though nothing of it travels, such as options: where it differs, every rank
// throws an Error with what each has. Nothing happens while checking() is off.
void require_same(const char* operation, const std::string& details);

// Sums, in place on every rank. All matrices travel in one message of each type.
void allreduce(const std::vector<Matrix>& matrices);
enum class Reduction { sum, min, max };
double allreduce(double value, Reduction how);

// Sums begun now and finished by wait(); the matrices must not be touched in between.
class Request {
 public:
  // The same sums as allreduce.
  explicit Request(std::vector<Matrix> matrices);
  // The sum of symmetric matrices, on `root` only; their lower triangles travel.
  Request(const Matrix& symmetric, int root);
  ~Request();
  void wait();
  bool done();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void bcast(const Matrix& matrix, int root);
void bcast(std::string& text, int root);
void bcast_idle(std::string& text, int root);  // the same, but waits asleep: for a person at a prompt

// Runs f, which may fail on some ranks but must not leave a collective half-way, and lets the ranks agree: where it
// failed on any, every rank throws what the first of these threw. So an error in one rank's share of the work hangs
// nobody.
void together(const std::function<void()>& f);

// The text of every rank, on every rank.
std::vector<std::string> allgather(const std::string& text);
// Text r of this rank goes to rank r; what comes back is the text that each rank had for this one.
std::vector<std::string> alltoall(const std::vector<std::string>& texts);
// The rows of all ranks, one rank after the other, on every rank.
Matrix allgather(const Matrix& rows);
// Rows `rows` of a distributed matrix whose share here is `local`; owners as in `layout`. On every rank.
Matrix gather_rows(const Matrix& local, const Layout& layout, const Index& rows);
// The same when `mine` already holds this rank's part of `rows`, in the order of `rows`.
Matrix allgather_owned(const Matrix& mine, const Layout& layout, const Index& rows);

void barrier();
// Waits until every rank is here, for at most `seconds`; false if some are not.
bool barrier_within(double seconds);

// Waits until every rank is at the place of this name, while others that are elsewhere get their errors. A rank that
// failed tells them why. Only while checking.
void meet(const char* place, const std::string& failure);
// All ranks have run the script to its end.
void end_of_script();

// Ends the whole job at once. Of the ranks that fail together, one a machine prints its message.
[[noreturn]] void abort(const std::string& message, int status = 1);
// Leaves with a status: in good order when it is 0 (all ranks call it), else taking the whole job along.
[[noreturn]] void exit(int status);

}  // namespace kbcd::comm
