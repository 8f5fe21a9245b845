// What libraries read from the environment when they start, before main: OpenBLAS which kernels it uses, OpenMP how
// long a thread spins for work (threads that spin for long slow down others where cores are shared). A better choice
// needs a restart of the program. It happens before the libraries start, which takes longer than to load them.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/blas.hpp"

namespace kbcd {
namespace {

// The C library has not read the environment yet: getenv does not work here.
void restart_with_better_choices(int, char** argv, char** environment) {
  std::vector<char*> all;
  for (char** variable = environment; *variable; ++variable) all.push_back(*variable);
  auto is_set = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](std::string_view entry) { return entry.starts_with(name + "="); });
  };
  std::string kernel = blas::best_kernel(), choose_kernel = "OPENBLAS_CORETYPE=" + kernel,
              choose_spins = "GOMP_SPINCOUNT=20000";
  bool chosen_kernel = kernel.empty() || is_set("OPENBLAS_CORETYPE"),
       chosen_spins = is_set("GOMP_SPINCOUNT") || is_set("OMP_WAIT_POLICY");
  if (chosen_kernel && chosen_spins) return;
  if (!chosen_kernel) all.push_back(choose_kernel.data());
  if (!chosen_spins) all.push_back(choose_spins.data());
  all.push_back(nullptr);
  execve("/proc/self/exe", argv, all.data());
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**,
                                                                             char**) = restart_with_better_choices;

}  // namespace
}  // namespace kbcd
