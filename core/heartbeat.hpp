// The heartbeat between the hosts of a job: what their leaders (the first rank of each host) know of each other.
//
// Over connections beside MPI's (mesh.hpp) each leader sends every other one a byte twice a second. A host that sends
// nothing for longer than the patience, or whose leader has died, is reported, and the job ends. Of several hosts that
// see a failure one reports it: a leader asks the first other one that it hears before its host prints. Once a host
// ends, all do, and where mpirun cannot end them, they end by themselves, with the launcher on their host.
//
// Within one machine, board.hpp does the same by shared memory; the thread is the same one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/board.hpp"

namespace kbcd::heartbeat {

struct Peer {
  std::string host, ranks;  // "h1", "ranks 4-7"
  int rank = 0, pid = 0;    // of its leader
  int socket = -1;
};

class Heart {
 public:
  // host: the slot that the ranks of this host share; end(message, status) ends the job.
  Heart(std::vector<Peer> peers, int here, board::Slot& host, std::function<void(const std::string&, int)> end);
  ~Heart();  // reports to the others that this host leaves in good order
  Heart(const Heart&) = delete;

  void tick(bool slept);  // ten times a second; slept: the thread was paused, so that silence proves nothing

 private:
  struct State {
    int silent = 0, gone = 0;  // ticks
    bool left = false, closed = false;
  };
  void send(std::size_t peer, char byte);
  void send_all(char byte);
  void receive(std::size_t peer);
  void take(std::size_t peer, char byte);
  void take_claim();
  void look_for_failures();
  std::string failure(std::size_t peer) const;

  std::vector<Peer> peers_;
  std::size_t here_;
  board::Slot& host_;
  std::function<void(const std::string&, int)> end_;
  std::vector<State> states_;
  int ticks_ = 0;
  bool claimed_ = false, asked_ = false, told_ = false, reported_ = false;
};

}  // namespace kbcd::heartbeat
