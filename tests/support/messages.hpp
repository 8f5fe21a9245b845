// What an error says, for tests of it.
#pragma once

#include <functional>
#include <string>

#include "core/error.hpp"

namespace kbcd::tests {

// What f complains of; nothing if it does not.
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace kbcd::tests
