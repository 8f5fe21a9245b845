// A watch over the start of a job on several hosts, before its ranks know each other: where MPI does not bring them
// together within the patience, the job ends with a message that names the interfaces, since these are the usual
// reason.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "core/comm_parts.hpp"
#include "core/mesh.hpp"

namespace kbcd::comm::hosts {
namespace {

constexpr double least_seconds = 10;  // that a start may take, with a shorter patience, too

char message[4096];  // empty on ranks other than the first
std::size_t message_bytes = 0;
pid_t parent = 0;

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return value;
  return "";
}

// From the variables that the launcher sets, before MPI begins.
bool on_several_hosts() {
  std::string_view all = first_set({"OMPI_COMM_WORLD_SIZE"}), here = first_set({"OMPI_COMM_WORLD_LOCAL_SIZE"});
  if (!all.empty()) return all != here;
  std::string_view nodes = first_set({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"});
  return !nodes.empty() && nodes != "1" && *first_set({"PMIX_RANK"});
}

bool is_virtual(const std::string& name) {
  constexpr std::array names{"docker", "br-", "virbr", "veth", "lxc", "lxd", "podman", "cni", "tun", "tap"};
  return std::any_of(names.begin(), names.end(), [&](const char* one) { return name.starts_with(one); });
}

unsigned most_seconds() {
  return static_cast<unsigned>(std::max(board::get_patience(), least_seconds));
}

void prepare_message() {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  std::string list, best;
  for (auto& one : mesh::interfaces()) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", one.name, one.address);
    if (best.empty() && !is_virtual(one.name)) best = one.name;
  }
  if (best.empty()) best = "INTERFACE";
  std::string text = fmt::format(
      "kbcd: the ranks have not found each other within {} seconds of their start, and the job ends. A process that has "
      "died is one reason; interfaces are another.\nThose of host {}: {}.\nWhere hosts have interfaces with the same address "
      "(docker0, virbr0), or some that do not reach the others, name the one that does:\n"
      "  mpirun --mca btl_tcp_if_include {} --mca oob_tcp_if_include {} …     (srun: OMPI_MCA_btl_tcp_if_include={})\n"
      "--patience SECONDS sets how long is waited, 0 for ever.\n",
      most_seconds(), host, list, best, best, best);
  message_bytes = std::min(text.size(), sizeof message);
  std::copy_n(text.begin(), message_bytes, message);
}

// Only what a signal handler may do.
void give_up(int) {
  if (message_bytes > 0 && write(STDERR_FILENO, message, message_bytes) < 0) _exit(1);
  if (parent) leave_guard(parent, 2);
  _exit(1);
}

}  // namespace

void begin_start() {
  if (!on_several_hosts() || board::get_patience() == 0) return;
  bool first = std::string_view(first_set({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})) == "0";
  if (first) prepare_message();
  parent = find_launcher();
  std::signal(SIGALRM, give_up);
  alarm(most_seconds() + (first ? 0 : 1));
}

void end_start() {
  alarm(0);
  std::signal(SIGALRM, SIG_DFL);
}

}  // namespace kbcd::comm::hosts
