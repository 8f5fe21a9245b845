// All calls of MPI: the ranks of this job, sums over them, and the orderly or sudden end of the job.
//
// Every function except rank() and the like is collective: all ranks call it, in the same order. While checking() is
// on, the ranks first compare what each is about to do (operation, shapes, types, place in the script). Where these
// differ, every rank throws an Error that lists what each does, instead of a deadlock or a wrong sum. (bcast_idle and
// barrier_within do not check: they wait for ranks that may never arrive.)
#pragma once

#include <cstdint>
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
int node_size();                // ranks on this machine
std::string host_of(int rank);  // its name; empty where all ranks are on one machine
std::string who();              // begins a message of this rank: "[rank 1/3] ", with its host where there are several
inline Layout layout(Int n) {
  return {n, size()};
}
std::string version();
std::string job_folder();  // where mpirun keeps the files of this job on this machine; empty without mpirun

bool checking();  // on by default where there are several ranks
void set_checking(bool on);
// Sets the function that finds where the script is (see Call::sites). It may throw where a collective call is not
// allowed.
void set_call_sites(std::string (*sites)());

bool same_everywhere(std::uint64_t hash);  // one small message, also while checking() is off

// Requires that a text, such as options, is the same on every rank: where it differs, every rank throws an Error with
// what each has. Does nothing while checking() is off.
void require_same(const char* operation, const std::string& details);

// Sums, in place on every rank. The matrices of each type are sent in one message.
void allreduce(const std::vector<Matrix>& matrices);
enum class Reduction { sum, min, max };
double allreduce(double value, Reduction how);

// Sums begun now and finished by wait(); the matrices must not be touched in between.
class Request {
 public:
  // The same sums as allreduce.
  explicit Request(std::vector<Matrix> matrices);
  // The sum of symmetric matrices, on `root` only; their lower triangles are sent.
  Request(const Matrix& symmetric, int root);
  ~Request();
  void wait();
  bool done();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void bcast(const std::vector<Matrix>& matrices, int root);  // in one message
void bcast(std::string& text, int root);
void bcast_idle(std::string& text, int root);  // the same, but waits asleep: for a person at a prompt

// Runs f, which may fail on some ranks but must not fail inside a collective call, and lets the ranks agree: if it
// failed on any rank, every rank throws the error of the first of these. So an error in one rank's share of the work
// does not make the others hang.
void together(const std::function<void()>& f);

// The text of every rank, on every rank.
std::vector<std::string> allgather(const std::string& text);
// Sends text r of this rank to rank r; returns the texts that the ranks sent to this one.
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

// Waits until every rank is at the place of this name; ranks that are elsewhere get errors. A rank that failed passes
// its reason to them. Only while checking.
void meet(const char* place, const std::string& failure);
// All ranks have run the script to its end.
void end_of_script();

// Ends the whole job at once. Of the ranks that fail together, one prints its message.
[[noreturn]] void abort(const std::string& message, int status = 1);
// What abort and exit do first, on any thread: the terminal gets its mode back.
void on_abort(void (*act)());
// The same from another thread, while this one may hold any lock: within ten seconds the process ends.
[[noreturn]] void end_now(const std::string& message, int status);
// Lets every rank exchange a message with every other: MPI opens connections when they are first used, which a confined
// process (confine.hpp) cannot.
void connect_all();
// Exits with a status: in good order when it is 0 (all ranks call it), else ending the whole job.
[[noreturn]] void exit(int status);

}  // namespace kbcd::comm
