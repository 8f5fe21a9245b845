// Text files with one row of data a line, plain or gzipped: lines, numbers, and which of the lines are this rank's.
//
// A text file is read twice. First each rank counts the rows in an equal part of the bytes; so all ranks know how many
// there are, and at which byte and line each rank's share begins. Then each rank reads exactly its share, directly into
// its buffer. No row moves between ranks, and no rank holds more than its own rows.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/data/byte_reader.hpp"

namespace kbcd {

// The lines that start in the bytes [begin, end) of a file, without their ends (LF or CRLF) and without a byte order
// mark.
class LineReader {
 public:
  explicit LineReader(const std::string& path, Int begin = 0, Int end = std::numeric_limits<Int>::max());
  bool next(std::string_view& line);                            // the text is good until the next call
  Int offset() const { return base_ + static_cast<Int>(at_); }  // where the next line starts

 private:
  bool refill();
  FileReader in_;
  Int base_, end_;  // where the buffer's first byte is in the file; where lines no longer start
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
};

// A place between two lines, and what is before it. Lines and rows are counted from 0.
struct TextPlace {
  Int offset = 0, lines = 0, rows = 0, entries = 0;
};

struct TextShare {
  Int n, entries;        // rows and entries of all ranks
  TextPlace begin, end;  // around this rank's
  Int rows() const { return end.rows - begin.rows; }
  // Memory is allocated for no more rows than can begin in these bytes when each has `fields` fields; if there are
  // more, an error follows.
  Int possible_rows(Int fields) const { return std::min(rows(), 1 + (end.offset - begin.offset) / fields); }
};

// What a line is to its format: a row with so many entries, or (negative) none. Called for lines in no particular
// order.
using WeighLine = std::function<Int(std::string_view line)>;
constexpr Int no_row = -1;

// The first pass, over what follows `start` (collective). `rows`: only the first so many.
TextShare share_text(const std::string& path, const TextPlace& start, std::optional<Int> rows, const WeighLine& weigh);

// The second: f(line, its number from 1) for each line of the share.
template <class F>
void each_line(const std::string& path, const TextShare& share, F&& f) {
  LineReader lines(path, share.begin.offset, share.end.offset);
  Int number = share.begin.lines;
  for (std::string_view line; lines.next(line);) f(line, ++number);
}

// Reads a finite number at the beginning of [at, end). Gives what follows it; nullptr where there is none.
inline const char* read_number(const char* at, const char* end, double& value) {
  if (at != end && *at == '+' && at + 1 != end && at[1] != '-') ++at;
  auto [stop, error] = std::from_chars(at, end, value);
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(at, stop).c_str(), nullptr);
  bool good =
      error != std::errc::invalid_argument && std::isfinite(value);  // "inf" and "nan" are numbers to from_chars
  return good ? stop : nullptr;
}

template <class T>
T narrowed(double value, const std::string& path, Int line) {
  require(std::is_same_v<T, double> || std::abs(value) <= std::numeric_limits<float>::max(),
          "{}: line {}: {} is too large for f32; load it with dtype = \"f64\"", path, line, value);
  return static_cast<T>(value);
}

std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");
std::optional<double> whole_number_text(std::string_view text);  // the finite number that the whole text is
std::string shown(std::string_view text);                        // quoted for a message: short, printable
bool is_utf8(std::string_view text);

}  // namespace kbcd
