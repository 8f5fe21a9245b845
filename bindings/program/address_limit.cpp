// `ulimit -v`: OpenBLAS tries for ever to allocate its buffers, the first of them before main(), and MPI crashes. So
// the program refuses a limit that is too low for them, before the libraries start.
#include <sys/resource.h>
#include <unistd.h>

namespace {

constexpr rlim_t least = 600000;  // kB: the libraries, MPI and the buffer of one thread

// Nothing has been initialised yet, not even the sanitizers.
__attribute__((no_sanitize("address", "undefined"))) void require_addresses(int, char**, char**) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= least << 10) return;
  static constexpr char begin[] = "kbcd: a limit of the addresses (ulimit -v) of at least 600000 kB expected, got ";
  char digits[24];
  int at = sizeof digits;
  digits[--at] = '\n';
  rlim_t rest = limit.rlim_cur >> 10;
  do digits[--at] = static_cast<char>('0' + rest % 10);
  while (rest /= 10);
  [[maybe_unused]] auto written = write(STDERR_FILENO, begin, sizeof begin - 1);
  written = write(STDERR_FILENO, digits + at, sizeof digits - at);
  _exit(1);
}

__attribute__((section(".preinit_array"), used)) void (*before_libraries)(int, char**, char**) = require_addresses;

}  // namespace
