// Connections between hosts (core/mesh): three listeners of this machine find each other; strangers do not.
#include "core/mesh.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace kbcd;

namespace {

mesh::Contact on_loopback(const mesh::Listener& listener) {
  mesh::Contact contact;
  contact.port = listener.contact().port;
  std::strcpy(contact.addresses[0].data(), "192.0.2.1");  // where no one is; the next one is right
  std::strcpy(contact.addresses[1].data(), "127.0.0.1");
  return contact;
}

// A connection that says `bytes`; what comes back until the other side closes it, within a second.
std::string say(std::uint16_t port, const std::string& bytes) {
  int stranger = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    if (!bytes.empty()) send(stranger, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char got[64];
    pollfd wait{stranger, POLLIN, 0};
    ssize_t count = 0;
    while (poll(&wait, 1, 1000) == 1 && (count = recv(stranger, got, sizeof got, 0)) > 0) answer.append(got, count);
  }
  close(stranger);
  return answer;
}

void close_all(const std::vector<int>& sockets) {
  for (int socket : sockets)
    if (socket >= 0) close(socket);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mesh_of_hosts)

BOOST_AUTO_TEST_CASE(all_pairs_are_connected) {
  mesh::Listener listeners[3];
  std::vector<mesh::Contact> contacts;
  for (auto& listener : listeners) contacts.push_back(on_loopback(listener));
  mesh::Secret secret = mesh::new_secret();
  std::vector<int> sockets[3];
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] { sockets[i] = listeners[i].connect(contacts, i, secret, 10); });
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      BOOST_TEST((sockets[i][j] >= 0) == (i != j));
      if (i == j) continue;
      char sent = static_cast<char>(10 * i + j), got = 0;
      BOOST_REQUIRE(send(sockets[i][j], &sent, 1, 0) == 1);
      pollfd wait{sockets[j][i], POLLIN, 0};
      BOOST_REQUIRE(poll(&wait, 1, 2000) == 1);
      BOOST_REQUIRE(recv(sockets[j][i], &got, 1, 0) == 1);
      BOOST_TEST(got == sent);
    }
  for (auto& all : sockets) close_all(all);
}

BOOST_AUTO_TEST_CASE(strangers_are_sent_away) {
  mesh::Listener listener;
  std::vector<mesh::Contact> contacts{on_loopback(listener), {}};
  mesh::Secret secret = mesh::new_secret();
  std::vector<int> sockets;
  std::thread host([&] { sockets = listener.connect(contacts, 0, secret, 1.5); });
  // As host 1 would greet host 0, but with another secret; then noise, a part of a greeting, an impossible host,
  // nothing.
  std::int32_t numbers[2] = {1, 0}, impossible[2] = {70000, 0};
  std::string of_other(16, 'x'), right(reinterpret_cast<char*>(secret.data()), 16);
  auto with = [](std::string text, const std::int32_t* two) {
    return text.append(reinterpret_cast<const char*>(two), 2 * sizeof *two);
  };
  std::vector<std::thread> strangers;
  for (auto& bytes :
       {with(of_other, numbers), std::string(1000, '\xff'), right, with(right, impossible), std::string()})
    strangers.emplace_back([&contacts, bytes] { BOOST_TEST(say(contacts[0].port, bytes) == ""); });
  for (auto& one : strangers) one.join();
  host.join();
  BOOST_TEST(sockets[1] == -1);
}

BOOST_AUTO_TEST_CASE(who_answers_must_know_the_secret) {
  mesh::Listener listener, other;
  std::vector<mesh::Contact> contacts{on_loopback(other), on_loopback(listener)};
  mesh::Secret secret = mesh::new_secret(), wrong = secret;
  wrong[20] ^= 1;  // of who answers
  std::vector<int> sockets, others;
  std::thread host([&] { others = other.connect(contacts, 0, wrong, 1); });
  sockets = listener.connect(contacts, 1, secret, 1);
  host.join();
  BOOST_TEST(sockets[0] == -1);
  close_all(others);
}

BOOST_AUTO_TEST_SUITE_END()
