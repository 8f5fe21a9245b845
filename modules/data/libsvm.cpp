// libsvm (svmlight) text: `label index:value index:value … # comment`, indices ascending. One label a line makes y one
// column; several, separated by commas, make several. Rows become sparse where that takes less memory.
//
// Indices count from 1. They count from 0 in a file that has an index 0 anywhere, or whose first comments say "Column
// indices are zero-based", as scikit-learn writes it; the option zero_based overrides both.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "modules/data/loader.hpp"
#include "modules/data/text_reader.hpp"

namespace kbcd {
namespace {

constexpr Int largest_index = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view blanks = " \t";

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view without_comment(std::string_view line) {
  return line.substr(0, line.find('#'));
}

bool is_row(std::string_view content) {
  return content.find_first_not_of(blanks) != content.npos;
}

// What is needed before any row is read: the columns, the targets of a row, and the form.
struct Plan {
  Int d = 0, targets = 0;
  bool sparse = false;
  Int first = 1;                // index: 0 or 1
  Int largest = largest_index;  // index that a line may have
};

// One line, read from left to right.
class RowReader {
 public:
  RowReader(const std::string& path, const Plan& plan) : path_(path), plan_(plan) {}

  // put_label(k, value) and put(column, value) for all that the line holds.
  template <class PutLabel, class Put>
  void read(std::string_view content, Int number, PutLabel&& put_label, Put&& put) {
    number_ = number;
    at_ = content.data(), end_ = at_ + content.size();
    skip_blanks();
    read_labels(put_label);
    Int last = plan_.first - 1;
    for (skip_blanks(); at_ != end_; skip_blanks()) {
      Int index = read_index(last);
      double value = 0;
      const char* stop = read_number(at_, end_, value);
      if (!stop || (stop != end_ && !is_blank(*stop)))
        bad("a finite number expected behind '{}:', got {}", index, rest());
      at_ = stop;
      // Without `features`, d comes from the last index of every line: a larger one is followed by an error.
      if (index - plan_.first < plan_.d) put(index - plan_.first, value);
      last = index;
    }
  }

 private:
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }

  template <class PutLabel>
  void read_labels(PutLabel&& put_label) {
    Int count = 0;
    for (bool more = true; more; ++count) {
      double value = 0;
      const char* stop = read_number(at_, end_, value);
      if (!stop || (stop != end_ && !is_blank(*stop) && *stop != ','))
        bad("a number expected as label, got {}{}", rest(),
            rest().find(':') == rest().npos ? "" : "; a row without a label (multilabel data) is not read");
      if (count < plan_.targets) put_label(count, value);
      more = stop != end_ && *stop == ',';
      at_ = stop + more;
    }
    if (count != plan_.targets)
      bad("{} label(s) expected as in the first row, got {}; lists of classes (multilabel data) are not read: give a "
          "column of 0 and 1 for each class in a file of their own",
          plan_.targets, count);
  }

  Int read_index(Int last) {
    Int index = 0;
    const char* start = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - start < 12) index = 10 * index + (*at_++ - '0');
    bool good = at_ != start && at_ != end_ && *at_ == ':';
    if (good && index > last && index <= plan_.largest) {
      ++at_;
      return index;
    }
    at_ = start;
    if (rest().starts_with("'qid:"))
      bad("qid: marks data for ranking, which is not read; remove these entries: sed -E 's/ qid:[0-9]+//' OLD >NEW");
    if (!good) bad("index:value expected, got {}", rest());
    if (index == 0 && last == 0 && plan_.first == 1)
      bad("indices count from 1, got {}; zero_based = true says that they count from 0", rest());
    if (index <= last) bad("indices must ascend, got {} behind {}", index, last);
    bad("an index of at most {} expected, got {}{}", plan_.largest, rest(),
        plan_.first == 0 ? "; zero_based = false says that indices count from 1" : "");
  }

  std::string rest() const {
    std::string_view text(at_, end_ - at_);
    return at_ == end_ ? "the end of the line" : shown(text.substr(0, text.find_first_of(blanks)));
  }

  template <class... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: line {}: {}", path_, number_, fmt::format(format, std::forward<Args>(args)...));
  }

  const std::string& path_;
  const Plan& plan_;
  Int number_ = 0;
  const char *at_ = nullptr, *end_ = nullptr;
};

// The rows in either form; y beside them.
struct Rows {
  Matrix dense, labels;
  Csr csr;
};

template <class T>
void read_dense(const std::string& path, const TextShare& share, const Plan& plan, Rows& rows) {
  Int count = share.rows(), i = 0;
  rows.dense = Matrix::zeros(count, plan.d, dtype_of<T>);
  auto x = rows.dense.view<T>();
  auto y = rows.labels.view<double>();
  RowReader reader(path, plan);
  each_line(path, share, [&](std::string_view line, Int number) {
    auto content = without_comment(line);
    if (!is_row(content)) return;
    reader.read(
        content, number, [&](Int k, double value) { y(i, k) = value; },
        [&](Int j, double value) { x(i, j) = narrowed<T>(value, path, number); });
    ++i;
  });
}

template <class T>
void read_sparse(const std::string& path, const TextShare& share, const Plan& plan, Rows& rows) {
  Csr& csr = rows.csr;
  csr.rows = share.rows(), csr.cols = plan.d;
  csr.starts.reserve(csr.rows + 1);
  csr.columns.reserve(share.end.entries - share.begin.entries);
  csr.values = Matrix(1, share.end.entries - share.begin.entries, dtype_of<T>);
  T* values = csr.values.view<T>().data;
  auto y = rows.labels.view<double>();
  RowReader reader(path, plan);
  each_line(path, share, [&](std::string_view line, Int number) {
    auto content = without_comment(line);
    if (!is_row(content)) return;
    Int i = static_cast<Int>(csr.starts.size()) - 1;
    reader.read(
        content, number, [&](Int k, double value) { y(i, k) = value; },
        [&](Int j, double value) {  // the buffer is large enough: the entries were counted by their colons
          values[csr.columns.size()] = narrowed<T>(value, path, number);
          csr.columns.push_back(static_cast<std::int32_t>(j));
        });
    csr.starts.push_back(csr.nnz());
  });
}

// What every rank sees at the beginning: how many labels the first row has, and whether indices count from 0, if the
// comments before it say so.
struct Beginning {
  Int targets = 1;
  std::optional<bool> zero_based;
};

Beginning beginning_of(const std::string& path) {
  Beginning beginning;
  LineReader lines(path);
  for (std::string_view line; lines.next(line);) {
    auto content = without_comment(line);
    if (is_row(content)) {
      auto label = content.substr(content.find_first_not_of(blanks));
      label = label.substr(0, label.find_first_of(blanks));
      beginning.targets = 1 + std::count(label.begin(), label.end(), ',');
      break;
    }
    if (line.find("Column indices are zero-based") != line.npos) beginning.zero_based = true;
    if (line.find("Column indices are one-based") != line.npos) beginning.zero_based = false;
  }
  return beginning;
}

// The number before a colon; -1 if there is none.
Int index_before(std::string_view content, std::size_t colon) {
  Int index = 0, place = 1;
  auto at = colon;
  for (; at > 0 && content[at - 1] >= '0' && content[at - 1] <= '9' && place <= largest_index; place *= 10)
    index += place * (content[--at] - '0');
  return at == colon ? -1 : std::min(index, largest_index);
}

// The indices of some lines: a row's smallest is before its first colon, its largest before the last.
struct Indices {
  bool zero = false;
  Int largest = -1;
};

// Colons, each of which makes an entry.
Int weigh(std::string_view line, Indices& seen) {
  auto content = without_comment(line);
  if (!is_row(content)) return no_row;
  auto colon = content.find(':');
  if (colon == content.npos) return 0;
  seen.zero = seen.zero || index_before(content, colon) == 0;
  seen.largest = std::max(seen.largest, index_before(content, content.rfind(':')));
  return std::count(content.begin(), content.end(), ':');
}

Loaded load_libsvm(const std::string& path, const Params& options) {
  Plan plan;
  Indices seen;
  auto share = share_text(path, {}, options.get<Int>("rows"), [&](std::string_view line) { return weigh(line, seen); });
  auto most = [](auto number) { return comm::allreduce(static_cast<double>(number), comm::Reduction::max); };
  seen = {most(seen.zero) > 0, static_cast<Int>(most(seen.largest))};
  Beginning beginning;
  comm::together([&] { beginning = beginning_of(path); });
  bool zero_based = options.get<bool>("zero_based").value_or(beginning.zero_based.value_or(seen.zero));
  plan.targets = beginning.targets;
  plan.first = zero_based ? 0 : 1;
  auto features = options.get<Int>("features");
  plan.d = features.value_or(seen.largest < 0 ? 0 : std::max<Int>(1, seen.largest + 1 - plan.first));
  plan.largest = features.value_or(largest_index) - 1 + plan.first;
  double filled = static_cast<double>(share.entries) / (static_cast<double>(share.n) * static_cast<double>(plan.d));
  plan.sparse = options.get<bool>("sparse").value_or(filled < 1.0 / 3);
  DType dtype = options.get<DType>("dtype").value_or(DType::f64);
  Rows rows;
  comm::together([&] {
    require(plan.d >= 1, "{}: no row has a feature; say how many columns there are with features = …", path);
    rows.labels = Matrix(share.possible_rows(plan.targets), plan.targets, DType::f64);
    if (!plan.sparse) require_dense_room(path, share.n, plan.d, dtype);
    dispatch(dtype, [&]<class T>() {
      plan.sparse ? read_sparse<T>(path, share, plan, rows) : read_dense<T>(path, share, plan, rows);
    });
  });
  Loaded loaded{plan.sparse ? DataSet(share.n, std::move(rows.csr), path) : DataSet(share.n, rows.dense, path)};
  loaded.y = DataSet(share.n, rows.labels, path);
  loaded.settled = {{"zero_based", zero_based}};
  if (beginning.zero_based) loaded.settled.emplace("said_zero_based", *beginning.zero_based);
  return loaded;
}

// A label, and behind it a number or "qid" with a colon.
bool looks_like_row(std::string_view line) {
  auto content = trimmed(without_comment(line));
  auto entry = trimmed(content.substr(std::min(content.find_first_of(blanks), content.size())));
  auto digits = std::min(entry.find_first_not_of("0123456789"), entry.size());
  return entry.starts_with("qid:") || (digits > 0 && entry.substr(digits).starts_with(':'));
}

Match is_libsvm(const FileStart& start) {
  auto& e = start.extension;
  bool named = e == ".svm" || e == ".libsvm" || e == ".svmlight";
  for (std::string_view rest = start.bytes; !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!is_row(without_comment(line))) continue;
    if (looks_like_row(line)) return Match::sure;
    break;
  }
  return named ? Match::named : Match::no;
}

const RegisteredLoader libsvm({
    .name = "libsvm",
    .gives = "X and y",
    .options = {{.name = "sparse",
                 .help = "whether X is sparse; by default where less than a third of the entries is given",
                 .kind = Kind::flag},
                {.name = "features",
                 .help = "how many columns; by default as many as the largest index in the file needs",
                 .kind = Kind::count,
                 .most = largest_index},
                {.name = "zero_based",
                 .help = "whether indices count from 0; by default if the file's comment says so or an index is 0",
                 .kind = Kind::flag}},
    .columns = "features",
    .matches = is_libsvm,
    .load = load_libsvm,
});

}  // namespace
}  // namespace kbcd
