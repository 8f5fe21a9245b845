#include "modules/data/table_counts.hpp"

#include "core/comm.hpp"

namespace kbcd {
namespace {

// Counts as text, to send between ranks; no field holds a line break.
std::string packed(const Counts& counts) {
  auto &a = counts.no_number, &b = counts.no_date;
  std::string text = fmt::format("{}\n{} {}\n{} {}\n{}\n{}\n", fmt::join(counts.cells, " "), a.line, a.text, b.line,
                                 b.text, counts.many ? 1 : 0, counts.values.size());
  for (auto& [value, times] : counts.values) text += fmt::format("{} {}\n", times, value);
  return text;
}

class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : rest_(text) {}
  void add_to(Counts& counts) {
    auto cells = line();
    for (Int& cell : counts.cells) cell += number(cells);
    for (OddField* odd : {&counts.no_number, &counts.no_date}) {
      auto text = line();
      Int at = number(text);
      if (odd->line == 0) *odd = {at, std::string(text)};
    }
    if (line() == "1") counts.many = true, counts.values.clear();
    auto size = line();
    for (Int left = number(size); left > 0; --left) {
      auto entry = line();
      Int times = number(entry);
      counts.add_value(std::string(entry), times);
    }
  }

 private:
  std::string_view line() {
    auto found = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(found.size() + 1, rest_.size()));
    return found;
  }
  // Takes a number and the blank behind it.
  static Int number(std::string_view& text) {
    Int value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(std::min<std::size_t>(stop - text.data() + 1, text.size()));
    return value;
  }
  std::string_view rest_;
};

}  // namespace

void count(Counts& counts, const Fields& fields, Int column, bool commas, Int line) {
  auto text = trimmed(fields.last()[column]);
  Cell cell = cell_of(text, commas);
  ++counts.cells[static_cast<std::size_t>(cell)];
  if (cell == Cell::missing) return;
  bool number = cell <= Cell::three_digits, date = cell >= Cell::date && cell <= Cell::month_first_date;
  if (!number && counts.no_number.line == 0) counts.no_number = {line, shown(text)};
  if (!date && counts.no_date.line == 0) counts.no_date = {line, shown(text)};
  if (counts.many) return;
  std::string name = fields.name(column);
  if (name.find('\0') != name.npos) fields.bad(column, "text expected, got {}, which holds a zero byte", shown(name));
  counts.add_value(std::string(trimmed(name)), 1);
}

std::vector<Counts> merged(const std::vector<Counts>& mine) {
  std::string text;
  for (auto& counts : mine) text += packed(counts);
  std::vector<Counts> all(mine.size());
  for (auto& from : comm::allgather(text)) {
    Unpacker unpacker(from);
    for (auto& counts : all) unpacker.add_to(counts);
  }
  return all;
}

}  // namespace kbcd
