// The REPL's line: editing, history and completion at a terminal (libedit), plain lines otherwise.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kbcd {

using Completer = std::function<std::vector<std::string>(const std::string& word)>;

struct TypedLine {
  std::string text;          // without its newline
  bool end = false;          // of the input (Ctrl-D)
  bool interrupted = false;  // by Ctrl-C
};
TypedLine read_line(const std::string& prompt, const Completer& complete);

void load_history(const std::string& path);  // and keeps the path for add_history
void add_history_line(const std::string& line);

}  // namespace kbcd
