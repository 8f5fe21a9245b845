// Arrays of texts (NumPy's U and S): class names, numbered as those of a CSV file.
#include <bit>
#include <cstdint>

#include "modules/data/cells.hpp"
#include "modules/data/raw_array.hpp"
#include "modules/data/text_reader.hpp"

namespace kbcd {
namespace {

void append_utf8(std::string& to, std::uint32_t c) {
  auto put = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
  auto follow = [&](int shift) { put(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), follow(0);
  if (c < 0x10000) return put(0xE0 | c >> 12), follow(6), follow(0);
  put(0xF0 | (c >> 18 & 7)), follow(12), follow(6), follow(0);
}

// UTF-32 as UTF-8; empty where it holds what is no character.
std::string from_utf32(std::string_view raw, bool big_endian) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= raw.size(); at += 4) {
    std::uint32_t c = 0;
    for (int k = 0; k < 4; ++k) c = c << 8 | static_cast<unsigned char>(raw[big_endian ? at + k : at + 3 - k]);
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return {};
    append_utf8(text, c);
  }
  return text;
}

// The text of one element, whose end is filled with zeros.
template <class Where>
std::string text_of(std::string_view raw, const RawArray& array, Where&& where) {
  std::string text = array.kind == 'U' ? from_utf32(raw, array.big_endian) : std::string(raw);
  text.resize(text.find_last_not_of('\0') + 1);
  bool empty = raw.find_first_not_of('\0') == raw.npos;
  if (!empty && (text.empty() || !is_utf8(text)))
    fail("{}: UTF-8 or Unicode text expected, got {}; save it as np.char.decode(a, \"latin1\")", where(), shown(raw));
  for (char c : text)
    if (c >= 0 && c < ' ') fail("{}: a text without control characters expected, got {}", where(), shown(text));
  return text;
}

template <class Where>
std::string next_text(ByteReader& in, const RawArray& array, Where&& where) {
  constexpr Int longest = 1 << 20;
  require(array.bytes <= longest, "{}: texts of at most {} bytes expected, got {}", in.name(), longest, array.bytes);
  in.require_more(array.bytes);
  std::string raw(array.bytes, '\0');
  in.read(raw.data(), array.bytes, "the texts");
  return text_of(raw, array, where);
}

}  // namespace

const Param& names_option() {
  static const Param option = {
      .name = "names", .help = "whether texts are read, as class names: X has their numbers", .kind = Kind::flag};
  return option;
}

std::string read_text(ByteReader& in, const RawArray& array) {
  return next_text(in, array, [&] { return in.name(); });
}

ArrayRows read_names(ByteReader& in, const RawArray& array, const Params& options) {
  auto& path = in.name();
  auto& shape = array.shape;
  require(shape.size() == 1 || (shape.size() == 2 && shape[1] == 1),
          "{}: numbers expected, or one column of texts as labels; the array is {} of type {}", path,
          shape.empty() ? "a single text" : fmt::format("{}", fmt::join(shape, "x")), array.type());
  require(options.get<bool>("names").value_or(false),
          "{}: numbers expected, the array holds texts ({}); texts are read as labels: give them with --y, or "
          "names = true in a script",
          path, array.type());
  require(shape[0] >= 1, "{}: at least one row expected, the header says none", path);
  require(array.bytes >= 1, "{}: row 1: a label expected, the text is empty", path);
  Int bytes = 0, n = options.get<Int>("rows").value_or(shape[0]);
  require(!__builtin_mul_overflow(shape[0], array.bytes, &bytes), "{}: the header announces an impossible shape", path);
  in.require_more(bytes);
  require(n <= shape[0], "{}: rows = {} asked for, the file has {}", path, n, shape[0]);
  require_dense_room(path, n, 1, DType::f64, fewer_rows);
  Int first = comm::layout(n).first(comm::rank());
  Matrix labels(comm::layout(n).count(comm::rank()), 1, DType::f64);
  ClassNames names;
  in.skip_to(in.position() + first * array.bytes);
  for (Int i = 0; i < labels.rows(); ++i) {
    auto where = [&] { return fmt::format("{}: row {}", path, first + i + 1); };
    std::string name = next_text(in, array, where);
    if (is_missing_label(trimmed(name)))
      fail("{}: a label expected, {}; remove such rows", where(),
           name.empty() ? "the text is empty" : shown(name) + " stands for a missing value");
    labels.set(i, 0, static_cast<double>(names.number(std::move(name))));
  }
  return {DataSet(n, labels, path), std::move(names)};
}

}  // namespace kbcd
