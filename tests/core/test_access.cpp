// core/access: which paths are let through, and that the kernel, where it has Landlock, refuses what does not ask.
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/access.hpp"
#include "core/error.hpp"

using namespace kbcd;
namespace fs = std::filesystem;

namespace {

bool refuses(void (*ask)(const std::string&), const fs::path& path) {
  try {
    ask(path);
    return false;
  } catch (const Error&) {
    return true;
  }
}

// restrict() is for good: it is tried in a process of its own, whose status is what f gives.
template <class F>
int in_child(F f) {
  pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

struct Folders {
  fs::path root = fs::temp_directory_path() / ("kbcd_access_" + std::to_string(getpid())), in = root / "in",
           to = root / "to";
  Folders() {
    fs::create_directories(in);
    fs::create_directories(to);
    for (auto& file : {root / "secret", in / "data", to / "data"}) std::ofstream(file) << "text";
    fs::create_symlink(root / "secret", in / "link");
    fs::create_symlink(root / "new", to / "dangling");
    fs::create_directory_symlink(root, in / "up");
    fs::create_symlink(to / "data", in / "other");
  }
  ~Folders() { fs::remove_all(root); }
  void restrict() const {
    access::allow(in, false);
    access::allow(to, true);
    access::restrict();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(access_to_files)

BOOST_AUTO_TEST_CASE(paths_are_resolved_before_they_are_let_through) {
  Folders f;
  BOOST_TEST(!refuses(access::reading, f.root / "secret"));  // nothing is restricted yet
  int wrong = in_child([&] {
    f.restrict();
    int wrong = 0;
    for (auto& path : {f.in / "data", f.in / "none", f.to / "data", f.in / "../to/data", f.in / "other", f.in})
      wrong += refuses(access::reading, path);
    for (auto& path : {f.to / "data", f.to / "new", f.to / "../to/new", f.in / "other"})
      wrong += refuses(access::writing, path);
    for (auto& path : {f.root / "secret", f.in / "../secret", f.in / "link", f.in / "up/secret", f.root, fs::path("/"),
                       fs::path(f.in.string() + "side"), fs::path(), f.in / "none/../../secret"})
      wrong += !refuses(access::reading, path);
    for (auto& path : {f.in / "data", f.in / "new", f.root / "new", f.to / "dangling", f.to / "../new", f.in / "link",
                       f.in / "up/new", f.to / ".."})
      wrong += !refuses(access::writing, path);
    return wrong;
  });
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(the_kernel_refuses_what_does_not_ask) {
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1) {
    BOOST_TEST_MESSAGE("skipped: this kernel has no Landlock");
    return;
  }
  Folders f;
  int wrong = in_child([&] {
    f.restrict();
    int wrong = 0;
    wrong += !std::ifstream(f.in / "data").good() + !std::ofstream(f.to / "new").good();
    wrong += std::ifstream(f.root / "secret").good() + std::ofstream(f.in / "data").good();
    wrong += std::ofstream(f.root / "new").good();
    return wrong;
  });
  BOOST_TEST(wrong == 0);
  BOOST_TEST(in_child([] {
               access::restrict();
               execl("/bin/false", "false", nullptr);
               return 7;
             }) == 7);
}

BOOST_AUTO_TEST_SUITE_END()
