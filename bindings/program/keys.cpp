#include "bindings/program/keys.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "bindings/program/signals.hpp"
#include "core/board.hpp"
#include "core/comm.hpp"

namespace kbcd::keys {
namespace {

constexpr unsigned char interrupt_key = 3;  // Ctrl-C

struct Terminal {
  FILE* file = nullptr;
  bool of_mpirun = false;
  termios mode{};  // as it was found

  Terminal() {
    if (isatty(STDIN_FILENO)) {
      file = stdin;
    } else if (person_at(STDIN_FILENO)) {
      int descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC);
      if (descriptor >= 0 && tcgetattr(descriptor, &mode) == 0) file = fdopen(descriptor, "r+");
      of_mpirun = file != nullptr;
      if (!file && descriptor >= 0) close(descriptor);
    }
    if (file) {
      tcgetattr(fileno(file), &mode);
      comm::on_abort(restore_terminal);
    }
  }
};

Terminal& found() {
  static Terminal terminal;
  return terminal;
}

// Filled by a thread: under mpirun with all that is typed, at a terminal with lines that were typed long before they
// are read: the system takes no key any more, not even Ctrl-C, while so much waits.
std::mutex mutex;
std::deque<unsigned char> typed;
bool ended = false, running = false, stopped = false;
int stops = 0;

// Once for each run: the ranks count them (signals of one kind that are pending become one).
void stop_ranks() {
  if (stopped) return;
  stopped = true;
  ++stops;
  if (comm::node_size() == comm::size())
    board::signal_all(SIGUSR1);
  else
    kill(getppid(), SIGUSR1);  // mpirun forwards it to all machines, and says so
}

void take_typed() {
  unsigned char bytes[4096];
  for (;;) {
    ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    std::lock_guard lock(mutex);
    for (ssize_t i = 0; i < count; ++i) {
      bool stop = running && bytes[i] == interrupt_key;
      if (stop) {
        typed.clear();
        stop_ranks();
      } else {
        typed.push_back(bytes[i]);
      }
    }
    ended = count <= 0;
    lua::wake();
    if (ended) return;
  }
}

void take_typed_ahead() {
  constexpr int much = 1024;  // of 4096
  for (unsigned char bytes[much];;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::lock_guard lock(mutex);
    for (int waiting = 0; running && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting >= much;) {
      ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
      if (count <= 0) break;
      typed.insert(typed.end(), bytes, bytes + count);
    }
  }
}

void start_thread() {
  static bool started = false;
  if (std::exchange(started, true)) return;
  lua::wake_descriptor();
  sigset_t every, before;  // signals are for the main thread
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  std::thread(through_mpirun() ? take_typed : take_typed_ahead).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!through_mpirun()) return;
  std::signal(SIGTTOU, SIG_IGN);  // this process is in the background and sets the terminal's mode all the same
  // mpirun would write later than the prompt. It closes the input once all outputs are closed: they stay open.
  std::fflush(nullptr);
  for (int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!person_at(descriptor)) continue;
    fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    dup2(fileno(found().file), descriptor);
  }
}

// What a thread has taken, or that nothing comes any more.
std::optional<Event> from_thread(unsigned char& key) {
  std::lock_guard lock(mutex);
  if (typed.empty()) return ended ? std::optional(Event::end) : std::nullopt;
  key = typed.front();
  typed.pop_front();
  return Event::key;
}

std::optional<Event> from_terminal(unsigned char& key, bool readable) {
  if (!readable || through_mpirun()) return std::nullopt;
  ssize_t count = read(STDIN_FILENO, &key, 1);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  return count == 1 ? Event::key : Event::end;
}

}  // namespace

bool person_at(int descriptor) {
  if (isatty(descriptor)) return true;
  std::error_code error;
  auto other = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", getppid(), descriptor), error).string();
  return !error && std::getenv("OMPI_COMM_WORLD_SIZE") &&
         (other.starts_with("/dev/pts/") || other.starts_with("/dev/tty"));
}

bool at_terminal() {
  return found().file != nullptr;
}

bool through_mpirun() {
  return found().of_mpirun;
}

FILE* terminal() {
  if (found().file) start_thread();
  return found().file;
}

void restore_terminal() {
  if (found().file) tcsetattr(fileno(found().file), TCSANOW, &found().mode);
}

Event next(unsigned char& key) {
  for (bool readable = false;;) {
    if (auto event = from_thread(key)) return *event;
    if (auto event = from_terminal(key, readable)) return *event;
    pollfd watched[] = {{lua::wake_descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    int ready = poll(watched, through_mpirun() ? 1 : 2, -1);
    if (ready < 0 && errno != EINTR) return Event::end;
    if (ready > 0 && watched[0].revents) {
      lua::clear_wake();
      if (!through_mpirun()) return Event::signal;
      std::lock_guard lock(mutex);
      if (typed.empty() && !ended) return Event::signal;
    }
    readable = ready > 0 && watched[1].revents;
  }
}

void begin_run() {
  std::lock_guard lock(mutex);
  running = true;
  stopped = false;
  lua::take_stop();
  auto last = std::find(typed.rbegin(), typed.rend(), interrupt_key).base();
  if (through_mpirun() && last != typed.begin()) {
    typed.erase(typed.begin(), last);
    stop_ranks();
  }
}

int end_run() {
  std::lock_guard lock(mutex);
  running = false;
  if (lua::take_stop()) typed.clear();  // Ctrl-C drops what was typed before it
  return stops;
}

}  // namespace kbcd::keys
