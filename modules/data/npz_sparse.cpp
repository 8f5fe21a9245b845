// scipy.sparse.save_npz: an archive with `format` (csr, csc or coo), `shape`, `data`, and
//
//     csr   row i has data[e] in the columns indices[e], indptr[i] <= e < indptr[i + 1]
//     csc   the same with rows and columns exchanged
//     coo   data[e] in row row[e] and column col[e]
//
// Entries of one place are summed. The file is read twice: to count the entries of each of this rank's rows, and to
// place them. Of csr a rank reads its own rows, of the others it looks at every entry.
#include "modules/data/npz_sparse.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "core/memory.hpp"
#include "modules/data/raw_array.hpp"

namespace kbcd {
namespace {

constexpr Int piece = 1 << 14;  // entries that are read at a time

const ZipMember& member_of(const std::vector<ZipMember>& members, const std::string& name, const std::string& path) {
  auto found = std::find_if(members.begin(), members.end(), [&](auto& m) { return m.name == name; });
  require(found != members.end(), "{}: damaged: a sparse matrix of SciPy needs the array '{}'", path, name);
  return *found;
}

// One of the arrays of the archive, opened by itself: those of a matrix are read side by side.
struct Part {
  FileReader file;
  MemberReader in;
  RawArray array;
  NumberReader numbers;
  std::vector<double> values;  // those that were read last

  Part(const std::string& path, const ZipMember& member)
      : file(path), in(file, member), array(read_npy_header(in)), numbers(in, array) {
    require(array.shape.size() == 1, "{}: one dimension expected, got {}", in.name(), array.shape.size());
  }
  void require_whole() const {
    require(array.kind == 'i' || array.kind == 'u', "{}: whole numbers expected, got {}", in.name(), array.type());
  }
  const std::vector<double>& read(Int first, Int count) {
    numbers.read(first, count, values);
    return values;
  }
};

// What the archive says before its entries.
struct Head {
  std::string path, format;
  Int rows, cols;    // of the matrix in the file
  Int first, count;  // this rank's rows
  bool by_rows() const { return format == "csr"; }
};

// The memory that is free to this rank holds so many bytes.
void require_room(const Head& head, double bytes) {
  double free = static_cast<double>(memory::available()) / comm::node_size();
  require(bytes <= free, "{}: {}x{} sparse numbers take {:.5g} GB on this rank, and {:.3g} GB of memory are free; {}",
          head.path, head.rows, head.cols, bytes / 1e9, free / 1e9, fewer_rows);
}

Head read_head(const std::string& path, const std::vector<ZipMember>& members, const Params& options) {
  Head head{.path = path, .format = {}, .rows = 0, .cols = 0, .first = 0, .count = 0};
  FileReader file(path);
  MemberReader in(file, member_of(members, "format", path));
  RawArray array = read_npy_header(in);
  require(array.texts() && array.shape.empty() && array.bytes >= 1, "{}: a text expected, such as csr", in.name());
  head.format = read_text(in, array);
  require(head.format == "csr" || head.format == "csc" || head.format == "coo",
          "{}: a sparse matrix of SciPy of the format csr, csc or coo expected, got '{}'; save X.tocsr()", path,
          head.format);
  Part shape(path, member_of(members, "shape", path));
  shape.require_whole();
  require(shape.numbers.count() == 2, "{}: two dimensions expected, got {}", shape.in.name(), shape.numbers.count());
  auto& size = shape.read(0, 2);
  head.rows = static_cast<Int>(size[0]), head.cols = static_cast<Int>(size[1]);
  require(head.rows >= 1 && head.cols >= 1 && head.cols <= std::numeric_limits<std::int32_t>::max(),
          "{}: at least one row and 1..2^31 - 1 columns expected, got {}x{}", shape.in.name(), head.rows, head.cols);
  Int n = options.get<Int>("rows").value_or(head.rows);
  require(n <= head.rows, "{}: rows = {} asked for, the file has {}", path, n, head.rows);
  head.first = comm::layout(n).first(comm::rank());
  head.count = comm::layout(n).count(comm::rank());
  require_room(head, 24 * static_cast<double>(head.count));
  return head;
}

// Where the rows of csr that are this rank's begin, or all columns of csc; and where the last ends.
std::vector<Int> read_starts(const Head& head, const ZipMember& member, Int entries) {
  Part part(head.path, member);
  part.require_whole();
  Int lines = head.by_rows() ? head.rows : head.cols;
  Int first = head.by_rows() ? head.first : 0, count = head.by_rows() ? head.count : head.cols;
  require(part.numbers.count() == lines + 1, "{}: {} numbers expected for a matrix of {}x{}, got {}", part.in.name(),
          lines + 1, head.rows, head.cols, part.numbers.count());
  require_room(head, 8 * static_cast<double>(count));
  std::vector<Int> starts;
  starts.reserve(count + 1);
  for (Int at = 0; at <= count; at += piece)
    for (double start : part.read(first + at, std::min(piece, count + 1 - at))) {
      Int least = starts.empty() ? 0 : starts.back(), place = first + static_cast<Int>(starts.size());
      require(start >= static_cast<double>(least) && start <= static_cast<double>(entries) && (place > 0 || start == 0),
              "{}: numbers that ascend from 0 to at most {} expected, got {} at place {} behind {}", part.in.name(),
              entries, start, place, least);
      starts.push_back(static_cast<Int>(start));
    }
  return starts;
}

// f(row, column, value) for the entries of this rank's rows, rows counted from its first.
template <class F>
void each_entry(const Head& head, const std::vector<ZipMember>& members, F&& f) {
  bool coo = head.format == "coo";
  auto part = [&](const char* name) { return std::make_unique<Part>(head.path, member_of(members, name, head.path)); };
  auto data = part("data"), inner = part(coo ? "col" : "indices"), outer = coo ? part("row") : nullptr;
  Int entries = data->numbers.count(), begin = 0, end = entries;
  for (auto* places : {inner.get(), outer.get()}) {
    if (!places) continue;
    places->require_whole();
    require(places->numbers.count() == entries, "{}: {} numbers expected, as many as data has, got {}",
            places->in.name(), entries, places->numbers.count());
  }
  std::vector<Int> starts;
  if (!coo) {
    starts = read_starts(head, member_of(members, "indptr", head.path), entries);
    begin = starts.front(), end = starts.back();
  }
  Int line = 0;
  for (Int at = begin; at < end; at += piece) {
    Int count = std::min(piece, end - at);
    auto &values = data->read(at, count), &inners = inner->read(at, count);
    if (coo) outer->read(at, count);
    for (Int k = 0; k < count; ++k) {
      while (!coo && starts[line + 1] <= at + k) ++line;
      double row = coo ? outer->values[k] : head.by_rows() ? static_cast<double>(head.first + line) : inners[k];
      double column = coo || head.by_rows() ? inners[k] : static_cast<double>(line);
      require(
          row >= 0 && row < static_cast<double>(head.rows) && column >= 0 && column < static_cast<double>(head.cols),
          "{}: entry {} is in row {} and column {} (from 0) of a matrix of {}x{}", head.path, at + k, row, column,
          head.rows, head.cols);
      Int local = static_cast<Int>(row) - head.first;
      if (local >= 0 && local < head.count) f(local, static_cast<std::int32_t>(column), values[k]);
    }
  }
}

// Columns ascend within each row; entries of one place are summed, or joined if they are truth values.
template <class T>
void tidy(Csr& csr, bool truth) {
  T* values = csr.values.view<T>().data;
  std::vector<std::pair<std::int32_t, double>> row;
  Int kept = 0;
  for (Int i = 0, begin = 0; i < csr.rows; ++i) {
    Int end = csr.starts[i + 1];
    row.clear();
    for (Int e = begin; e < end; ++e) row.emplace_back(csr.columns[e], values[e]);
    auto before = [](auto& a, auto& b) { return a.first < b.first; };
    if (!std::is_sorted(row.begin(), row.end(), before)) std::stable_sort(row.begin(), row.end(), before);
    for (std::size_t k = 0; k < row.size(); ++kept) {
      auto [column, sum] = row[k];
      for (++k; k < row.size() && row[k].first == column; ++k)
        sum = truth ? std::max(sum, row[k].second) : sum + row[k].second;
      csr.columns[kept] = column, values[kept] = static_cast<T>(sum);
    }
    begin = end;
    csr.starts[i + 1] = kept;
  }
  if (kept == csr.nnz()) return;
  csr.columns.resize(kept);
  csr.values = csr.values.col_block(0, kept).clone();
}

}  // namespace

bool is_sparse_matrix(const std::vector<ZipMember>& members) {
  auto has = [&](const char* name) {
    return std::any_of(members.begin(), members.end(), [&](auto& m) { return m.name == name; });
  };
  return has("format") && has("shape") && has("data");
}

DataSet read_sparse_matrix(const std::string& path, const std::vector<ZipMember>& members, const Params& options) {
  for (const char* option : {"scale", "bytes", "names"})
    require(!options.get<bool>(option).value_or(false), "{}: {} = true is for arrays, this is a sparse matrix", path,
            option);
  Head head = read_head(path, members, options);
  Csr csr;
  csr.rows = head.count, csr.cols = head.cols;
  csr.starts.assign(head.count + 1, 0);
  each_entry(head, members, [&](Int row, std::int32_t, double) { ++csr.starts[row + 1]; });
  std::partial_sum(csr.starts.begin(), csr.starts.end(), csr.starts.begin());
  Int nnz = csr.starts.back();

  RawArray type = Part(path, member_of(members, "data", path)).array;
  DType dtype = options.get<DType>("dtype").value_or(natural_dtype(type));
  require_room(head, static_cast<double>(nnz) * static_cast<double>(sizeof(std::int32_t) + bytes_of(dtype)));
  csr.columns.resize(nnz);
  csr.values = Matrix(1, nnz, dtype);
  dispatch(dtype, [&]<class T>() {
    T* values = csr.values.view<T>().data;
    std::vector<Int> next = csr.starts;
    each_entry(head, members, [&](Int row, std::int32_t column, double value) {
      Int at = next[row]++;
      require(at < csr.starts[row + 1], "{}: the file changed while it was read", path);
      csr.columns[at] = column, values[at] = static_cast<T>(value);
    });
    tidy<T>(csr, type.kind == 'b');
  });
  Int n = options.get<Int>("rows").value_or(head.rows);
  return {n, std::move(csr), path};
}

}  // namespace kbcd
