#include "core/heartbeat.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kbcd::heartbeat {
namespace {

// A message is one byte; others are ignored.
enum Message : char { beat = 'b', leaves = 'l', ends = 'e', claims = 'c', granted = 'g', denied = 'd' };

constexpr int beat_ticks = 5;
constexpr int grace_ticks = 10;   // beyond the patience: ranks of that host itself, and mpirun, report first
constexpr int gone_ticks = 15;    // that mpirun has to report a rank that was killed
constexpr int heard_ticks = 15;   // within these, a host counts as reachable
constexpr int answers_ms = 3000;  // within these, the system of a host has confirmed what was sent to it

// Whether the other host's system answers: then its process does not.
bool host_answers(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_last_ack_recv < answers_ms;
}

}  // namespace

Heart::Heart(std::vector<Peer> peers, int here, board::Slot& host, std::function<void(const std::string&, int)> end)
    : peers_(std::move(peers)), here_(here), host_(host), end_(std::move(end)), states_(peers_.size()) {
  for (std::size_t i = 0; i < peers_.size(); ++i) states_[i].left = peers_[i].socket < 0;
}

Heart::~Heart() {
  send_all(leaves);
  for (auto& peer : peers_)
    if (peer.socket >= 0) close(peer.socket);
}

void Heart::tick(bool slept) {
  if (ticks_++ % beat_ticks == 0) send_all(beat);
  for (std::size_t i = 0; i < peers_.size(); ++i) receive(i);
  if (slept)
    for (auto& state : states_) state.silent = 0;
  if (host_.claim == board::Slot::asked) take_claim();
  if (host_.failures > 0 && !told_) {
    told_ = true;
    send_all(ends);
  }
  if (host_.failures == 0 && !reported_) look_for_failures();
}

void Heart::send(std::size_t peer, char byte) {
  if (!states_[peer].closed && peers_[peer].socket >= 0) ::send(peers_[peer].socket, &byte, 1, MSG_NOSIGNAL);
}

void Heart::send_all(char byte) {
  for (std::size_t i = 0; i < peers_.size(); ++i) send(i, byte);
}

void Heart::receive(std::size_t peer) {
  State& state = states_[peer];
  if (state.left) return;
  ++state.silent;
  if (state.closed) {
    ++state.gone;
    return;
  }
  char bytes[256];
  ssize_t got = recv(peers_[peer].socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) state.closed = true;
  if (got <= 0) return;
  state.silent = 0;
  for (ssize_t i = 0; i < got; ++i) take(peer, bytes[i]);
}

void Heart::take(std::size_t peer, char byte) {
  if (byte == leaves) states_[peer].left = true;
  if (byte == ends && !told_) host_.failures.fetch_add(1);  // the other host reports
  if (byte == claims) {
    send(peer, claimed_ ? denied : granted);
    claimed_ = true;
  }
  if ((byte == granted || byte == denied) && host_.claim == board::Slot::asked)
    host_.claim = byte == granted ? board::Slot::granted : board::Slot::denied;
}

// A rank of this host wants to report: the first host that this one hears decides, perhaps this one.
void Heart::take_claim() {
  if (asked_) return;
  asked_ = true;
  for (std::size_t i = 0; i < here_; ++i)
    if (!states_[i].left && !states_[i].closed && states_[i].silent < heard_ticks) return send(i, claims);
  host_.claim = claimed_ ? board::Slot::denied : board::Slot::granted;
  claimed_ = true;
}

std::string Heart::failure(std::size_t peer) const {
  const Peer& p = peers_[peer];
  if (states_[peer].closed)
    return fmt::format("rank {} on host {} (process {}) is gone: something killed it", p.rank, p.host, p.pid);
  if (host_answers(p.socket))
    return fmt::format("rank {} on host {} (process {}) gives no sign of life, but its host answers: it is stopped",
                       p.rank, p.host, p.pid);
  return fmt::format("host {} ({}) does not answer host {}: its network is cut, or it is down", p.host, p.ranks,
                     peers_[here_].host);
}

void Heart::look_for_failures() {
  double patience = board::get_patience(), most = patience * board::ticks_per_second;
  bool failed = false;
  for (auto& state : states_)
    failed |= !state.left && (state.gone > gone_ticks || (patience > 0 && state.silent > most + grace_ticks));
  if (!failed) return;
  std::string list;
  bool silent = false;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    bool lost = states_[i].closed || (patience > 0 && states_[i].silent > most);
    if (states_[i].left || !lost) continue;
    silent |= !states_[i].closed;
    list += fmt::format("\n  {}", failure(i));
  }
  reported_ = true;
  std::string waited =
      silent ? fmt::format("\n--patience SECONDS sets how long is waited (now {:g}), 0 for ever.", patience) : "";
  end_(fmt::format("the job has lost ranks, and ends:{}{}", list, waited), 1);
}

}  // namespace kbcd::heartbeat
