// The REPL's line: editing, history and completion at a terminal (libedit), plain lines otherwise.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kbcd {

struct Completions {
  std::string word;                     // the part before the cursor that is replaced
  std::vector<std::string> candidates;  // what may replace it; each begins with it
};
using Completer = std::function<Completions(const std::string& before)>;

struct TypedLine {
  std::string text;          // without its newline
  bool end = false;          // of the input (Ctrl-D)
  bool interrupted = false;  // by Ctrl-C
};
TypedLine read_line(const std::string& prompt, const Completer& complete);

void load_history(const std::string& path);  // and keeps the path for add_history
void add_history_line(const std::string& line);

int terminal_columns();    // 80 where it is not known
void close_line_editor();  // gives the terminal its mode back

}  // namespace kbcd
