#include "modules/data/text_reader.hpp"

#include <algorithm>
#include <cstring>

#include "core/comm.hpp"
#include "core/memory.hpp"

namespace kbcd {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20, most_line_bytes = std::size_t{1} << 26;
constexpr Int mark_distance = 1 << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// No larger than the file, where its size is known: a small one is soon read.
std::size_t first_buffer(const FileReader& in) {
  bool known = !in.compressed() && in.file_bytes() > 0;
  return known ? std::min(buffer_bytes, static_cast<std::size_t>(in.file_bytes()) + 1) : buffer_bytes;
}

// What is made of a line takes many times its bytes: a field of one byte has a view of 16.
std::size_t longest_line() {
  return std::clamp(memory::budget() / 64, buffer_bytes, most_line_bytes);
}

// The number of the line that has a byte, counted from 1.
Int line_at(const std::string& path, Int offset) {
  FileReader in(path);
  std::vector<char> bytes(buffer_bytes);
  Int lines = 1;
  for (Int at = 0, count; at < offset; at += count) {
    count = in.read_some(bytes.data(), std::min(offset - at, static_cast<Int>(bytes.size())));
    if (count == 0) break;
    lines += std::count(bytes.begin(), bytes.begin() + count, '\n');
  }
  return lines;
}

// What one rank counts in its part of the bytes, with an offset to return to for every so many bytes.
struct Scan {
  std::vector<TextPlace> marks;
  TextPlace total;
};

void count(TextPlace& place, std::string_view line, const LineReader& lines, const WeighLine& weigh) {
  Int entries = weigh(line);
  place.offset = lines.offset();
  ++place.lines;
  if (entries != no_row) ++place.rows, place.entries += entries;
}

Scan scan(const std::string& path, Int from, Int to, bool mid_line, const WeighLine& weigh) {
  Scan scan;
  if (from >= to) return scan;
  std::string_view line;
  if (mid_line) {  // the line that continues here belongs to the previous rank, unless a line ends right before
    LineReader lines(path, from - 1);
    from = lines.next(line) ? lines.offset() : to;
  }
  LineReader lines(path, from, to);
  scan.total.offset = from;
  scan.marks.push_back(scan.total);
  while (lines.next(line)) {
    count(scan.total, line, lines, weigh);
    if (lines.offset() - scan.marks.back().offset >= mark_distance) scan.marks.push_back(scan.total);
  }
  return scan;
}

// The place right behind row `rows` of this rank's part, counted from 1.
TextPlace place_behind(const std::string& path, const Scan& scan, Int rows, const WeighLine& weigh) {
  auto after = std::partition_point(scan.marks.begin(), scan.marks.end(), [=](auto& mark) { return mark.rows < rows; });
  TextPlace place = *std::prev(after);
  LineReader lines(path, place.offset);
  for (std::string_view line; place.rows < rows && lines.next(line);) count(place, line, lines, weigh);
  return place;
}

// Places as rows of a matrix, to send between ranks; f64 holds such numbers exactly.
void put(const Matrix& rows, Int i, const TextPlace& place) {
  Int column = 0;
  for (Int number : {place.offset, place.lines, place.rows, place.entries})
    rows.set(i, column++, static_cast<double>(number));
}

TextPlace get(const Matrix& rows, Int i) {
  auto number = [&](Int column) { return static_cast<Int>(rows.get(i, column)); };
  return {number(0), number(1), number(2), number(3)};
}

}  // namespace

LineReader::LineReader(const std::string& path, Int begin, Int end)
    : in_(path), base_(begin), end_(end), buffer_(first_buffer(in_)) {
  if (begin < end) in_.skip_to(begin);
}

bool LineReader::next(std::string_view& line) {
  if (offset() >= end_) return false;
  std::size_t searched = 0;
  const char* stop;
  while (!(
      stop = static_cast<const char*>(std::memchr(buffer_.data() + at_ + searched, '\n', filled_ - at_ - searched)))) {
    searched = filled_ - at_;
    if (refill()) continue;
    if (at_ == filled_) return false;
    stop = buffer_.data() + filled_;
    break;
  }
  bool first = offset() == 0;
  const char* begin = buffer_.data() + at_;
  line = {begin, static_cast<std::size_t>(stop - begin)};
  at_ = std::min<std::size_t>(stop - buffer_.data() + 1, filled_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (first && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return true;
}

// Reads more bytes after those that are left, which move to the front; false at the end of the file.
bool LineReader::refill() {
  std::size_t left = filled_ - at_;
  if (left) std::memmove(buffer_.data(), buffer_.data() + at_, left);
  base_ += static_cast<Int>(at_);
  at_ = 0, filled_ = left;
  if (left == buffer_.size()) {
    std::size_t most = longest_line();
    if (left >= most)
      fail("{}: line {} has more than {} MB, which is more than a 64th of --memory or than {} MB; is this a text file?",
           in_.name(), line_at(in_.name(), base_), most >> 20, most_line_bytes >> 20);
    buffer_.resize(std::min(2 * left, most));
  }
  filled_ += in_.read_some(buffer_.data() + left, static_cast<Int>(buffer_.size() - left));
  return filled_ > left;
}

TextShare share_text(const std::string& path, const TextPlace& start, std::optional<Int> rows, const WeighLine& weigh) {
  Scan mine;
  comm::together([&] {
    FileReader file(path);
    Layout bytes = comm::layout(std::max<Int>(file.file_bytes() - start.offset, 0));
    Int from = start.offset + bytes.first(comm::rank()), to = from + bytes.count(comm::rank());
    // Packed text cannot be entered in the middle: rank 0 counts all of it.
    if (file.compressed()) from = start.offset, to = comm::rank() == 0 ? std::numeric_limits<Int>::max() : from;
    mine = scan(path, from, to, from > start.offset, weigh);
  });

  // What lies before this rank's part, and how many rows there are in all.
  Matrix counts(1, 4, DType::f64);
  put(counts, 0, mine.total);
  counts = comm::allgather(counts);
  TextPlace before = start;
  Int found = 0;
  for (int r = 0; r < comm::size(); ++r) {
    TextPlace there = get(counts, r);
    found += there.rows;
    if (r >= comm::rank()) continue;
    before.lines += there.lines, before.rows += there.rows, before.entries += there.entries;
  }
  require(found >= 1, "{}: at least one row expected, the file has none", path);
  Layout layout = comm::layout(rows.value_or(found));
  require(layout.n <= found, "{}: rows = {} asked for, the file has {}", path, layout.n, found);

  // Where the ranks' shares meet: each place comes from the rank that has counted the row before it.
  Matrix places = Matrix::zeros(comm::size() + 1, 4);
  comm::together([&] {
    for (int r = 0; r <= comm::size(); ++r) {
      Int row = layout.first(r) - before.rows;
      if (row < 1 || row > mine.total.rows) continue;
      TextPlace place = place_behind(path, mine, row, weigh);
      put(places, r, {place.offset, before.lines + place.lines, layout.first(r), before.entries + place.entries});
    }
  });
  comm::allreduce({places});
  auto place = [&](int r) { return layout.first(r) == 0 ? start : get(places, r); };
  return {layout.n, place(comm::size()).entries, place(comm::rank()), place(comm::rank() + 1)};
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  auto first = std::min(text.find_first_not_of(blanks), text.size());
  auto last = text.find_last_not_of(blanks);
  return text.substr(first, last == text.npos ? 0 : last + 1 - first);
}

std::optional<double> whole_number_text(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  return read_number(text.data(), end, value) == end && !text.empty() ? std::optional(value) : std::nullopt;
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string out = "'";
  bool utf8 = is_utf8(text.substr(0, longest));
  for (char c : text.substr(0, longest)) {
    bool printable = c < 0 ? utf8 : c >= ' ' && c != 0x7F;
    out += printable ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + (text.size() > longest ? "…'" : "'");
}

// Without overlong forms, surrogates, or what is beyond U+10FFFF.
bool is_utf8(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    std::uint64_t eight;
    if (i + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    unsigned lead = byte(i++);
    if (lead < 0x80) continue;
    int more = lead >= 0xC2 && lead <= 0xDF ? 1 : lead >> 4 == 14 ? 2 : lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
    if (more == 0 || i + more > text.size()) return false;
    unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < least || byte(i) > most) return false;
    for (int k = 1; k < more; ++k)
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    i += more;
  }
  return true;
}

}  // namespace kbcd
