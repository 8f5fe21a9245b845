// The REPL's line: editing, history and completion at a terminal (libedit), plain lines otherwise.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kbcd {

using Completer = std::function<std::vector<std::string>(const std::string& word)>;

// One line without its newline; nothing at the end of input (Ctrl-D). An interrupted line (Ctrl-C) comes back
// empty.
std::optional<std::string> read_line(const std::string& prompt, const Completer& complete);

void load_history(const std::string& path);  // and keeps the path for add_history
void add_history_line(const std::string& line);

}  // namespace kbcd
