#include "bindings/program/line_editor.hpp"

#include <editline/readline.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace kbcd {
namespace {

constexpr int history_length = 2000;

Completer completer;
std::string history_path;
sigjmp_buf interrupted;

char** complete_word(const char* text, int, int) {
  rl_attempted_completion_over = 1;  // never fall back to file names
  auto words = completer ? completer(text) : std::vector<std::string>{};
  if (words.empty()) return nullptr;
  std::string common = words[0];
  for (auto& word : words) {
    std::size_t n = 0;
    while (n < common.size() && n < word.size() && common[n] == word[n]) ++n;
    common.resize(n);
  }
  auto** list = static_cast<char**>(std::malloc((words.size() + 2) * sizeof(char*)));
  list[0] = strdup(common.c_str());
  for (std::size_t i = 0; i < words.size(); ++i) list[i + 1] = strdup(words[i].c_str());
  list[words.size() + 1] = nullptr;
  rl_completion_append_character = '\0';
  return list;
}

void on_interrupt(int) {
  siglongjmp(interrupted, 1);
}

void set_up() {
  static bool done = false;
  if (done) return;
  done = true;
  rl_readline_name = const_cast<char*>("kbcd");
  rl_initialize();
  rl_attempted_completion_function = complete_word;
  rl_completer_word_break_characters = const_cast<char*>(" \t\n\"'`@$><=;|&{(,[]+-*/^#%~)}");
}

}  // namespace

TypedLine read_line(const std::string& prompt, const Completer& complete) {
  if (!isatty(STDIN_FILENO)) {
    std::cout << prompt << std::flush;
    std::string line;
    bool more = static_cast<bool>(std::getline(std::cin, line));
    return {line, !more};
  }
  set_up();
  completer = complete;
  struct sigaction action {
  }, before{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, &before);
  if (sigsetjmp(interrupted, 1)) {
    sigaction(SIGINT, &before, nullptr);
    rl_deprep_terminal();
    std::cout << "\n";
    return {"", false, true};
  }
  char* text = readline(prompt.c_str());
  sigaction(SIGINT, &before, nullptr);
  if (!text) return {"", true};
  TypedLine line{text};
  std::free(text);
  return line;
}

void load_history(const std::string& path) {
  set_up();
  using_history();
  stifle_history(history_length);
  history_path = path;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  read_history(path.c_str());
}

void add_history_line(const std::string& line) {
  add_history(line.c_str());
  if (history_path.empty()) return;
  std::string fresh = history_path + ".new";
  if (write_history(fresh.c_str()) == 0) std::rename(fresh.c_str(), history_path.c_str());
}

}  // namespace kbcd
