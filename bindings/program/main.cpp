// kbcd: runs Lua scripts, or a REPL, on every rank of an MPI job.
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <thread>

#include "bindings/glue/def.hpp"
#include "bindings/program/faults.hpp"
#include "bindings/program/settings.hpp"
#include "bindings/program/signals.hpp"
#include "bindings/program/state.hpp"
#include "core/access.hpp"
#include "core/blas.hpp"
#include "core/board.hpp"
#include "core/comm.hpp"
#include "core/confine.hpp"
#include "core/limits.hpp"
#include "core/memory.hpp"

namespace kbcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* usage = R"(usage: kbcd [options] [script.lua | NAME | -] [arguments of the script]

  kbcd                      the REPL (under mpirun, one for all ranks)
  kbcd script.lua args…     runs a script; `mpirun -n 4 kbcd script.lua` runs it on 4 ranks
  kbcd NAME args…           runs NAME.lua from the script path ($KBCD_PATH, then kbcd's own scripts)
  kbcd -                    runs the script on standard input
  -e CODE                   runs CODE
  -i                        the REPL after the script or the code
  --threads N               threads of each rank (default: the cores of the machine shared among its ranks)
  --memory SIZE             what blocks may take on each rank, such as 8G (default: half the free memory, shared likewise)
  --seed S                  the seed where a script gives none (default: 1)
  --check, --no-check       whether the ranks compare every collective call before they make it: if the calls differ, the job
                            ends with what each rank was about to do, rather than hang (default: yes, or $KBCD_CHECK, 0 or 1)
  --patience SECONDS        after how long a rank without a heartbeat ends the job, and a wait for others is reported
                            (default: 10; 0: never)
  --sandbox[=partial]       for a script that you do not trust: no programs, native code or bytecode, and files only in …
                            (partial: also where the kernel cannot enforce all of it, with a warning)
  --allow FOLDER[:rw]       … these folders (to read, or with :rw to read and write); may be given several times
  --limit-seconds N         the job ends after so many seconds (status 120)
  --limit-memory SIZE       what a rank may allocate beyond what the program has at its start: an error of the script
  --limit-disk SIZE         the job ends when its files have grown by more (status 120): those in the folders of
                            --allow FOLDER:rw or, without --sandbox, in the current folder; no file becomes larger
  --version, --help
)";

struct CommandLine {
  bool help = false, version = false, interactive = false, sandbox = false, partial = false;
  std::optional<std::string> code, script;
  std::vector<std::string> args;
  std::optional<Int> threads, seed, patience;
  std::optional<std::size_t> memory;
  std::optional<bool> check;
  std::vector<std::string> allowed;
  limits::Limits limit;
};

Int whole_number(const std::string& option, const std::string& text, Int least, Int most) {
  Int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most,
          "{}: a whole number from {} to {} expected, got '{}'", option, least, most, text);
  return value;
}

CommandLine parse(int argc, char** argv) {
  CommandLine line;
  int i = 1;
  auto value = [&](const std::string& option) -> std::string {
    require(i + 1 < argc, "{}: a value expected after it; see kbcd --help", option);
    return argv[++i];
  };
  for (; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "-" || option.empty() || option[0] != '-') break;
    if (option == "--help" || option == "-h")
      line.help = true;
    else if (option == "--version" || option == "-v")
      line.version = true;
    else if (option == "-i")
      line.interactive = true;
    else if (option == "-e")
      line.code = value(option);
    else if (option == "--threads")
      line.threads = whole_number(option, value(option), 1, 4096);
    else if (option == "--seed")
      line.seed = whole_number(option, value(option), 0, Int{1} << 53);
    else if (option == "--check" || option == "--no-check")
      line.check = option == "--check";
    else if (option == "--patience")
      line.patience = whole_number(option, value(option), 0, Int{1} << 30);
    else if (option == "--memory")
      line.memory = memory::parse_size("--memory", value(option));
    else if (option == "--sandbox" || option == "--sandbox=partial")
      line.sandbox = true, line.partial = option != "--sandbox";
    else if (option == "--allow")
      line.allowed.push_back(value(option));
    else if (option == "--limit-seconds")
      line.limit.seconds = static_cast<double>(whole_number(option, value(option), 1, Int{1} << 30));
    else if (option == "--limit-memory")
      line.limit.memory = memory::parse_size("--limit-memory", value(option));
    else if (option == "--limit-disk")
      line.limit.disk = memory::parse_size("--limit-disk", value(option));
    else
      fail(
          "unknown option '{}'; known: -e, -i, -, --threads, --memory, --seed, --check, --no-check, --patience, --sandbox, "
          "--sandbox=partial, --allow, --limit-seconds, --limit-memory, --limit-disk, --version, --help",
          option);
  }
  if (!line.code && i < argc) line.script = argv[i++];
  line.args.assign(argv + i, argv + argc);
  require(line.allowed.empty() || line.sandbox, "--allow is for --sandbox, which is not given");
  require(!line.sandbox || (!line.interactive && (line.code || line.script)) || line.help || line.version,
          "--sandbox is for a script or for -e CODE, not for the REPL");
  return line;
}

int cores_of_process() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                     : static_cast<int>(std::thread::hardware_concurrency());
}

// Bound ranks use the cores they are bound to; unbound ones share the machine's.
void set_threads(const CommandLine& line) {
  int machine = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), mine = cores_of_process();
  int share = mine < machine ? mine : std::max(1, machine / comm::node_size());
  int threads = static_cast<int>(line.threads.value_or(std::getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : share));
  constexpr std::size_t of_thread = std::size_t{132} << 20;  // its stack, and what malloc reserves for it
  std::size_t needed = memory::blas_addresses() / omp_get_max_threads() * threads + (threads - 1) * of_thread;
  require(
      memory::addresses_left() >= needed,
      "the limit of the addresses (ulimit -v) leaves {} MB, but {} threads need {} MB; raise it, or lower --threads",
      memory::addresses_left() >> 20, threads, needed >> 20);
  blas::set_threads(threads);
  if (threads > 1 && threads * comm::node_size() > machine && comm::rank() == 0)
    fmt::print(stderr,
               "kbcd: {} ranks of {} threads on {} cores will be slow; lower --threads or the number of ranks\n",
               comm::node_size(), threads, machine);
}

// What the shell left open is not the script's; the launcher's connection (PMI_FD) is MPI's.
void close_inherited() {
  const char* text = std::getenv("PMI_FD");
  int kept = text ? std::atoi(text) : 0;
  if (kept <= STDERR_FILENO) {
    close_range(STDERR_FILENO + 1, ~0U, 0);
    return;
  }
  if (kept > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
}

std::string script_path(const std::string& name) {
  bool path = name.ends_with(".lua") || name.find('/') != name.npos;
  if (fs::is_regular_file(name) && path) return name;
  if (auto found = lua::find_script(name)) return *found;
  std::string commands;
  std::error_code missing;
  for (auto& folder : lua::script_folders())
    for (auto& entry : fs::directory_iterator(folder, missing))
      if (entry.path().extension() == ".lua") commands += fmt::format(" {}", entry.path().stem().string());
  if (path) fail("{}: no such script", name);
  fail("'{}' is no script file and no command; the commands are:{}", name, commands);
}

// On several hosts, rank 0's, which need not be anywhere else.
std::string common_script_path(const std::string& name) {
  if (comm::host_of(0).empty()) return script_path(name);
  std::string path;
  comm::together([&] {
    if (comm::rank() == 0) path = script_path(name);
  });
  comm::bcast(path, 0);
  return path;
}

std::string standard_input() {
  std::string text;
  if (comm::rank() == 0) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  comm::bcast(text, 0);
  return text;
}

bool wants_check(const CommandLine& line) {
  const char* text = std::getenv("KBCD_CHECK");
  std::string set = text && *text ? text : "1";
  require(set == "0" || set == "1", "KBCD_CHECK: 0 or 1 expected, got '{}'", set);
  return line.check.value_or(set == "1");
}

void allow_folders(const CommandLine& line) {
  for (const std::string& entry : line.allowed) {
    bool write = entry.ends_with(":rw");
    access::allow(write ? entry.substr(0, entry.size() - 3) : entry, write);
  }
  for (const std::string& folder : lua::script_folders())  // the library's own files
    if (line.sandbox && fs::is_directory(folder)) access::allow(folder, false);
}

void require_kernel(const CommandLine& line) {
  std::string lacking = confine::lacking();
  if (!line.sandbox || lacking.empty()) return;
  require(line.partial,
          "--sandbox: this kernel does not have {}, so that the sandbox would rest on checks within the program alone. "
          "--sandbox=partial runs the script nevertheless",
          lacking);
  if (comm::rank() == 0)
    fmt::print(stderr, "kbcd: --sandbox=partial: this kernel does not have {}; the script is not fully confined\n",
               lacking);
}

void set_limits(const CommandLine& line) {
  if (!line.limit.seconds && !line.limit.memory && !line.limit.disk) return;
  if (line.limit.memory) blas::start_threads();
  limits::set(line.limit, line.sandbox ? access::writable_folders() : std::vector<std::string>{"."},
              [](const std::string& message) { comm::end_now("kbcd: " + message, limits::exit_status); });
}

void run(const CommandLine& line) {
  require_kernel(line);
  set_threads(line);
  bool check = wants_check(line);
  auto text = [](auto option) { return option ? fmt::format("{}", *option) : "not given"; };
  require_same_settings({{"--check or KBCD_CHECK", check ? "1" : "0"},
                         {"--seed", text(line.seed)},
                         {"--patience", text(line.patience)},
                         {"--memory", text(line.memory)},
                         {"--sandbox", line.sandbox ? "given" : "not given"}});
  comm::set_checking(check);
  std::size_t budget = memory::available() / 2 / comm::node_size();
  if (line.limit.memory) budget = std::min(budget, *line.limit.memory / 2);
  memory::set_budget(line.memory.value_or(budget));
  if (line.seed) lua::set_default_seed(*line.seed);
  allow_folders(line);
  set_limits(line);
  lua::State state(line.sandbox);
  lua::SignalsStopScript signals(state.get());
  if (line.code) state.run_text(*line.code, "-e", line.args);
  if (line.script && *line.script == "-")
    state.run_text(standard_input(), "stdin", line.args);
  else if (line.script)
    state.run_file(common_script_path(*line.script), line.args);
  if (line.interactive || (!line.code && !line.script)) state.run_repl();
  comm::end_of_script();
}

}  // namespace
}  // namespace kbcd

int main(int argc, char** argv) {
  using namespace kbcd;
  pthread_setname_np(pthread_self(), "kbcd");  // in ps and top, where the restart left "exe"
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond `ulimit -f` is an error like a full disk, not a crash
  CommandLine line;
  std::exception_ptr wrong;  // reported below, when the ranks know each other
  try {
    line = parse(argc, argv);
  } catch (...) {
    wrong = std::current_exception();
  }
  if (line.sandbox) close_inherited();
  if (line.patience) board::set_patience(static_cast<double>(*line.patience));
  std::optional<comm::Session> session;
  try {
    session.emplace(&argc, &argv, line.sandbox);
    end_at_faults();
    if (wrong) std::rethrow_exception(wrong);
    if (line.help || line.version) {
      if (comm::rank() == 0) fmt::print("{}", line.help ? usage : lua::versions());
    } else {
      run(line);
    }
    lua::require_printed();
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::string message = comm::who() + e.what();
    if (int signal = board::interrupted()) comm::abort(fmt::format("{}\n{}", message, board::picture()), 128 + signal);
    comm::abort(message);
  }
}
