// Connections (TCP) from each host of a job to every other, beside those of MPI, for the heartbeat (heartbeat.hpp).
//
// Every host listens on a port of its own, and connects to the hosts before it at all of their addresses at once: the
// first of these at which the right host answers is kept. Who connects must present the job's secret, and so must who
// answers; any other connection is closed. When all are there the port is closed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kbcd::mesh {

// Where a host listens; a message as it is.
struct Contact {
  static constexpr int most = 16, width = 48;
  std::uint16_t port = 0;
  std::array<std::array<char, width>, most> addresses{};  // as text, empty from the last one on
};

// The names of the interfaces of this machine and their addresses: "eth0 10.0.0.1"; without those for itself alone.
struct Interface {
  std::string name, address;
};
std::vector<Interface> interfaces();

using Secret = std::array<unsigned char, 32>;  // the first half goes to the side that accepts, the second is its answer
Secret new_secret();

class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Contact contact() const;
  // The sockets to all hosts, which do not block; -1 for this one, and for those that could not be reached in time.
  std::vector<int> connect(const std::vector<Contact>& hosts, int here, const Secret& secret, double seconds);

 private:
  int socket_ = -1;
};

}  // namespace kbcd::mesh
