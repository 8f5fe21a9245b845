// The hosts of a job that has several: their names, the connections of their leaders (the first rank of each) for the
// heartbeat, and an end of the job that does not depend on a network that works.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include "core/comm_parts.hpp"
#include "core/heartbeat.hpp"
#include "core/mesh.hpp"

namespace kbcd::comm::hosts {
namespace {

// Of a rank, as a message.
struct Place {
  char host[64];
  int leader, pid;  // the leader's rank
};

std::vector<Place> places;           // of all ranks; empty where all are on one host
std::vector<heartbeat::Peer> peers;  // on leaders
int own_index = 0;
std::unique_ptr<heartbeat::Heart> heart;
pid_t launcher = 0;
volatile int forced_status = 1;
int ticks_of_end = 0;  // since this host knows that the job ends
bool guarded = false;

void learn_places(int leader) {
  Place mine{};
  gethostname(mine.host, sizeof mine.host - 1);
  mine.leader = leader;
  mine.pid = getpid();
  places.resize(size());
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, places.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
}

void learn_peers() {
  for (int leader = 0; leader < size(); ++leader) {
    if (places[leader].leader != leader) continue;
    std::vector<int> ranks;
    for (int r = 0; r < size(); ++r)
      if (places[r].leader == leader) ranks.push_back(r);
    if (leader == rank()) own_index = static_cast<int>(peers.size());
    peers.push_back({places[leader].host, list_ranks(ranks), leader, places[leader].pid});
  }
}

void connect_leaders(MPI_Comm leaders) {
  mesh::Listener listener;
  std::vector<mesh::Contact> contacts(peers.size());
  mesh::Contact mine = listener.contact();
  mesh::Secret secret = mesh::new_secret();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, contacts.data(), sizeof mine, MPI_BYTE, leaders);
  MPI_Bcast(secret.data(), static_cast<int>(secret.size()), MPI_BYTE, 0, leaders);
  constexpr double seconds = 5;  // less than the start may take (comm_start.cpp)
  auto sockets = listener.connect(contacts, own_index, secret, seconds);
  for (int i = 0; i < static_cast<int>(peers.size()); ++i) {
    peers[i].socket = sockets[i];
    if (sockets[i] < 0 && i > own_index)
      fmt::print(stderr,
                 "kbcd: hosts {} and {} cannot connect to each other beside MPI (TCP; a firewall?): if one of them "
                 "fails, the other may not notice\n",
                 peers[own_index].host, peers[i].host);
  }
}

void tick(board::Slot& first, bool slept) {
  if (!heart) return;
  heart->tick(slept);
  if (first.failures > 0 && !guarded) leave_guard(launcher, 3);
  guarded = first.failures > 0;
}

}  // namespace

pid_t find_launcher() {
  std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
  std::string name;
  std::getline(file, name);
  for (const char* one : {"mpirun", "orterun", "mpiexec", "orted", "prterun", "prted"})
    if (name == one) return getppid();
  return 0;
}

// By the system call itself: fork would first wait for the locks of malloc.
void leave_guard(pid_t ended, unsigned seconds) {
  if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0) return;
  setsid();
  close_range(0, ~0U, 0);
  sleep(seconds);
  if (ended) kill(ended, SIGKILL);
  board::signal_others(SIGKILL);
  _exit(0);
}

bool several() {
  return !places.empty();
}

std::string name(int rank) {
  return places[rank].host;
}

void meet(MPI_Comm node) {
  int node_rank = 0, ranks_here = 0, leader = rank();
  MPI_Comm_rank(node, &node_rank);
  MPI_Comm_size(node, &ranks_here);
  if (ranks_here == size()) return;
  launcher = find_launcher();
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  learn_places(leader);
  MPI_Comm leaders;
  MPI_Comm_split(MPI_COMM_WORLD, node_rank == 0 ? 0 : MPI_UNDEFINED, rank(), &leaders);
  if (node_rank != 0) return;
  learn_peers();
  connect_leaders(leaders);
  MPI_Comm_free(&leaders);
}

board::Watch watch(board::Slot& first, std::function<void(const std::string&, int)> end) {
  if (!several()) return {std::move(end)};
  if (!peers.empty()) heart = std::make_unique<heartbeat::Heart>(peers, own_index, first, end);
  auto each_tick = [&first](bool slept) {
    constexpr int most_ticks = 5 * board::ticks_per_second / 2;  // for mpirun to end the job
    tick(first, slept);
    if (first.failures > 0 && ++ticks_of_end > most_ticks) force_end(1);
  };
  return {std::move(end), each_tick, name(rank())};
}

void leave() {
  heart.reset();
}

bool may_report(board::Slot& first) {
  if (!several()) return true;
  first.claim = board::Slot::asked;
  for (int i = 0; i < 50; ++i) {
    if (board::on_watch_thread()) tick(first, false);
    if (first.claim != board::Slot::asked) return first.claim == board::Slot::granted;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void force_end(int status) {
  if (launcher && getppid() == launcher) kill(launcher, SIGKILL);
  board::signal_others(SIGKILL);
  _exit(status);
}

void force_end_within(unsigned seconds, int status) {
  forced_status = status;
  std::signal(SIGALRM, [](int) {
    if (several())
      force_end(forced_status);
    else
      _exit(forced_status);
  });
  alarm(seconds);
}

}  // namespace kbcd::comm::hosts
