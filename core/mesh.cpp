#include "core/mesh.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "core/error.hpp"

namespace kbcd::mesh {
namespace {

// What both sides say first.
struct Greeting {
  std::array<unsigned char, 16> secret;
  std::int32_t from, to;
};

Greeting greeting(const Secret& secret, bool answer, int from, int to) {
  Greeting g{};
  std::copy_n(secret.begin() + (answer ? 16 : 0), 16, g.secret.begin());
  g.from = from;
  g.to = to;
  return g;
}

bool same(const Greeting& a, const Greeting& b) {  // in the same time wherever they differ
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.secret.size(); ++i) difference |= a.secret[i] ^ b.secret[i];
  return difference == 0 && a.from == b.from && a.to == b.to;
}

// A connection until both sides have presented themselves.
struct Attempt {
  int socket, peer = -1;  // -1: who it is, is not known yet
  bool connects = false;  // this side began it
  bool open = false;
  std::size_t received = 0;
  Greeting theirs{};
};

std::optional<sockaddr_storage> socket_address(const char* text, std::uint16_t port, socklen_t* length) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    *length = sizeof *v4;
  } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    *length = sizeof *v6;
  } else {
    return std::nullopt;
  }
  return address;
}

int new_socket(int family) {
  int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
  if (socket >= 0) setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

class Meeting {
 public:
  Meeting(int listener, const std::vector<Contact>& hosts, int here, const Secret& secret)
      : listener_(listener), here_(here), secret_(secret), sockets_(hosts.size(), -1) {
    for (int host = 0; host < here; ++host)
      for (auto& address : hosts[host].addresses) begin(host, address.data(), hosts[host].port);
  }
  ~Meeting() {
    for (auto& attempt : attempts_) close(attempt.socket);
  }
  bool complete() const { return std::count(sockets_.begin(), sockets_.end(), -1) == 1; }
  const std::vector<int>& sockets() const { return sockets_; }

  void step(int milliseconds) {
    std::vector<pollfd> waits{{listener_, POLLIN, 0}};
    for (auto& a : attempts_)
      waits.push_back({a.socket, static_cast<short>(a.connects && !a.open ? POLLOUT : POLLIN), 0});
    if (poll(waits.data(), waits.size(), milliseconds) <= 0) return;
    std::vector<Attempt> before;
    std::swap(before, attempts_);
    for (std::size_t i = 0; i < before.size(); ++i) {
      bool kept = !waits[i + 1].revents || go_on(before[i]);
      bool taken = before[i].peer >= 0 && sockets_[before[i].peer] == before[i].socket;
      if (kept && !taken) attempts_.push_back(before[i]);
      if (!kept) close(before[i].socket);
    }
    if (waits[0].revents) accept_all();
  }

 private:
  static constexpr std::size_t most_strangers = 256;

  void begin(int host, const char* text, std::uint16_t port) {
    socklen_t length = 0;
    auto address = socket_address(text, port, &length);
    if (!address) return;
    int socket = new_socket(address->ss_family);
    if (socket < 0) return;
    if (::connect(socket, reinterpret_cast<sockaddr*>(&*address), length) == 0 || errno == EINPROGRESS)
      attempts_.push_back({socket, host, true});
    else
      close(socket);
  }

  void accept_all() {
    for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (attempts_.size() < most_strangers + sockets_.size())
        attempts_.push_back({socket});
      else
        close(socket);
    }
  }

  static bool send_greeting(int socket, const Greeting& g) {
    return send(socket, &g, sizeof g, MSG_NOSIGNAL) == sizeof g;  // a new socket has room for it
  }

  // False: it is of no use.
  bool go_on(Attempt& a) {
    if (a.connects && sockets_[a.peer] >= 0) return false;  // another address was faster
    if (a.connects && !a.open) {
      int error = 0;
      socklen_t length = sizeof error;
      a.open = true;
      return getsockopt(a.socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0 &&
             send_greeting(a.socket, greeting(secret_, false, here_, a.peer));
    }
    ssize_t got = recv(a.socket, reinterpret_cast<char*>(&a.theirs) + a.received, sizeof a.theirs - a.received, 0);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    a.received += got;
    if (a.received < sizeof a.theirs) return true;
    return a.connects ? take_answer(a) : answer(a);
  }

  bool take_answer(Attempt& a) {
    if (!same(a.theirs, greeting(secret_, true, a.peer, here_))) return false;
    sockets_[a.peer] = a.socket;
    return true;
  }

  bool answer(Attempt& a) {
    int from = a.theirs.from;
    bool expected = from > here_ && from < static_cast<int>(sockets_.size()) && sockets_[from] < 0;
    if (!expected || !same(a.theirs, greeting(secret_, false, from, here_))) return false;
    if (!send_greeting(a.socket, greeting(secret_, true, here_, from))) return false;
    a.peer = from;
    sockets_[from] = a.socket;
    return true;
  }

  int listener_, here_;
  const Secret& secret_;
  std::vector<int> sockets_;
  std::vector<Attempt> attempts_;
};

}  // namespace

std::vector<Interface> interfaces() {
  std::vector<Interface> all;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return all;
  for (auto* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || one->ifa_flags & IFF_LOOPBACK) continue;
    char text[Contact::width] = "";
    if (one->ifa_addr->sa_family == AF_INET)
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    if (auto* v6 = reinterpret_cast<sockaddr_in6*>(one->ifa_addr);
        one->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
      inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    if (*text) all.push_back({one->ifa_name, text});
  }
  freeifaddrs(list);
  return all;
}

Secret new_secret() {
  Secret secret;
  require(getrandom(secret.data(), secret.size(), 0) == static_cast<ssize_t>(secret.size()),
          "the system has no random numbers for the job's secret");
  return secret;
}

Listener::Listener() {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  int off = 0;
  socket_ = new_socket(AF_INET6);
  bool bound = socket_ >= 0 && setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
               bind(socket_, reinterpret_cast<sockaddr*>(&any6), sizeof any6) == 0;
  if (!bound) {  // a kernel without IPv6
    if (socket_ >= 0) close(socket_);
    socket_ = new_socket(AF_INET);
    bound = socket_ >= 0 && bind(socket_, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0;
  }
  if (bound) listen(socket_, SOMAXCONN);
}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

Contact Listener::contact() const {
  Contact contact;
  sockaddr_in6 name{};
  socklen_t length = sizeof name;
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &length) == 0) contact.port = ntohs(name.sin6_port);
  std::size_t i = 0;
  for (auto& one : interfaces())
    if (i < contact.addresses.size())
      std::strncpy(contact.addresses[i++].data(), one.address.c_str(), Contact::width - 1);
  return contact;
}

std::vector<int> Listener::connect(const std::vector<Contact>& hosts, int here, const Secret& secret, double seconds) {
  Meeting meeting(socket_, hosts, here, secret);
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!meeting.complete() && std::chrono::steady_clock::now() < end) meeting.step(50);
  return meeting.sockets();
}

}  // namespace kbcd::mesh
