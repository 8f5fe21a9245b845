#include "bindings/program/line_editor.hpp"

#include <histedit.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <iostream>

#include "bindings/program/keys.hpp"
#include "bindings/program/signals.hpp"

namespace kbcd {
namespace {

constexpr int history_length = 2000;
constexpr std::size_t listed_completions = 200;
constexpr int ending_signals[] = {SIGTERM, SIGHUP, SIGQUIT};

EditLine* editor = nullptr;
History* lines = nullptr;
std::string history_path, current_prompt;
const Completer* completer = nullptr;
bool was_interrupted = false;
int ended_by = 0;

FILE* out() {
  return keys::through_mpirun() ? keys::terminal() : stdout;
}

char* prompt_text(EditLine*) {
  return current_prompt.data();
}

void new_line() {
  std::fputs("\n", out());
  std::fflush(out());
}

void draw_again() {
  std::fputs("\r\033[J", out());
  el_resize(editor);
  el_set(editor, EL_REFRESH);
}

// Stops the program, as Ctrl-Z does in a shell; returns when it continues.
void suspend() {
  new_line();
  el_set(editor, EL_PREP_TERM, 0);
  struct sigaction plain {
  }, before{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &plain, &before);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &before, nullptr);
  el_set(editor, EL_PREP_TERM, 1);
  draw_again();
}

// What the recorded signals ask for; whether the line ends.
bool obey_signals() {
  for (int signal : ending_signals)
    if (lua::take_signal(signal)) ended_by = signal;
  if (lua::take_signal(SIGINT) | lua::take_signal(SIGUSR1)) was_interrupted = true;
  if (ended_by || was_interrupted) return true;
  if (lua::take_signal(SIGTSTP)) suspend();
  if (lua::take_signal(SIGCONT)) {
    el_set(editor, EL_PREP_TERM, 1);
    draw_again();
  }
  if (lua::take_signal(SIGWINCH)) draw_again();
  return false;
}

// libedit's next character: 1, or 0 at the end, or -1 after a signal that ends the line. Bytes that are no UTF-8 are
// skipped.
int next_character(EditLine*, wchar_t* character) {
  static std::mbstate_t state{};
  for (;;) {
    if (obey_signals()) {
      state = {};
      errno = EINTR;
      return -1;
    }
    unsigned char key = 0;
    auto event = keys::next(key);
    if (event == keys::Event::end) return 0;
    if (event == keys::Event::signal) continue;
    if (key == 0) {
      *character = 0;
      return 1;
    }
    char byte = static_cast<char>(key);
    std::size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == 1) return 1;
    if (used == static_cast<std::size_t>(-1)) state = {};
  }
}

unsigned char on_interrupt_key(EditLine*, int) {
  was_interrupted = true;
  return CC_EOF;
}

unsigned char on_suspend_key(EditLine*, int) {
  if (!keys::through_mpirun()) suspend();
  return CC_NORM;
}

std::string common_start(const std::vector<std::string>& words) {
  std::string common = words[0];
  for (auto& word : words) {
    auto differ = std::mismatch(common.begin(), common.end(), word.begin(), word.end()).first;
    common.erase(differ, common.end());
  }
  while (!common.empty() && (common.back() & 0xC0) == 0x80) common.pop_back();  // never half a character
  if (!common.empty() && (common.back() & 0x80)) common.pop_back();
  return common;
}

std::size_t width(const std::string& text) {  // in columns, roughly
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// The candidates in columns, each from the last `.`, `:` or `/` on.
void list_candidates(const std::vector<std::string>& candidates) {
  std::vector<std::string> names;
  std::size_t widest = 0;
  for (auto& word : candidates) {
    auto mark = word.find_last_of(".:/", word.size() > 1 ? word.size() - 2 : 0);
    bool file = word.find('/') != word.npos || word.ends_with('"') || word.ends_with('\'');
    if (file) mark = word.find_last_of('/', word.size() > 1 ? word.size() - 2 : 0);
    std::string name = mark == word.npos ? word : word.substr(mark + 1);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return c < 32 || c == 127; }, '?');
    widest = std::max(widest, width(name));
    names.push_back(name);
    if (names.size() == listed_completions) break;
  }
  std::size_t columns = std::max<std::size_t>(1, static_cast<std::size_t>(terminal_columns()) / (widest + 2));
  std::size_t rows = (names.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < rows; ++i) {
    std::string line;
    for (std::size_t k = i; k < names.size(); k += rows)
      line += names[k] + (k + rows < names.size() ? std::string(widest + 2 - width(names[k]), ' ') : "");
    std::fprintf(out(), "%s\n", line.c_str());
  }
  if (names.size() < candidates.size()) std::fprintf(out(), "… and %zu more\n", candidates.size() - names.size());
}

// Tab: inserts what all candidates have in common or, where that is nothing, lists them. In a blank line it indents.
unsigned char on_complete_key(EditLine*, int) {
  const LineInfo* line = el_line(editor);
  std::string before(line->buffer, line->cursor);
  if (before.find_first_not_of(" \t") == before.npos) return el_insertstr(editor, "  ") == 0 ? CC_REFRESH : CC_ERROR;
  auto [word, candidates] = (*completer)(before);
  if (candidates.empty()) return CC_REFRESH_BEEP;
  std::string common = common_start(candidates);
  if (common.size() > word.size())
    return el_insertstr(editor, common.c_str() + word.size()) == 0 ? CC_REFRESH : CC_ERROR;
  if (candidates.size() == 1) return CC_NORM;
  new_line();
  list_candidates(candidates);
  return CC_REDISPLAY;
}

void bind_key(const char* key, const char* name, const char* about, unsigned char (*function)(EditLine*, int)) {
  el_set(editor, EL_ADDFN, name, about, function);
  el_set(editor, EL_BIND, key, name, nullptr);
  el_set(editor, EL_BIND, "-a", key, name, nullptr);  // vi's command mode
}

// Keys that send signals are bytes for libedit, and no key stops the output. Under mpirun this holds while a line runs,
// too, and bytes come at once.
void set_modes() {
  el_set(editor, EL_SETTY, "-d", "-isig", "-ixon", nullptr);
  el_set(editor, EL_SETTY, "-x", "-ixon", nullptr);
  if (keys::through_mpirun()) el_set(editor, EL_SETTY, "-x", "-isig", "-icanon", "min=^A", "time=^@", nullptr);
}

void set_up() {
  if (editor) return;
  setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
  editor = el_init("kbcd", keys::terminal(), out(), stderr);
  if (!editor) throw std::runtime_error("the prompt: libedit cannot use this terminal");
  el_set(editor, EL_SIGNAL, 0);
  el_set(editor, EL_PROMPT, prompt_text);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_GETCFN, next_character);
  lines = history_init();
  HistEvent event;
  history(lines, &event, H_SETSIZE, history_length);
  history(lines, &event, H_SETUNIQUE, 1);
  el_set(editor, EL_HIST, history, lines);
  el_source(editor, nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // ed-command crashes on a command without words (libedit 3.1-20221030).
  for (const char* key : {"^[x", "^[X"}) el_set(editor, EL_BIND, key, "ed-unassigned", nullptr);
  el_set(editor, EL_BIND, "-a", ":", "ed-unassigned", nullptr);
  bind_key("^C", "kbcd-interrupt", "Clear the line", on_interrupt_key);
  bind_key("^Z", "kbcd-suspend", "Stop the program", on_suspend_key);
  bind_key("\t", "kbcd-complete", "Complete the word", on_complete_key);
  set_modes();
}

}  // namespace

TypedLine read_line(const std::string& prompt, const Completer& complete) {
  if (!keys::at_terminal()) {
    std::cout << prompt << std::flush;
    std::string line;
    bool more = static_cast<bool>(std::getline(std::cin, line));
    return {line, !more};
  }
  set_up();
  std::fflush(stdout);
  completer = &complete;
  current_prompt = prompt;
  was_interrupted = false;
  ended_by = 0;
  int count = 0;
  const char* text = nullptr;
  {
    lua::SignalsRecorded recorded{SIGTSTP, SIGCONT, SIGWINCH, SIGTERM, SIGHUP, SIGQUIT};
    el_resize(editor);
    text = el_gets(editor, &count);
  }
  if (ended_by) raise(ended_by);  // with the terminal in order
  if (was_interrupted) {
    std::fputs("^C\n", out());
    std::fflush(out());
    return {"", false, true};
  }
  if (!text) return {"", true};
  TypedLine line{std::string(text, static_cast<std::size_t>(count))};
  while (line.text.ends_with('\n') || line.text.ends_with('\r')) line.text.pop_back();
  return line;
}

void load_history(const std::string& path) {
  set_up();
  history_path = path;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  HistEvent event;
  history(lines, &event, H_LOAD, path.c_str());
}

void add_history_line(const std::string& line) {
  HistEvent event;
  history(lines, &event, H_ENTER, line.c_str());
  std::error_code missing;
  auto kind = std::filesystem::status(history_path, missing).type();
  bool replaceable = kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  if (history_path.empty() || !replaceable) return;  // such as /dev/null
  std::string fresh = history_path + ".new";
  if (history(lines, &event, H_SAVE, fresh.c_str()) >= 0) std::rename(fresh.c_str(), history_path.c_str());
}

int terminal_columns() {
  winsize size{};
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

void close_line_editor() {
  if (!editor) return;
  el_end(editor);
  history_end(lines);
  editor = nullptr;
  lines = nullptr;
}

}  // namespace kbcd
